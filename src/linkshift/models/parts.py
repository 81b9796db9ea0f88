"""What a fitted estimator is made of in a file, and how it is built again.

Files hold what builders were given, and a model is built again by the doors that a fit goes
through; what can be computed again is left out. The jit loops do not look where they read: every
field has a rule, and the rules of an estimator share their sizes.

============ ======================================================================
rule         value
============ ======================================================================
"f k d"      array of float64, with k rows and d columns; all numbers are finite
"x k d"      the same, of float64 or float32
"i n -1..k"  array of int64, from -1 to below k
"float >0"   one number; ">=0" alike
"int 1.."    one whole number, from 1 up
"Links"      value of that class
"?"          at the end: or None
============ ======================================================================

Sizes are n and d of the rows, numbers, and names: one name is one size from 1 up. "*" is any size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from linkshift._core.threads import one_blas_thread
from linkshift.estimators import (
    constrained_mean_shift,
    kernel_mean_shift,
    mean_shift,
    metric_mean_shift,
    path_mean_shift,
)
from linkshift.estimators._base import Fitted
from linkshift.estimators._constrained_shift import Run
from linkshift.estimators.group_feature_clustering import GroupFeatureClustering
from linkshift.estimators.refined_clustering import RefinedClustering
from linkshift.groups.alternation import Alternation
from linkshift.groups.boosting import Classifiers
from linkshift.groups.views import KernelBank, kernel_bank
from linkshift.links import ClosedLinks
from linkshift.metric_learning import SCML
from linkshift.metric_learning.embedding import Embedding
from linkshift.modes import Modes, basin_labels
from linkshift.profiles import Profile
from linkshift.shift.binning import pool_points
from linkshift.shift.density import Density, build_density
from linkshift.spaces.kernel import Kernel, KernelSpace

__all__ = ["ESTIMATORS", "Refused", "restore", "taken"]

Values = dict[str, Any]
Sizes = dict[str, int]
Rules = dict[str, str]
Built = tuple[Any, Values]  # a state, and attributes that are no fields

# Names in files, which stay when a class is renamed.
ESTIMATORS: dict[str, type[BaseEstimator]] = {
    "ConstrainedMeanShift": constrained_mean_shift.ConstrainedMeanShift,
    "GroupFeatureClustering": GroupFeatureClustering,
    "KernelMeanShift": kernel_mean_shift.KernelMeanShift,
    "MeanShift": mean_shift.MeanShift,
    "MetricMeanShift": metric_mean_shift.MetricMeanShift,
    "PathMeanShift": path_mean_shift.PathMeanShift,
    "RefinedClustering": RefinedClustering,
    "SCML": SCML,
}
_KINDS = {
    "f": ("float64",),
    "x": ("float64", "float32"),
    "i": ("int64",),
    "bandwidth": ("float", "float64"),
    "bounds": ("list", "tuple", "int64"),
    "clusterer": tuple(name for name in ESTIMATORS if name != "SCML"),
    "landscape": ("Density", "AnisotropicDensity"),
    "metric": ("SCML", "float64"),
    "None": ("NoneType",),
}
_ARRAYS = ("f", "x", "i")
_MOST_REPEATED = 1000  # columns of views, in columns of the table: so is memory bounded


class Refused(ValueError):
    """What is wrong with a file, in words for the reader."""


def check(name: str, value: Any, rule: str, sizes: Sizes) -> None:
    """Refuse a value that breaks a rule; sizes that nobody has named before are noted."""
    kind, *rest = rule.removesuffix(" ?").split()
    if value is None and rule.endswith("?"):
        return
    limits = rest.pop() if rest and (">" in rest[-1] or ".." in rest[-1]) else ""
    found = value.dtype.name if type(value) is np.ndarray else type(value).__name__
    if found not in _KINDS.get(kind, (kind,)) and (
        kind != "array" or type(value) is not np.ndarray
    ):
        raise Refused(f"its {name} is {found}, not {rule!r}")
    if kind in _ARRAYS:
        if value.ndim != len(rest):
            raise Refused(f"its {name} has {value.ndim} dimensions, not {rule!r}")
        for size, wanted in zip(value.shape, rest, strict=True):
            given = int(wanted) if wanted.isdigit() else sizes.setdefault(wanted, max(size, 1))
            if size != given and wanted != "*":
                raise Refused(f"its {name} has {size} entries for {wanted} = {given}")
    if kind in _ARRAYS or kind in ("float", "int"):
        low, _, high = limits.lstrip(">=").partition("..")
        inside = np.isfinite(value) & (value >= float(low or -np.inf))
        if ">" in limits and "=" not in limits:
            inside &= value > float(low)
        if high:
            inside &= value < sizes[high]
        if not np.all(inside):
            raise Refused(f"its {name} has numbers that are not {rule!r}")


def taken(model: Any) -> Values:
    """Fields of a fitted model, by where they are in it."""
    rules, takes, _ = _part(model)
    return {name: takes.get(name, _reach)(model, name) for name in _ROWS | rules}


def _reach(model: Any, path: str) -> Any:
    for name in path.split("."):
        model = getattr(model, name, None)
    return model


def restore(model: Any, values: Any) -> None:
    """Set what a fit would have set, from fields that nobody has checked yet."""
    rules, _, build = _part(model)
    rules = _ROWS | rules
    given = values.keys() if type(values) is dict else set()
    if given != rules.keys():
        name = min(given ^ rules.keys())
        wrong = "lacks the field" if name in rules else "has no field"
        raise Refused(f"a fitted {type(model).__name__} {wrong} {name!r}")
    sizes: Sizes = {}
    for name, rule in rules.items():
        check(name, values[name], rule, sizes)
    X, names = values["_fit_X"], values["feature_names_in_"]
    if values.get("widths") is None:
        model.n_features_in_ = sizes["d"]
    if names is not None:
        if names.shape != (sizes["d"],):
            raise Refused("its columns have other names")
        model.feature_names_in_ = names
    state, attributes = build(model, values, sizes)
    if "links_" not in rules:
        vars(model).update(attributes)
        return
    for name in rules.keys() - _ROWS.keys():
        if "." not in name and name.endswith("_") and values[name] is not None:
            attributes.setdefault(name, values[name])
    closed = ClosedLinks(attributes.pop("links_").check(len(X)), len(X))
    model._keep(X, closed, Fitted(attributes.pop("labels_"), state, attributes))


_ROWS = {"_fit_X": "x n d", "feature_names_in_": "object ?"}
_MODES = {"_state.modes.centers": "x k c", "_state.modes.radius": "f k >0"}
_SPACE = {
    "_state.space.kernel.name": "str ?",
    "_state.space.kernel.sigma": "float >0 ?",
    "_state.space.kernel.degree": "int 1.. ?",
    "_state.space.kernel.gamma": "float >0 ?",
    "_state.space.kernel.coef0": "float >=0 ?",
    "_state.space.landmarks": "array ?",
    "_state.space.map": "f landmarks axes ?",
    "_state.space.exact": "bool ?",
}


def _modes(values: Values, sizes: Sizes, columns: int) -> Modes:
    if sizes["c"] != columns:
        raise Refused("its modes are not where its rows are")
    return Modes(values["_state.modes.centers"], values["_state.modes.radius"])


def _space(values: Values, sizes: Sizes) -> KernelSpace | None:
    *kernel, landmarks, turn, exact = (values[name] for name in _SPACE)
    if kernel[0] is None:
        return None
    if None in kernel or turn is None or exact is None:
        raise Refused("its space lacks a part")
    square = sizes["n"] == sizes["d"]
    rule = {
        "gaussian": "x landmarks d",
        "chi2": "x landmarks d",
        "polynomial": "x landmarks d",
        "linear": "f 1 landmarks",
        "precomputed": "i landmarks 0..n" if square else "no kernel",
    }.get(kernel[0], "no kernel")
    check("landmarks", landmarks, rule, sizes)
    if kernel[0] == "linear" and sizes["landmarks"] != sizes["d"]:
        raise Refused("its space is that of other columns")
    return KernelSpace(Kernel(*kernel), landmarks, turn, exact)


# MeanShift and PathMeanShift ---------------------------------------------------------------------

_MEAN_SHIFT = {
    **_MODES,
    "_state.density": "Density",
    "_state.cells.side": "float >0 ?",
    "_state.cell_labels": "i cells 0..k ?",
    "bandwidth_": "bandwidth",
    "n_iter_": "int 0..",
    "paths_": "list ?",
    "links_": "Links",
    "labels_": "i n -1..k",
}


def _mean_shift(_: Any, values: Values, sizes: Sizes) -> Built:
    X, density, bandwidth = (values[k] for k in ("_fit_X", "_state.density", "bandwidth_"))
    check("bandwidth_", bandwidth, "float >0" if type(bandwidth) is float else "f n >0", sizes)
    given, modes, cells, shape = density.inputs(), _modes(values, sizes, sizes["d"]), None, X.shape
    if values["_state.cells.side"] is not None:
        cells = pool_points(X, values["_state.cells.side"])
        shape = cells.points.shape
        cells = replace(cells, points=given["X"], weight=given["sample_weight"])
    if given["X"].shape != shape or sizes.get("cells", shape[0]) != shape[0]:
        raise Refused("its density is not that of its rows")
    for path in values["paths_"] or ():
        check("paths_", path, "x * d", sizes)
    labels = values["_state.cell_labels"]
    state = mean_shift._State(density, modes, bandwidth, cells, labels)
    return state, {"cluster_centers_": modes.centers, "n_clusters_": sizes["k"]}


_PATH = {
    "_state.density.profile": "Profile",
    "_state.modes.centers": "x modes d",
    "_state.bandwidths": "f levels >0",
    "cluster_centers_": "x k d",
    "_state.lift": "i modes 0..k",
    "links_": "Links",
    "labels_": "i n 0..k",
}


def _path(_: Any, values: Values, sizes: Sizes) -> Built:
    profile, centers, bandwidths, _centers, lift = [values[name] for name in _PATH][:5]
    state = path_mean_shift.route(values["_fit_X"], profile, centers, lift, bandwidths)
    levels = {"bandwidth_": float(bandwidths[-1]), "n_iter_": len(bandwidths)}
    return state, levels | {"n_clusters_": sizes["k"]}


# ConstrainedMeanShift ----------------------------------------------------------------------------

_CONSTRAINED = {
    "_state.low": "f d",
    "_state.span": "f d >0",
    "_state.schedule": "f steps >0",
    "_state.params": "dict",
    "_state.runs": "dict",
    "bandwidth_": "f used >0",
    "n_iter_": "int 1..",
    "shifted_": "x n d",
    "links_": "Links",
    "labels_": "i n -1..n",
}


def _constrained(model: Any, values: Values, sizes: Sizes) -> Built:
    low, span, schedule, params, runs = [values[name] for name in _CONSTRAINED][:5]
    points = (values["_fit_X"].astype(np.float64) - low) / span
    check("low and span", points, "f n d", sizes)
    if params.keys() != model._shift_params().keys() or {*map(type, params.values())} != {str}:
        raise Refused("its shift had other parameters")
    longest = dict.fromkeys(("half 0", "half 1"), len(schedule)) | {"all": sizes["used"]}
    made = {}
    for name, (history, (pairs, confidence)) in runs.items():
        if sizes["used"] > len(schedule) or not 0 < len(history) <= longest[name] + 1:
            raise Refused("its history is longer than its bandwidths, or there is none")
        for centres, group in history:
            within = dict(sizes)
            check("history", centres, "f centres d", within)
            check("history", group, "i n 0..centres", within)
        check("bending", pairs, "i * 2 0..n", sizes)
        check("bending", confidence, "f * >0", sizes)
        if len(pairs) != len(confidence):
            raise Refused("its pairs do not have a confidence each")
        made[name] = Run(history, (pairs, confidence))
    return constrained_mean_shift._State(low, span, points, schedule, params, made), {}


# KernelMeanShift and MetricMeanShift -------------------------------------------------------------

_KERNEL = (
    _SPACE
    | _MODES
    | {
        "_state.map": "f axes c ?",
        "_state.ends": "f starts c",
        "points_": "i points 0..n",
        "_state.start": "i points 0..starts",
        "_state.nearest_point": "i n 0..points ?",
        "embedding_": "f n c",
        "bandwidth_": "f points >0",
        "bandwidth_scale_": "float >0",
        "dimension_": "float >=0",
        "effective_dimension_": "float",
        "rank_": "int 0..",
        "n_iter_": "int 0..",
        "links_": "Links",
        "labels_": "i n 0..n",
    }
)


def _kernel(_: Any, values: Values, sizes: Sizes) -> Built:
    space, modes = _space(values, sizes), _modes(values, sizes, sizes["c"])
    link_map, ends, start, nearest = (
        values[f"_state.{name}"] for name in ("map", "ends", "start", "nearest_point")
    )
    points = values["points_"]
    if space is None or (link_map is None and sizes["axes"] != sizes["c"]):
        raise Refused("its space has other axes than its rows")
    if (np.diff(points) <= 0).any() or (nearest is None) != (len(points) == sizes["n"]):
        raise Refused("it does not tell which of its rows were shifted")
    basin = basin_labels(ends, modes)[start]
    basin = basin if nearest is None else basin[nearest]
    if len(np.unique(basin)) != sizes["k"]:
        raise Refused("it has modes to which no row goes")
    density = build_density(
        values["embedding_"][points],
        values["bandwidth_"],
        Profile("gaussian"),
        dimension=values["dimension_"],
    )
    state = kernel_mean_shift._State(space, link_map, density, modes, ends, start, basin, nearest)
    return state, {"sigma_": space.kernel.sigma} if space.kernel.name == "gaussian" else {}


_METRIC = (
    _SPACE
    | _MODES
    | {
        "_state.root": "f * rank ?",
        "_state.landscape": "landscape",
        "_state.from_labels": "bool",
        "metric_": "metric",
        "bandwidth_": "f n >0",
        "dimension_": "float >=0",
        "rank_": "int 1..",
        "n_iter_": "int 0..",
        "cluster_centers_": "x k d ?",
        "links_": "Links",
        "labels_": "i n 0..k",
    }
)


def _metric(_: Any, values: Values, sizes: Sizes) -> Built:
    space, rank, root = _space(values, sizes), values["rank_"], values["_state.root"]
    landscape, metric = values["_state.landscape"], values["metric_"]
    measured = len(metric) if isinstance(metric, np.ndarray) else _reach(metric, "n_features_in_")
    known = sizes["d"] if space is None else min(rank, sizes["axes"])
    if not rank == known == measured == sizes.get("rank", rank):
        raise Refused("its metric is for other columns")
    if (space is None) != (values["cluster_centers_"] is not None):
        raise Refused("its centers are not in its columns")
    given, tilted = landscape.inputs(), root is None
    points = given["points"] if tilted and "points" in given else given.get("X")
    width = rank if tilted else max(len(root), 1)
    if isinstance(landscape, Density) == tilted or points.shape != (sizes["n"], width):
        raise Refused("its density is not that of its rows under its metric")
    modes = _modes(values, sizes, landscape.n_features if tilted else width)
    labels_told = values["_state.from_labels"]
    state = metric_mean_shift._State(space, rank, root, landscape, modes, labels_told)
    return state, {} if space is None else {"sigma_": space.kernel.sigma}


# GroupFeatureClustering and RefinedClustering ----------------------------------------------------

_CUTS = ["view", "positive", "negative", "threshold", "a", "b", "gain", "start"]
_GROUPS = {
    "widths": "list ?",
    "names": "list",
    "metrics": "list",
    "gammas": "list",
    "_state.groups": "dict ?",
    "classifiers_.start": "f k",
    **{f"classifiers_.{name}": "i k rounds -1..n" for name in _CUTS[:3]},
    **{f"classifiers_.{name}": "f k rounds" for name in _CUTS[3:7]},
    "history_": "list",
    "size_bounds_": "bounds ?",
    "loss_": "float",
    "links_": "Links",
    "labels_": "i n 0..k",
}
_TAKE_GROUPS: dict[str, Callable[[Any, str], Any]] = {
    "widths": lambda m, _: (
        None if hasattr(m, "n_features_in_") else [view.width for view in m._state.views]
    ),
    "names": lambda m, _: list(m._state.names),
    "metrics": lambda m, _: [view.metric for view in m._state.views],
    "gammas": lambda m, _: [
        None if view.metric == "kernel" else view.gamma for view in m._state.views
    ],
    "history_": lambda m, _: [(one.partitions, one.loss, one.changed) for one in m.history_],
}


def _groups(_: Any, values: Values, sizes: Sizes) -> Built:
    bank = _bank(values, sizes)
    cuts = [values[f"classifiers_.{name}"] for name in _CUTS]
    view, positive, negative = cuts[:3]
    if (view >= bank.n_views).any() or (np.minimum(positive, negative)[view >= 0] < 0).any():
        raise Refused("its classifiers compare with no sample")
    history = []
    for partitions, loss, changed in values["history_"]:
        check("history_", loss, "f *", sizes)
        check("history_", changed, f"f {len(loss)}", sizes)
        check("history_", partitions, f"i {len(loss) + 1} n 0..n", sizes)
        history.append(Alternation(partitions, loss, changed))
    classifiers = Classifiers(*cuts, bank.n_views)
    return bank, {
        "history_": history,
        "n_iter_": max(one.n_iter for one in history),
        "size_bounds_": values["size_bounds_"],
        "classifiers_": classifiers,
        "view_importances_": classifiers.view_importances,
        "view_names_": bank.names,
    }


def _bank(values: Values, sizes: Sizes) -> KernelBank:
    """Kernels of the views; none of their values are worked out before somebody asks."""
    X, groups = values["_fit_X"], values["_state.groups"]
    names, metrics, gammas = (values[key] for key in ("names", "metrics", "gammas"))
    widths = values["widths"] or [sizes["d"]]
    views: Any = X
    if groups is None:
        if sum(widths) != sizes["d"] or min(widths) < 1:
            raise Refused("its views are of other columns")
        views = dict(zip(names, np.split(X, np.cumsum(widths)[:-1], axis=1), strict=True))
    elif sum(np.size(columns) for columns in groups.values()) > _MOST_REPEATED * sizes["d"]:
        raise Refused("its views repeat its columns too often")
    if not all(type(metric) is str for metric in metrics):
        raise Refused("its views are compared by something without a name")
    bank = kernel_bank(
        views,
        groups=groups,
        metric=dict(zip(names, metrics, strict=True)),
        gamma={name: g for name, g in zip(names, gammas, strict=True) if g is not None},
        max_bytes=0,
    )
    if list(bank.names) != names:
        raise Refused("its views have other names")
    return bank


_REFINED = {
    "estimator_": "clusterer",
    "labels_before_": "i n -1..",
    "links_": "Links",
    "labels_": "i n -1..n",
}


def _refined(_: Any, values: Values, sizes: Sizes) -> Built:
    if _reach(values["estimator_"], "_fit_X.shape") != (sizes["n"], sizes["d"]):
        raise Refused("its clusterer was fitted to other rows")
    return None, {}


# SCML --------------------------------------------------------------------------------------------

_SCML = {
    "classes_": "array ?",
    "_fit_y": "i n ?",
    "bases_": "f bases d",
    "scale_": "float >0",
    "n_bases_": "int 1..",
    "n_triplets_": "int 0..",
    "objective_": "float",
    "start_objective_": "float",
    "n_iter_": "int 0..",
}
_SCML_GLOBAL = _SCML | {"weights_": "f bases >=0", "components_": "f rank d"}
_SCML_LOCAL = _SCML | {
    "coefficients_": "f bases *",
    "embedding_.kernel.sigma": "float >0",
    "embedding_.landmarks": "f landmarks d",
    "embedding_.column_means": "f landmarks",
    "embedding_.map": "f landmarks *",
}


def _scml(_: Any, values: Values, sizes: Sizes) -> Built:
    X, classes, codes = values["_fit_X"], values["classes_"], values["_fit_y"]
    sizes["classes"] = 0 if classes is None else len(classes)
    check("_fit_y", codes, "i n 0..classes" if sizes["classes"] else "None", sizes)
    made = {"_fit_X": X, "_centre": X.mean(axis=0, dtype=np.float64)}
    made |= {name: values[name] for name in values if name in _SCML}
    return None, made


def _scml_global(model: Any, values: Values, sizes: Sizes) -> Built:
    root = values["components_"]
    made = _scml(model, values, sizes)[1] | {"weights_": values["weights_"], "components_": root}
    with one_blas_thread():  # as in fit
        return None, made | {"metric_": root.T @ root, "_n_features_out": len(root)}


def _scml_local(model: Any, values: Values, sizes: Sizes) -> Built:
    coefficients, sigma, *parts = [values[name] for name in _SCML_LOCAL][len(_SCML) :]
    check("coefficients_", coefficients, f"f bases {parts[-1].shape[1] + 1}", sizes)
    return None, _scml(model, values, sizes)[1] | {
        "coefficients_": coefficients,
        "embedding_": Embedding(Kernel("gaussian", sigma=sigma), *parts),
        "embedding_sigma_": sigma,
    }


_TAKE_RUNS = {"_state.runs": lambda m, _: {k: tuple(run) for k, run in m._state.runs.items()}}
Part = tuple[Rules, dict[str, Callable[[Any, str], Any]], Callable[[Any, Values, Sizes], Built]]


def _part(model: Any) -> Part:
    return _PARTS[f"SCML {model.kind}" if type(model) is SCML else type(model).__name__]


_PARTS: dict[str, Part] = {
    "ConstrainedMeanShift": (_CONSTRAINED, _TAKE_RUNS, _constrained),
    "GroupFeatureClustering": (_GROUPS, _TAKE_GROUPS, _groups),
    "KernelMeanShift": (_KERNEL, {}, _kernel),
    "MeanShift": (_MEAN_SHIFT, {}, _mean_shift),
    "MetricMeanShift": (_METRIC, {}, _metric),
    "PathMeanShift": (_PATH, {}, _path),
    "RefinedClustering": (_REFINED, {}, _refined),
    "SCML global": (_SCML_GLOBAL, {}, _scml_global),
    "SCML local": (_SCML_LOCAL, {}, _scml_local),
}
