"""No parameter is ignored in silence, by any estimator or baseline.

Each must change what comes out, or raise and say what to do instead; what has no effect by design
stands in ``WITHOUT_EFFECT``, with the reason. ``VALUES`` has a value of every parameter there is.
"""

import inspect
from functools import cache

import numpy as np
import pytest
from sklearn.cluster import KMeans as TheirKMeans
from sklearn.utils._param_validation import InvalidParameterError
from tests.estimators.variants import (
    TRUE,
    VARIANTS,
    differ,
    mean_shift_by_links,
    outcome,
    quick_scml,
    quiet_fit,
    says_what_to_do,
    two_blobs,
)
from tests.helpers import blobs

from linkshift import (
    SCML,
    ConsensusClustering,
    ConstrainedMeanShift,
    GraphMeanShift,
    GroupFeatureClustering,
    KernelMeanShift,
    KMeans,
    Links,
    MeanShift,
    MetricMeanShift,
    RefinedClustering,
)
from linkshift.baselines import (
    CDBSCAN,
    ConstrainedSpectral,
    COPKMeans,
    MPCKMeans,
    PCKMeans,
    SeededKMeans,
)


def recorder():
    """Progress that remembers its calls; copies share them, as estimators are cloned."""

    def record(*call):
        record.calls.append(call)

    record.calls = []
    return record


