"""Which pair to ask next: the loop that links come from."""

from linkshift.active.among import Choice
from linkshift.active.estimate import Estimate, Figure
from linkshift.active.questions import Question
from linkshift.active.session import Session

__all__ = ["Choice", "Estimate", "Figure", "Question", "Session"]
