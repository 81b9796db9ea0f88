"""Why a row is in its cluster: its path, its mode, the links that act on it, and what if."""

from linkshift.explain.evidence import CHANCE, Evidence, Refit, kept_path
from linkshift.explain.explains import Explains
from linkshift.explain.explanation import Counterfactual, Explanation, LinkRole

__all__ = [
    "CHANCE",
    "Counterfactual",
    "Evidence",
    "Explains",
    "Explanation",
    "LinkRole",
    "Refit",
    "kept_path",
]
