"""What the user knows: must-link and cannot-link pairs, their closure and their contradictions."""

from linkshift.links._bound import BindsLinks
from linkshift.links._build import class_codes
from linkshift.links._closed import (
    Chains,
    ClosedLinks,
    ImpliedConfidence,
    SignedEdges,
    Units,
    signed_edges,
)
from linkshift.links._closure import Closure
from linkshift.links._conflicts import Conflict, ConflictError, Conflicts
from linkshift.links._groups import Groups
from linkshift.links._links import Links
from linkshift.links._parse import PairError, RowRangeError
from linkshift.links._redundant import ImpliedLink, Redundant
from linkshift.links._removal import Removal
from linkshift.links._settle import Settled
from linkshift.links._summary import Summary
from linkshift.links._two_sided import two_sided

__all__ = [
    "BindsLinks",
    "Chains",
    "ClosedLinks",
    "Closure",
    "Conflict",
    "ConflictError",
    "Conflicts",
    "Groups",
    "ImpliedConfidence",
    "ImpliedLink",
    "Links",
    "PairError",
    "Redundant",
    "Removal",
    "RowRangeError",
    "Settled",
    "SignedEdges",
    "Summary",
    "Units",
    "class_codes",
    "signed_edges",
    "two_sided",
]
