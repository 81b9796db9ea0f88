"""Methods by name: the table of them, the rule of "auto", and one call for all."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from linkshift.methods.clustering import Choice, choose, cluster
from linkshift.methods.table import METHODS, Method, MethodName, check_params

if TYPE_CHECKING:
    from linkshift.methods.result import Clustering
    from linkshift.methods.saved import load

__all__ = [
    "METHODS",
    "Choice",
    "Clustering",
    "Method",
    "MethodName",
    "check_params",
    "choose",
    "cluster",
    "load",
]

# Imported when first used: the help of the command needs the table, and no NumPy.
_LATER = {"Clustering": "result", "load": "saved"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'linkshift.methods' has no attribute {name!r}")
    return getattr(import_module(f"linkshift.methods.{_LATER[name]}"), name)
