"""How far a kernel sees: rules for bandwidths, and the path over all of them.

A bandwidth is a number (the same for all points) or an array (one for each point). All rules
count a row with sample weight 2 as two rows on the same spot. `linkshift.bandwidth.path` sweeps
over bandwidths.
"""

from linkshift.bandwidth.rules import (
    checked_bandwidth,
    default_bandwidth,
    grow,
    lift_coincident,
    neighbour_bandwidth,
    neighbours_at_hand,
    pair_distances,
    pair_mean,
    pair_quantile,
    pair_range,
    spread_bandwidth,
)

__all__ = [
    "checked_bandwidth",
    "default_bandwidth",
    "grow",
    "lift_coincident",
    "neighbour_bandwidth",
    "neighbours_at_hand",
    "pair_distances",
    "pair_mean",
    "pair_quantile",
    "pair_range",
    "spread_bandwidth",
]
