"""What the user knows: must-link and cannot-link pairs, their closure and their contradictions."""

from linkshift.links._build import class_codes
from linkshift.links._closure import Closure
from linkshift.links._conflicts import Conflict, ConflictError, Conflicts
from linkshift.links._links import Links
from linkshift.links._parse import PairError, RowRangeError
from linkshift.links._removal import Removal

__all__ = [
    "Closure",
    "Conflict",
    "ConflictError",
    "Conflicts",
    "Links",
    "PairError",
    "Removal",
    "RowRangeError",
    "class_codes",
]
