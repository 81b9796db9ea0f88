"""How far a kernel sees: rules for bandwidths, and the path over all of them.

A bandwidth is a number (the same for all points) or an array (one for each point). All rules
count a row with sample weight 2 as two rows on the same spot. `linkshift.bandwidth.path` sweeps
over bandwidths.
"""

from linkshift.bandwidth.rules import (
    default_bandwidth,
    grow,
    neighbour_bandwidth,
    pair_distances,
    pair_mean,
    pair_quantile,
    pair_range,
)

__all__ = [
    "default_bandwidth",
    "grow",
    "neighbour_bandwidth",
    "pair_distances",
    "pair_mean",
    "pair_quantile",
    "pair_range",
]
