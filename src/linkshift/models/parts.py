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
"list"       value of that class
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
from linkshift.shift.anisotropic import AnisotropicDensity
from linkshift.shift.binning import pool_points
from linkshift.shift.density import Density, build_density
from linkshift.spaces.kernel import Kernel, KernelSpace

__all__ = ["ESTIMATORS", "Refused", "restore", "taken"]

Values, Sizes, Rules = dict[str, Any], dict[str, int], dict[str, str]
Built = tuple[Any, Values]  # a state, and attributes that are no fields

_DTYPES = {"f": ("float64",), "x": ("float64", "float32"), "i": ("int64",)}
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
    if found not in _DTYPES.get(kind, (kind,)) and not (kind == "array" and found != "object"):
        raise Refused(f"its {name} is {found}, not {rule!r}")
    if kind in _DTYPES:
        if value.ndim != len(rest):
            raise Refused(f"its {name} has {value.ndim} dimensions, not {rule!r}")
        for size, wanted in zip(value.shape, rest, strict=True):
            given = int(wanted) if wanted.isdigit() else sizes.setdefault(wanted, max(size, 1))
            if size != given and wanted != "*":
                raise Refused(f"its {name} has {size} entries for {wanted} = {given}")
    if kind in _DTYPES or kind in ("float", "int"):
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
    rules, takes, _ = _PARTS[type(model)]
    return {name: takes.get(name, _reach)(model, name) for name in _ROWS | rules}


def _reach(model: Any, path: str) -> Any:
    for name in path.split("."):
        model = getattr(model, name, None)
    return model


def restore(model: Any, values: Any) -> None:
    """Set what a fit would have set, from fields that nobody has checked yet."""
    rules, _, build = _PARTS[type(model)]
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
    if type(model) is SCML:
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

_MEAN_SHIFT = _MODES | {
    "_state.density": "Density",
    "_state.cells.side": "float >0 ?",
    "_state.cell_labels": "i cells 0..k ?",
    "bandwidth_": "array",
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
    state = path_mean_shift.first_level(values["_fit_X"], profile, centers, lift, bandwidths)
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
    points = constrained_mean_shift.scaled(values["_fit_X"], low, span)
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
        made[name] = constrained_mean_shift._Run(history, (pairs, confidence))
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
        "_state.landscape": "density",
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
