"""What a fitted estimator is made of in a file, and how it is built again.

Fields, each with a rule, are named by where they are in a fitted model. They are what builders were
given; the rest is built by the doors that a fit goes through, or computed again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator

from linkshift.baselines import CDBSCAN, ConstrainedSpectral, COPKMeans, PCKMeans, SeededKMeans
from linkshift.estimators import (
    constrained_mean_shift,
    graph_mean_shift,
    kernel_mean_shift,
    mean_shift,
    metric_mean_shift,
    path_mean_shift,
    refined_clustering,
)
from linkshift.estimators._base import Fitted, LinkedClusterer
from linkshift.estimators._constrained_landmarks import Representatives
from linkshift.estimators._mean_shift_parts import centers_of
from linkshift.estimators.consensus_clustering import ConsensusClustering
from linkshift.estimators.group_feature_clustering import GroupFeatureClustering
from linkshift.estimators.kmeans import KMeans
from linkshift.links import ClosedLinks
from linkshift.metric_learning import SCML
from linkshift.models import centre_parts
from linkshift.models.group_parts import GROUPS, TAKE_GROUPS, groups
from linkshift.models.rules import Built, Refused, Rules, Sizes, Values, check, check_all
from linkshift.models.scml_parts import SCML_GLOBAL, SCML_LOCAL, scml_global, scml_local
from linkshift.modes import Modes, basin_labels
from linkshift.profiles import Profile
from linkshift.shift.binning import pool_points
from linkshift.shift.constrained.runs import Run
from linkshift.shift.density import build_density
from linkshift.spaces.graph import FEW, GraphSpace
from linkshift.spaces.kernel import Kernel, KernelSpace
from linkshift.summaries import Landmarks


class _Part(NamedTuple):
    """An estimator in files: its fields, how to build the rest, and fields without a place."""

    cls: type[BaseEstimator]
    rules: Rules
    build: Callable[[Any, Values, Sizes], Built]
    takes: dict[str, Callable[[Any], Any]] = {}  # noqa: RUF012


def taken(model: Any) -> Values:
    """Fields of a fitted model."""
    part = _part(model, hasattr(model, "fidelity_"))
    found = {
        name: part.takes[name](model) if name in part.takes else _reach(model, name)
        for name in _ROWS | part.rules
    }
    return {name: value for name, value in found.items() if name not in _LATER or value is not None}


def _reach(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = getattr(value, name, None)
    return value


def restore(model: Any, values: Any) -> None:
    """Set what a fit would have set, from fields that nobody has checked yet."""
    part = _part(model, isinstance(values, dict) and "fidelity_" in values)
    rules = _ROWS | part.rules
    if type(values) is dict:
        for name in _LATER & rules.keys():
            values.setdefault(name, None)
    sizes = check_all(type(model).__name__, values, rules)
    X, width, names, links = (values[name] for name in _ROWS)
    several = width is None and isinstance(model, GroupFeatureClustering)  # tables
    if (width != sizes["d"] and not several) or (names is not None and len(names) != sizes["d"]):
        raise Refused("its columns have other names, or another number")
    state, attributes = part.build(model, values, sizes)
    for name in rules:
        if "." not in name and name.endswith("_") and values[name] is not None:
            attributes.setdefault(name, values[name])
    if isinstance(model, SCML):
        model.__dict__.update(attributes)
        return
    closed = ClosedLinks(links.check(len(X)), len(X))
    for name in ("n_features_in_", "feature_names_in_"):
        if name in attributes:
            setattr(model, name, attributes[name])
    model._keep(X, closed, Fitted(values["labels_"], state, attributes))


# Fields that came later: written where there is something, so that other files stay as they were.
_LATER = {"_state.weight"}
_ROWS = {
    "_fit_X": "x n d",
    "n_features_in_": "int ?",
    "feature_names_in_": "object ?",
    "links_": "Links ?",
}
_MODES = {"_state.modes.centers": "x k c", "_state.modes.radius": "f k >0"}
_SPACE = {
    "_state.space.kernel.name": "str ?",
    "_state.space.kernel.sigma": "float >0 ?",
    "_state.space.kernel.degree": "int 1.. ?",
    "_state.space.kernel.gamma": "float >0 ?",
    "_state.space.kernel.coef0": "float 0.. ?",
    "_state.space.landmarks": "x landmarks d | i landmarks 0..n ?",
    "_state.space.map": "f * axes ?",
    "_state.space.exact": "bool ?",
}
_KERNELS = ("gaussian", "chi2", "polynomial", "linear", "precomputed")


def _modes(values: Values, sizes: Sizes, columns: int) -> Modes:
    if sizes["c"] != columns:
        raise Refused("its modes are not where its rows are")
    return Modes(values["_state.modes.centers"], values["_state.modes.radius"])


def _space(values: Values, sizes: Sizes) -> KernelSpace | None:
    *kernel, landmarks, turn, exact = parts = [values[name] for name in _SPACE]
    if all(part is None for part in parts):
        return None
    if any(part is None for part in parts) or kernel[0] not in _KERNELS:
        raise Refused("its space lacks a part, or has an unknown kernel")
    by_number = landmarks.dtype == np.int64
    if by_number != (kernel[0] == "precomputed") or (by_number and sizes["n"] != sizes["d"]):
        raise Refused("its kernel is not that of its rows")
    wanted = (sizes["d"], 1) if kernel[0] == "linear" else (len(landmarks), len(landmarks))
    if (len(turn), len(landmarks)) != wanted:
        raise Refused("its space has other landmarks")
    return KernelSpace(Kernel(*kernel), landmarks, turn, exact)


def _check_weights(weight: Any) -> None:
    if weight is not None and not weight.any():
        raise Refused("none of its rows has a weight")


# MeanShift and PathMeanShift ---------------------------------------------------------------------

_MEAN_SHIFT = {
    **_MODES,
    "_state.density": "Density",
    "_state.cells.side": "float >0 ?",
    "_state.cell_labels": "i cells 0..k ?",
    "bandwidth_": "float >0 | f n >0",
    "n_iter_": "int 0..",
    "paths_": "list ?",
    "labels_": "i n -1..k",
}
_LANDMARKS = {
    "_state.landmarks.labels": "i marks 0..k",
    "_state.landmarks.coarse": "f coarse d",
    "fidelity_": "float",
}
_TOLD = _MEAN_SHIFT | {"_state.told": "i k -1..n", "labels_": "i n -1..n"}


def _mean_shift(_: Any, values: Values, sizes: Sizes) -> Built:
    X, density, bandwidth = (values[k] for k in ("_fit_X", "_state.density", "bandwidth_"))
    given, modes, cells, shape = density.inputs(), _modes(values, sizes, sizes["d"]), None, X.shape
    if values["_state.cells.side"] is not None:
        cells = pool_points(X, values["_state.cells.side"])
        shape = cells.points.shape
        cells = replace(cells, points=given["X"], weight=given["sample_weight"])
    landmarks = None
    if "fidelity_" in values:
        labels, coarse = (values[f"_state.landmarks.{name}"] for name in ("labels", "coarse"))
        landmarks, shape = Landmarks(density, labels, coarse), (sizes["marks"], sizes["d"])
        if np.ndim(given["bandwidth"]) != 1 or given["sample_weight"] is None:
            raise Refused("its landmarks lack a bandwidth or a weight")
    if given["X"].shape != shape or sizes.get("cells", shape[0]) != shape[0]:
        raise Refused("its density is not that of its rows")
    for path in values["paths_"] or ():
        check("paths_", path, "x * d", sizes)
    told, labels, centers = values.get("_state.told"), values["labels_"], modes.centers
    if told is not None:
        if not _is_told(told, labels):
            raise Refused("its rows are in clusters that are not there")
        centers = centers_of(modes, told, X, labels)
    state = mean_shift._State(
        density, modes, bandwidth, cells, values["_state.cell_labels"], told, landmarks
    )
    return state, {"cluster_centers_": centers, "n_clusters_": len(centers)}


def _is_told(told: Any, labels: Any) -> bool:
    """Whether clusters of modes and of rows are the same ones, but for those of no single mode."""
    found = np.unique(labels[labels >= 0])
    whole, own = len(found) > 0 and int(found[-1]) == len(found) - 1, set(told[told >= 0].tolist())
    return whole and own <= set(found.tolist()) and ((told < 0).any() or len(own) == len(found))


_PATH = {
    "_state.density.profile": "Profile",
    "_state.modes.centers": "x modes d",
    "_state.bandwidths": "f levels >0",
    "cluster_centers_": "x k d",
    "_state.lift": "i modes 0..k",
    "labels_": "i n 0..k",
}


def _path(_: Any, values: Values, sizes: Sizes) -> Built:
    profile, first, bandwidths, _centers, lift = [values[name] for name in _PATH][:5]
    state = path_mean_shift.route(values["_fit_X"], profile, first, lift, bandwidths)
    levels = {"bandwidth_": float(bandwidths[-1]), "n_iter_": len(bandwidths)}
    return state, levels | {"n_clusters_": sizes["k"]}


# ConstrainedMeanShift ----------------------------------------------------------------------------

_CONSTRAINED = {
    "_state.low": "f d",
    "_state.span": "f d >0",
    "_state.schedule": "f steps >0..1e100",
    "_state.params": "dict",
    "_state.runs": "dict",
    "_state.weight": "f n 0.. ?",
    "bandwidth_": "f used >0..1e100",
    "n_iter_": "int 1..",
    "shifted_": "x n d",
    "labels_": "i n -1..n",
}
_REPRESENTATIVES = {
    "_state.by.points": "f points d -1e100..1e100",
    "_state.by.weight": "f points 0..",
    "_state.by.of_row": "i n 0..points",
    "fidelity_": "float",
}


def _represented(values: Values, points: Any) -> Representatives:
    """Tell who was shifted: rows with links come first among those that stand for all."""
    if "fidelity_" not in values:
        return Representatives(points, values["_state.weight"])
    rows = ClosedLinks(values["links_"].check(len(points)), len(points)).linked_rows
    shifted, weight, of_row = [values[name] for name in _REPRESENTATIVES][:3]
    _check_weights(weight)
    if len(rows) > len(shifted) or not np.array_equal(of_row[rows], np.arange(len(rows))):
        raise Refused("its linked rows were not shifted")
    return Representatives(shifted, weight, rows, of_row)


def _constrained(model: Any, values: Values, sizes: Sizes) -> Built:
    low, span, schedule, params, runs, weight = [values[name] for name in _CONSTRAINED][:6]
    _check_weights(weight)
    points = (values["_fit_X"].astype(np.float64) - low) / span
    check("scaling", points, "f n d -1e100..1e100", sizes)
    known = (
        model._shift_params()
    )  # those that the file has not, since they are new, are as they were
    if not params.keys() <= known.keys() or not {*map(type, params.values())} <= {str}:
        raise Refused("its shift had other parameters")
    params = known | params
    by = _represented(values, points)
    longest = dict.fromkeys(("half 0", "half 1"), sizes["steps"]) | {"all": sizes["used"]}
    made = {}
    for name, (history, (pairs, confidence)) in runs.items():
        if sizes["used"] > sizes["steps"] or not 0 < len(history) <= longest[name] + 1:
            raise Refused("its history is longer than its bandwidths, or there is none")
        of = len(by.points) if name == "all" else sizes["n"]
        for centres, group in history:
            within = dict(sizes)
            check("history", centres, "f centres d -1e100..1e100", within)
            check("history", group, f"i {of} 0..centres", within)
        check("links in the history", confidence, "f * >0", sizes)
        check("links in the history", pairs, f"i {len(confidence)} 2 0..{of}", sizes)
        made[name] = Run(list(history), (pairs, confidence))
    state = constrained_mean_shift._State(low, span, points, schedule, params, by, made, weight)
    return state, {}


# KernelMeanShift and MetricMeanShift -------------------------------------------------------------

_KERNEL = {
    **_SPACE,
    **_MODES,
    "_state.map": "f axes c ?",
    "_state.ends": "f starts c",
    "points_": "i points 0..n",
    "_state.start": "i points 0..starts",
    "_state.nearest_point": "i n 0..points ?",
    "embedding_": "f n c",
    "bandwidth_": "f points >0",
    "bandwidth_scale_": "float >0",
    "dimension_": "float 0..",
    "effective_dimension_": "float",
    "rank_": "int 0..",
    "n_iter_": "int 0..",
    "labels_": "i n 0..n",
}


def _kernel(_: Any, values: Values, sizes: Sizes) -> Built:
    space, modes = _space(values, sizes), _modes(values, sizes, sizes["c"])
    parts = (values[f"_state.{name}"] for name in ("map", "ends", "start", "nearest_point"))
    link_map, ends, start, nearest = parts
    points = values["points_"]
    if space is None or (link_map is None and sizes["axes"] != sizes["c"]):
        raise Refused("its space has other axes than its rows")
    if (np.diff(points) <= 0).any() or (nearest is None) != (len(points) == sizes["n"]):
        raise Refused("it does not say which of its rows were shifted")
    basin = basin_labels(ends, modes)[start]
    basin = basin if nearest is None else basin[nearest]
    if len(np.unique(basin)) != sizes["k"]:
        raise Refused("it has modes to which no row goes")
    given = (values["embedding_"][points], values["bandwidth_"], Profile("gaussian"))
    density = build_density(*given, dimension=values["dimension_"])
    state = kernel_mean_shift._State(space, link_map, density, modes, ends, start, basin, nearest)
    return state, {"sigma_": space.kernel.sigma} if space.kernel.name == "gaussian" else {}


_METRIC = {
    **_SPACE,
    **_MODES,
    "_state.root": "f * rank ?",
    "_state.landscape": "Density | AnisotropicDensity",
    "_state.from_labels": "bool",
    "metric_": "SCML | f rank rank",
    "bandwidth_": "f n >0",
    "dimension_": "float 0..",
    "rank_": "int 1..",
    "n_iter_": "int 0..",
    "cluster_centers_": "x k d ?",
    "labels_": "i n 0..k",
}


def _metric(_: Any, values: Values, sizes: Sizes) -> Built:
    space, rank, root = _space(values, sizes), values["rank_"], values["_state.root"]
    landscape, metric = values["_state.landscape"], values["metric_"]
    learned = metric.n_features_in_ if isinstance(metric, SCML) else rank  # raises if not fitted
    known = sizes["d"] if space is None else min(rank, sizes["axes"])
    if not rank == known == learned == sizes.get("rank", rank):
        raise Refused("its metric is for other columns")
    given, tilted = landscape.inputs(), root is None
    width = rank if tilted else max(len(root), 1)
    points = given["points" if tilted else "X"]  # raises if it is the other one
    centred = values["cluster_centers_"] is not None
    if points.shape != (sizes["n"], width) or (space is None) != centred:
        raise Refused("its density is not that of its rows under its metric")
    modes = _modes(values, sizes, landscape.to_starts(points[:1]).shape[1])
    from_labels = values["_state.from_labels"]
    state = metric_mean_shift._State(space, rank, root, landscape, modes, from_labels)
    return state, {} if space is None else {"sigma_": space.kernel.sigma}


# GraphMeanShift ----------------------------------------------------------------------------------

_GRAPH = {
    "_state.shift": "MeanShift",
    "_state.space.n_edges": "int 1..",
    "_state.space.scale": "f rows >0 ?",
    "_state.space.values": "f axes ?",
    "labels_": "i n 0..n",
}


def _graph(_: Any, values: Values, sizes: Sizes) -> Built:
    """Take coordinates from the shift in them: eigenvectors are not computed again."""
    X, (shift, n_edges, scale, eigen, labels) = values["_fit_X"], [values[k] for k in _GRAPH]
    rows, of_row = graph_mean_shift.distinct_rows(X)
    n, points = len(rows), shift._fit_X
    width = n if n < FEW else sizes.get("axes", sizes["d"])
    if points.shape != (n, width) or (scale is None) != (eigen is None) or n_edges > max(n - 1, 1):
        raise Refused("its coordinates are not those of its rows")
    if sizes.get("rows", n) != n or not np.array_equal(labels, shift.labels_[of_row]):
        raise Refused("its rows are in clusters of other rows")
    space = GraphSpace(X[rows].astype(np.float64), points, n_edges, scale, eigen)
    state = graph_mean_shift._State(space, shift, of_row)
    return state, graph_mean_shift.attributes_of(state)


# RefinedClustering, ConsensusClustering ----------------------------------------------------------

_REFINED = {
    "estimator_": "any",
    "labels_before_": "i n -1..",
    "_state.weight": "f n 0.. ?",
    "labels_": "i n -1..n",
}


def _refined(_: Any, values: Values, __: Sizes) -> Built:
    inner = values["estimator_"]
    if not isinstance(inner, LinkedClusterer) or inner._fit_X.shape != values["_fit_X"].shape:
        raise Refused("its clusterer was fitted to other rows")
    _check_weights(values["_state.weight"])
    return refined_clustering._State(values["_state.weight"]), {}


_CONSENSUS = {"agreement_": "float", "n_candidates_": "int 1..", "labels_": "i n 0..n"}

_TAKE_RUNS = {"_state.runs": lambda m: {k: tuple(run) for k, run in m._state.runs.items()}}
_CMS = constrained_mean_shift.ConstrainedMeanShift
# Names in files, which stay when a class is renamed.
_PARTS = {
    "CDBSCAN": _Part(CDBSCAN, centre_parts.CDBSCAN, centre_parts.cdbscan),
    "COPKMeans": _Part(COPKMeans, centre_parts.KMEANS, centre_parts.kmeans),
    "ConsensusClustering": _Part(ConsensusClustering, _CONSENSUS, lambda *_: (None, {})),
    "ConstrainedMeanShift": _Part(_CMS, _CONSTRAINED, _constrained, _TAKE_RUNS),
    "ConstrainedSpectral": _Part(ConstrainedSpectral, centre_parts.SPECTRAL, lambda *_: (None, {})),
    "GraphMeanShift": _Part(graph_mean_shift.GraphMeanShift, _GRAPH, _graph),
    "GroupFeatureClustering": _Part(GroupFeatureClustering, GROUPS, groups, TAKE_GROUPS),
    "KMeans": _Part(KMeans, centre_parts.CENTRES, centre_parts.centres),
    "KernelMeanShift": _Part(kernel_mean_shift.KernelMeanShift, _KERNEL, _kernel),
    "MeanShift": _Part(mean_shift.MeanShift, _MEAN_SHIFT, _mean_shift),
    "MetricMeanShift": _Part(metric_mean_shift.MetricMeanShift, _METRIC, _metric),
    "PCKMeans": _Part(PCKMeans, centre_parts.KMEANS, centre_parts.kmeans),
    "PathMeanShift": _Part(path_mean_shift.PathMeanShift, _PATH, _path),
    "RefinedClustering": _Part(refined_clustering.RefinedClustering, _REFINED, _refined),
    "SeededKMeans": _Part(SeededKMeans, centre_parts.SEEDED, centre_parts.kmeans),
    "SCML": _Part(SCML, SCML_GLOBAL, scml_global),
}
ESTIMATORS = {name: part.cls for name, part in _PARTS.items()}
_LOCAL = _Part(SCML, SCML_LOCAL, scml_local)
_BY_LANDMARKS = {
    mean_shift.MeanShift: _LANDMARKS,
    _CMS: _REPRESENTATIVES,
    ConsensusClustering: {"fidelity_": "float"},
}
_COUNTED = _Part(mean_shift.MeanShift, _TOLD, _mean_shift)


def _part(model: Any, by_landmarks: bool = False) -> _Part:
    """Give the part of a model; some have more fields with some parameters, or by landmarks."""
    if isinstance(model, SCML) and model.kind == "local":
        return _LOCAL
    counted = isinstance(model, mean_shift.MeanShift)
    if counted and (model.n_clusters, model.max_clusters) != (None, None):
        found = _COUNTED
    else:
        found = next(part for part in _PARTS.values() if part.cls is type(model))
    if by_landmarks and found.cls in _BY_LANDMARKS:
        return found._replace(rules=found.rules | _BY_LANDMARKS[found.cls])
    return found