# A valid value of every parameter that is neither the default nor that of a variant; two where a
# variant has one of them.
VALUES = {
    MeanShift: {
        "bandwidth": [1.0],
        "seeds": [[[0.0, 0.0, 0.0], [5.0, 5.0, 5.0]]],
        "bin_seeding": [True],
        "min_bin_freq": [3],
        "cluster_all": [False],
        "n_jobs": [2],
        "max_iter": [1],
        "kernel": ["epanechnikov"],
        "n_neighbors": [5],
        "blurring": [True],
        "assignment": ["nearest", "basin"],
        "tol": [0.5],
        "path_merge": [2.0],
        "end_radius": [1.0, 3.0],
        "path_radius": [0.5, 2.0],
        "bin_size": [1.0],
        "landmarks": [12, 30],
        "metric": ["cosine"],
        "n_clusters": [5, 7],
        "max_clusters": [1],
        "keep_paths": [True],
        "progress": [recorder],
    },
    ConstrainedMeanShift: {
        "kernel": ["gaussian"],
        "truncation": [0.6],
        "constraint_scale": [2.0],
        "bandwidth": [1.0],
        "growth": ["full"],
        "schedule": ["geometric"],
        "max_iter": [2],
        "blurring": [True],
        "scale_features": [True],
        "merge_above": [0.2],
        "merge_weight": [0.9],
        "refine": [None],
        "enforce": [False],
        "min_cluster_size": [8, 20],
        "n_neighbors": [3],
        "penalty": [50.0],
        "n_clusters": [5, 7],
        "max_clusters": [2, 1],
        "max_pairs": [3],
        "landmarks": [12, 30],
        "metric": ["cosine"],
        "keep_history": [True],
        "n_jobs": [2],
        "progress": [recorder],
    },
    KernelMeanShift: {
        "kernel": ["chi2", "linear"],
        "sigma": [2.0],
        "degree": [3],
        "gamma": [0.1],
        "coef0": [3.0],
        "kernel_params": [{"width": 2.0}],
        "n_neighbors": [4],
        "bandwidth_scale": [0.3],
        "dimension": [7.0],
        "use_links": ["learn"],
        "learn_params": [{"gamma": 0.1}],
        "refine": [None],
        "n_landmarks": [10],
        "max_points": [20],
        "metric": ["cosine"],
        "max_iter": [1],
        "tol": [0.5],
        "n_jobs": [2],
        "random_state": [1],
        "progress": [recorder],
    },
    MetricMeanShift: {
        "metric": [np.diag([1.0, 2.0, 3.0]), quick_scml(beta=0.1)],
        "kernel": ["gaussian"],
        "sigma": [2.0],
        "variance": [0.8],
        "n_neighbors": [4],
        "profile": ["gaussian"],
        "dimension": ["columns"],
        "ridge": [0.5],
        "merge_radius": [3.0],
        "max_iter": [1],
        "tol": [0.5],
        "n_jobs": [2],
        "random_state": [1],
        "progress": [recorder],
    },
    GroupFeatureClustering: {
        "n_clusters": [3],
        "views": [{"a": [1], "b": [0, 2]}],
        "metric": ["cosine"],
        "gamma": [0.01],
        "base": [2],
        "step": [9],
        "size_bounds": [None],
        "n_init": [3],
        "init": ["spectral"],
        "max_iter": [4],
        "n_folds": [5],
        "n_candidates": [1, "all"],
        "loss": ["exp"],
        "stop": ["rise"],
        "consensus": [False],
        "n_jobs": [2],
        "random_state": [1],
        "progress": [recorder],
    },
    GraphMeanShift: {
        "coordinates": ["smooth", "diffusion"],
        "time": [8],
        "n_edges": [4],
        "n_neighbors": [4],
        "bandwidth": [1.0],
        "metric": ["cosine"],
        "max_iter": [1],
        "n_jobs": [2],
        "progress": [recorder],
    },
    RefinedClustering: {
        "estimator": [TheirKMeans(4, n_init=1, random_state=0)],
        "n_neighbors": [2],
        "penalty": [0.1],
        "metric": ["cosine"],
        "enforce": [False],
        "n_clusters": [5, 7],
        "max_clusters": [2, 1],
    },
    ConsensusClustering: {
        "n_clusters": [4],
        "max_clusters": [2],
        "n_neighbors": [3],
        "max_rows": [20],
        "metric": ["cosine"],
        "enforce": [False],
        "random_state": [1],
        "n_jobs": [2],
        "progress": [recorder],
    },
    KMeans: {
        "n_clusters": [4],
        "init": ["random", "greedy", np.eye(2, 3)],
        "n_init": [7],
        "max_iter": [1],
        "tol": [9.0],
        "metric": ["cosine"],
        "n_jobs": [2],
        "random_state": [1],
        "progress": [recorder],
    },
    PCKMeans: {
        "n_clusters": [4],
        "weight": [0.1],
        "init": ["k-means++"],
        "n_init": [7],
        "max_iter": [1],
        "random_state": [1],
    },
    CDBSCAN: {"eps": [0.5], "min_samples": [1], "leaf_size": [5]},
    ConstrainedSpectral: {
        "n_clusters": [4],
        "beta": [0.01, -2.0],
        "gamma": [0.01],
        "n_init": [7],
        "random_state": [1],
    },
    SCML: {
        "kind": ["local"],
        "n_bases": [5],
        "n_targets": [1],
        "n_impostors": [1],
        "beta": [0.1],
        "embedding_dimension": [1],
        "embedding_sigma": [0.3],
        "max_iter": [1],
        "batch_size": [3],
        "tol": [0.9],
        "random_state": [1],
        "progress": [recorder],
    },
}
VALUES[COPKMeans] = {k: v for k, v in VALUES[PCKMeans].items() if k != "weight"}
VALUES[SeededKMeans] = {k: v for k, v in VALUES[COPKMeans].items() if k != "init"} | {
    "constrained": [True]
}
VALUES[MPCKMeans] = {**VALUES[PCKMeans], "metric": ["single"]}
BY_LINKS = type(mean_shift_by_links())
if BY_LINKS is not MeanShift:
    names = inspect.signature(BY_LINKS).parameters
    VALUES[BY_LINKS] = {
        name: VALUES[MeanShift][name] for name in names if name in VALUES[MeanShift]
    }

# Where a parameter matters later than the variants go.
CONTEXT = {
    (GroupFeatureClustering, "stop"): {"max_iter": 8},  # a loss that rises takes some iterations
    (SCML, "tol"): {"max_iter": 100, "batch_size": 1},
    (ConstrainedSpectral, "n_init"): {"n_clusters": 12},  # of few clusters one start finds the best
    # Chance draws the centres that have no seeds.
    (SeededKMeans, "n_init"): {"n_clusters": 20},
    (SeededKMeans, "random_state"): {"n_clusters": 20},
    (ConsensusClustering, "random_state"): {"max_rows": 20},  # chance says which rows
    (ConstrainedMeanShift, "merge_weight"): {"constraint_scale": 5.0},  # links take from all
}

