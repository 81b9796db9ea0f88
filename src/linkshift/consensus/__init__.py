"""Many partitions of the same rows, and the one that most ways of looking agree on."""

from linkshift.consensus.candidates import Candidates, candidates, linked_candidates
from linkshift.consensus.choosing import Consensus, agreement, consensus, evidence, quality
from linkshift.consensus.propagation import bent_by_links

__all__ = [
    "Candidates",
    "Consensus",
    "agreement",
    "bent_by_links",
    "candidates",
    "consensus",
    "evidence",
    "linked_candidates",
    "quality",
]
