"""Combinations of parameters that plain mean shift would otherwise ignore."""

from __future__ import annotations

from numbers import Integral
from typing import TYPE_CHECKING

import numpy as np

from linkshift.estimators._base import refuse_used
from linkshift.refinement import check_count

if TYPE_CHECKING:
    from linkshift.estimators.mean_shift import MeanShift

__all__ = ["check_combinations", "climbs_by_itself"]


def check_combinations(model: MeanShift) -> None:
    """Refuse what would otherwise be ignored."""
    check_count(model.n_clusters, model.max_clusters)
    if model.n_neighbors is not None and model.bandwidth is not None:
        raise ValueError(
            "bandwidth and n_neighbors both say how far the kernel sees; give one of them."
        )
    if model.seeds is not None and model.bin_seeding:
        raise ValueError("seeds and bin_seeding both say where to start; give one of them.")
    if model.min_bin_freq != 1 and not model.bin_seeding:
        raise ValueError("min_bin_freq counts only with bin_seeding=True.")
    one_bandwidth = model.n_neighbors is None and (
        model.bandwidth is None or np.ndim(model.bandwidth) == 0
    )
    binned = {"bin_seeding": model.bin_seeding, "bin_size": model.bin_size is not None}
    if not one_bandwidth:
        refuse_used(binned, "needs one bandwidth for all rows.")
    idle = {
        "seeds": model.seeds is not None,
        "bin_seeding": model.bin_seeding,
        "path_merge": model.path_merge > 0,
        "end_radius": model.end_radius > 0,
        "path_radius": model.path_radius > 0,
        "assignment='nearest'": model.assignment == "nearest",
    }
    if model.blurring:
        refuse_used(idle, "has no meaning with blurring=True: every row moves.")
    own = _own_ways(model)
    if isinstance(model.landmarks, Integral) and any(own.values()):
        refuse_used(own, "has no meaning for landmarks: set landmarks=None, or leave it out.")


def climbs_by_itself(model: MeanShift) -> bool:
    """Whether a parameter asks for a climb that landmarks do not make."""
    return any(_own_ways(model).values())


def _own_ways(model: MeanShift) -> dict[str, bool]:
    """Tell which parameters that landmarks have no use for are used."""
    return {
        "seeds": model.seeds is not None,
        "bin_seeding": model.bin_seeding,
        "bin_size": model.bin_size is not None,
        "bandwidth": model.bandwidth is not None and np.ndim(model.bandwidth) > 0,
        "n_neighbors": model.n_neighbors is not None,
        "blurring": model.blurring,
        "keep_paths": model.keep_paths,
    }