# Parameters that change nothing by design, and why.
WITHOUT_EFFECT = {
    "n_jobs": (VARIANTS, "labels do not depend on the number of threads"),
    "random_state": (
        [n for n in VARIANTS if n.startswith("Kernel") and n != "Kernel landmarks"]
        + ["Metric matrix"],
        "no chance comes in: all is exact, or there is no metric to learn",
    ),
    "ridge": (
        ["Metric matrix", "Metric global", "Metric kernel"],
        "not used for a global metric, says its docstring",
    ),
}


@cache
def rough_problem(i):
    """Blobs that overlap, a bandwidth, and links that the blobs bear out more or less."""
    std, h, n_links, confidence = (
        (2.5, 3.0, 30, 1.0),
        (4.0, 2.0, 12, 1.0),
        (1.0, 12.0, 20, 0.7),
        (6.0, 6.0, 25, 0.7),
        (3.0, 40.0, 15, 1.0),
    )[i]
    X, y = blobs(60, 3, std=std, seed=i)
    links = Links.sample(y, n_links, random_state=i, error_rate=0.3 if confidence < 1 else 0.0)
    return X, h, links, confidence


def links_of_problem(name, i):
    """Links of a problem, as far as a variant can do something with them."""
    *_, links, confidence = rough_problem(i)
    must_be_certain = VARIANTS[name].uses == "must" or "None" in name or "paper" in name
    links = Links(
        links.must[:2] if VARIANTS[name].uses == "must" else links.must,
        links.cannot,
        must_confidence=1.0 if must_be_certain else confidence,
        cannot_confidence=confidence,
    )
    return VARIANTS[name].usable(links)


def outcome_of_problem(name, i, **changed):
    """What comes out of a rough problem, with parameters changed; progress counts, too."""
    variant = VARIANTS[name]
    X, h, *_ = rough_problem(i)
    progress = recorder()
    changed = {key: progress if value is recorder else value for key, value in changed.items()}
    model = variant.make(h, 3).set_params(**changed)
    quiet_fit(model, variant.table(X, X), links=links_of_problem(name, i))
    new = 6.0 * np.random.default_rng(0).normal(size=(40, 3))
    seen = outcome(variant, model, X, new)
    seen["calls"] = np.array(progress.calls, dtype=np.float64)
    return seen


@cache
def plain_outcome_of_problem(name, i, context):
    try:
        return outcome_of_problem(name, i, **dict(context))
    except ValueError:  # no metric can be learned from links without a triplet
        return None


def matters(name, i, parameter, value):
    """Whether a value of a parameter has an effect on a problem, or is refused with advice."""
    context = CONTEXT.get((type(VARIANTS[name].make(1.0, 3)), parameter), {})
    plain = plain_outcome_of_problem(name, i, tuple(context.items()))
    if plain is None:
        return False
    try:
        return differ(plain, outcome_of_problem(name, i, **context, **{parameter: value}))
    except InvalidParameterError:
        raise  # no refusal: the table of values is wrong
    except ValueError as refused:
        return says_what_to_do(refused)


PARAMETERS = [
    pytest.param(name, parameter, id=f"{name}-{parameter}")
    for name, variant in VARIANTS.items()
    for parameter in inspect.signature(type(variant.make(1.0, 3))).parameters
]


@pytest.mark.parametrize("name", VARIANTS)
def test_the_table_of_parameters_is_complete(name):
    kind = type(VARIANTS[name].make(1.0, 3))
    assert set(VALUES[kind]) == set(inspect.signature(kind).parameters)


@pytest.mark.parametrize(("name", "parameter"), PARAMETERS)
def test_parameters_have_an_effect_or_raise(name, parameter):
    model = VARIANTS[name].make(3.0, 3)
    present = model.get_params(deep=False)[parameter]
    values = [v for v in VALUES[type(model)][parameter] if repr(v) != repr(present)]
    if not values:
        return  # the value is that of the variant, which others lack
    if name in WITHOUT_EFFECT.get(parameter, ((), ""))[0]:
        assert not any(matters(name, i, parameter, value) for i in range(2) for value in values)
    else:
        assert any(matters(name, i, parameter, value) for i in range(5) for value in values)


def test_a_seed_of_the_metric_comes_first():
    # As documented: the estimator's own is for a metric that has none.
    X, _ = two_blobs(2)
    first, second = (
        MetricMeanShift(quick_scml(random_state=0), n_neighbors=8, random_state=seed)
        .fit(X, links=TRUE)
        .metric_.metric_
        for seed in (1, 2)
    )
    np.testing.assert_array_equal(first, second)
