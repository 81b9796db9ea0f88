"""Many rows as few weighted landmarks, and mean shift on them."""

from linkshift.summaries.landmarks import (
    Landmarks,
    landmark_density,
    place_landmarks,
    widened_bandwidth,
)
from linkshift.summaries.sampling import even_rows
from linkshift.summaries.summary import Summary, merge, summarise

__all__ = [
    "Landmarks",
    "Summary",
    "even_rows",
    "landmark_density",
    "merge",
    "place_landmarks",
    "summarise",
    "widened_bandwidth",
]
