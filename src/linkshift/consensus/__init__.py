"""Many partitions of the same rows, and the one that most ways of looking agree on."""

from linkshift.consensus.candidates import Candidates, candidates, linked_candidates
from linkshift.consensus.choosing import Consensus, agreement, consensus, evidence, quality
from linkshift.consensus.propagation import bent_by_links
from linkshift.consensus.small import groups_within, small_groups

__all__ = [
    "Candidates",
    "Consensus",
    "agreement",
    "bent_by_links",
    "candidates",
    "consensus",
    "evidence",
    "groups_within",
    "linked_candidates",
    "quality",
    "small_groups",
]
