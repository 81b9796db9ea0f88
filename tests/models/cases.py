"""Fitted models of every kind for the tests of model files, and files taken apart."""

import functools
import json
from copy import copy
from dataclasses import fields, is_dataclass

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator

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
    PathMeanShift,
    RefinedClustering,
)
from linkshift.baselines import CDBSCAN, ConstrainedSpectral, COPKMeans, PCKMeans, SeededKMeans
from linkshift.groups.views import KernelBank
from linkshift.models.files import _digest
from linkshift.models.values import fingerprint
from linkshift.profiles import Profile

RNG = np.random.default_rng(0)
CENTRES = np.array([[0.0, 0.0], [4.0, 4.0], [0.0, 6.0]])
TRUTH = np.repeat([0, 1, 2], 20)
X = CENTRES[TRUTH] + RNG.normal(scale=0.4, size=(60, 2))
NEW = CENTRES[np.repeat([0, 1, 2], 5)] + RNG.normal(scale=0.8, size=(15, 2))
WIDE, WIDE_NEW = (np.hstack([x, RNG.normal(scale=0.2, size=(len(x), 68))]) for x in (X, NEW))
FRAME, FRAME_NEW = (pd.DataFrame(x, columns=["length", "width"]) for x in (X, NEW))
KNOWN = np.where(np.arange(60) % 20 < 5, TRUTH, -1)
LINKS = Links(must=[(0, 1), (20, 21)], cannot=[(0, 20), (20, 40), (1, 41)])
NAMES = [f"r{i}" for i in range(60)]
BY_ID = Links(must=[("r0", "r1")]) + Links.apart_within(pd.Series(np.arange(60) % 20, index=NAMES))
MUST = Links(must=[(0, 1), (20, 21), (40, 41)])
SOFT = Links(must=[(0, 1)], cannot=[(0, 20), (20, 40)], cannot_confidence=[0.9, 0.5])
MANY = Links.sample(TRUTH, 20, random_state=0)
SMALL_GROUPS = {"n_init": 2, "max_iter": 2, "n_folds": 3, "random_state": 0}


def gaussian_gram(A, B):
    return np.exp(-0.125 * ((A[:, None] - B[None]) ** 2).sum(axis=2))


def distances(A, B):
    return np.sqrt(((A[:, None] - B[None]) ** 2).sum(axis=2))


def fitted_scml(data=X, **parameters):
    return SCML(random_state=0, **parameters).fit(data, TRUTH)


def consensus_of_many_rows():
    """With what is told of very many rows."""
    model = ConsensusClustering().fit(X)
    model.fidelity_ = 0.75
    return model


# Name of each case to a function that gives a fitted model, training rows and new rows.
CASES = {
    "mean_shift": lambda: (MeanShift().fit(X), X, NEW),
    "kmeans": lambda: (KMeans(3, n_init=2, random_state=0).fit(X), X, NEW),
    "kmeans_cosine": lambda: (
        RefinedClustering(KMeans(3, init="greedy", metric="cosine"), n_clusters=3).fit(
            FRAME, links=LINKS
        ),
        FRAME,
        FRAME_NEW,
    ),
    "pckmeans": lambda: (PCKMeans(3, n_init=2, random_state=0).fit(X, links=LINKS), X, NEW),
    "cop_kmeans": lambda: (COPKMeans(3, n_init=2, random_state=0).fit(X, links=LINKS), X, NEW),
    "seeded_kmeans": lambda: (
        SeededKMeans(3, constrained=True, random_state=0).fit(X, partial_labels=KNOWN),
        X,
        NEW,
    ),
    "cdbscan": lambda: (CDBSCAN(0.8, min_samples=3).fit(X, links=LINKS), X, NEW),
    "constrained_spectral": lambda: (
        ConstrainedSpectral(3, random_state=0).fit(X.astype(np.float32), links=LINKS),
        X.astype(np.float32),
        NEW.astype(np.float32),
    ),
    "kmeans, refined": lambda: (
        RefinedClustering(PCKMeans(3, n_init=2, random_state=0), n_clusters=3).fit(X, links=LINKS),
        X,
        NEW,
    ),
    "mean_shift_frame": lambda: (
        MeanShift(kernel="gaussian", n_neighbors=15).fit(FRAME),
        FRAME,
        FRAME_NEW,
    ),
    "mean_shift_profile": lambda: (
        MeanShift(kernel=Profile("truncated_gaussian", 2.0), bandwidth=[0.8] * 60).fit(X),
        X,
        NEW,
    ),
    "mean_shift_bins": lambda: (
        MeanShift(bin_size=0.5, keep_paths=True, assignment="basin").fit(X),
        X,
        NEW,
    ),
    "mean_shift_landmarks": lambda: (
        MeanShift(kernel="gaussian", bandwidth=0.8, landmarks=20).fit(X),
        X,
        NEW,
    ),
    "mean_shift_landmarks_told": lambda: (
        MeanShift(bandwidth=0.8, landmarks=20, n_clusters=3).fit(X.astype(np.float32)),
        X.astype(np.float32),
        NEW.astype(np.float32),
    ),
    "mean_shift_blurring": lambda: (MeanShift(blurring=True).fit(X), X, NEW),
    "mean_shift_orphans": lambda: (
        MeanShift(bandwidth=0.8, seeds=X[::7], cluster_all=False).fit(X),
        X,
        NEW,
    ),
    "mean_shift_float32": lambda: (
        MeanShift().fit(X.astype(np.float32)),
        X.astype(np.float32),
        NEW.astype(np.float32),
    ),
    "mean_shift_fewer": lambda: (
        MeanShift(kernel="gaussian", bandwidth=0.3, n_clusters=3, n_jobs=1).fit(X),
        X,
        NEW,
    ),
    "mean_shift_more": lambda: (MeanShift(bandwidth=3.0, n_clusters=7).fit(X), X, NEW),
    "constrained_landmarks": lambda: (
        ConstrainedMeanShift(landmarks=25, keep_history=True, max_iter=20).fit(X, links=MANY),
        X,
        NEW,
    ),
    "constrained_landmarks_float32": lambda: (
        ConstrainedMeanShift(landmarks=10, n_clusters=3).fit(X.astype(np.float32), links=LINKS),
        X.astype(np.float32),
        NEW.astype(np.float32),
    ),
    "constrained_told": lambda: (
        ConstrainedMeanShift(n_clusters=3, keep_history=True, max_iter=20).fit(X, links=LINKS),
        X,
        NEW,
    ),
    "refined_told": lambda: (RefinedClustering(max_clusters=2).fit(X, links=MUST), X, NEW),
    "mean_shift_wide": lambda: (MeanShift(kernel="gaussian").fit(WIDE), WIDE, WIDE_NEW),
    "path": lambda: (
        PathMeanShift(kernel="gaussian").fit(X, links=LINKS),
        X,
        NEW,
    ),
    "refined": lambda: (RefinedClustering().fit(X, links=LINKS), X, NEW),
    "refined_kernel": lambda: (
        RefinedClustering(KernelMeanShift(n_neighbors=10, random_state=0)).fit(X, links=SOFT),
        X,
        NEW,
    ),
    "mean_shift_weights": lambda: (
        MeanShift(kernel="gaussian", bandwidth=0.7).fit(X, sample_weight=np.arange(60) / 7),
        X,
        NEW,
    ),
    "refined_weights": lambda: (
        RefinedClustering().fit(X, links=LINKS, sample_weight=np.arange(60) / 20),
        X,
        NEW,
    ),
    "constrained_weights": lambda: (
        ConstrainedMeanShift().fit(X, links=LINKS, sample_weight=np.arange(60) / 20),
        X,
        NEW,
    ),
    "constrained": lambda: (ConstrainedMeanShift().fit(X, links=LINKS), X, NEW),
    "constrained_groups": lambda: (
        ConstrainedMeanShift().with_links(LINKS + Links.apart_within(np.arange(60) % 20)).fit(X),
        X,
        NEW,
    ),
    "constrained_by_id": lambda: (
        ConstrainedMeanShift().with_links(BY_ID).fit(FRAME.set_axis(NAMES)),
        FRAME,
        FRAME_NEW,
    ),
    "constrained_frame": lambda: (
        ConstrainedMeanShift(kernel="gaussian", schedule="geometric").fit(FRAME, links=LINKS),
        FRAME,
        FRAME_NEW,
    ),
    "constrained_history": lambda: (
        ConstrainedMeanShift(keep_history=True, max_iter=20).fit(X, partial_labels=KNOWN),
        X,
        NEW,
    ),
    "constrained_soft": lambda: (
        ConstrainedMeanShift(enforce=False, scale_features=False).fit(X, links=SOFT),
        X,
        NEW,
    ),
    "constrained_cosine": lambda: (
        ConstrainedMeanShift(metric="cosine").fit(X, links=LINKS),
        X,
        NEW,
    ),
    "graph": lambda: (
        GraphMeanShift(n_neighbors=10).fit(np.vstack([X, X[:5]])),
        np.vstack([X, X[:5]]),
        NEW,
    ),
    "graph_smooth": lambda: (
        GraphMeanShift(coordinates="smooth", bandwidth=1.0).fit(FRAME),
        FRAME,
        FRAME_NEW,
    ),
    "refined_graph": lambda: (
        RefinedClustering(GraphMeanShift(n_neighbors=10, metric="cosine")).fit(WIDE, links=LINKS),
        WIDE,
        WIDE_NEW,
    ),
    "kernel": lambda: (KernelMeanShift(n_neighbors=10).fit(X, links=MUST), X, NEW),
    "kernel_frame": lambda: (
        KernelMeanShift(sigma=1.5, n_neighbors=10).fit(FRAME, links=MUST),
        FRAME,
        FRAME_NEW,
    ),
    "kernel_learned": lambda: (
        KernelMeanShift(
            use_links="learn",
            n_neighbors=5,
            learn_params={"gamma": 5.0, "quantiles": (0.05, 0.95)},
            n_landmarks=20,
            max_points=30,
            random_state=0,
        ).fit(X, links=LINKS),
        X,
        NEW,
    ),
    "kernel_refined": lambda: (
        KernelMeanShift(
            "polynomial", degree=2, use_links="learn", refine="links", n_neighbors=5
        ).fit(X, links=LINKS),
        X,
        NEW,
    ),
    "kernel_linear": lambda: (
        KernelMeanShift("linear", n_neighbors=10).fit(WIDE, links=MUST),
        WIDE,
        WIDE_NEW,
    ),
    "kernel_precomputed": lambda: (
        KernelMeanShift("precomputed", n_neighbors=10).fit(gaussian_gram(X, X), links=MUST),
        gaussian_gram(X, X),
        gaussian_gram(NEW, X),
    ),
    "metric_global": lambda: (MetricMeanShift(random_state=0).fit(X, partial_labels=KNOWN), X, NEW),
    "metric_local_frame": lambda: (
        MetricMeanShift("local", random_state=0, profile="gaussian", n_neighbors=8).fit(
            FRAME, partial_labels=KNOWN
        ),
        FRAME,
        FRAME_NEW,
    ),
    "metric_local_span": lambda: (
        MetricMeanShift("local", random_state=0).fit(WIDE[:, :8], partial_labels=KNOWN),
        WIDE[:, :8],
        WIDE_NEW[:, :8],
    ),
    "metric_local_many": lambda: (
        MetricMeanShift(SCML("local", n_bases=30), random_state=0).fit(
            WIDE[:, :20], partial_labels=KNOWN
        ),
        WIDE[:, :20],
        WIDE_NEW[:, :20],
    ),
    "metric_kernel": lambda: (
        MetricMeanShift(kernel="gaussian", random_state=0).fit(X, partial_labels=KNOWN),
        X,
        NEW,
    ),
    "metric_links": lambda: (
        MetricMeanShift(SCML(n_bases=8), random_state=0).fit(
            X, links=Links.from_labels(KNOWN), partial_labels=KNOWN
        ),
        X,
        NEW,
    ),
    "metric_matrix": lambda: (MetricMeanShift(np.diag([1.0, 0.25])).fit(X), X, NEW),
    "metric_frozen": lambda: (MetricMeanShift(FrozenEstimator(fitted_scml())).fit(X), X, NEW),
    "scml": lambda: (fitted_scml(), X, NEW),
    "scml_local_frame": lambda: (
        SCML("local", random_state=0).fit(FRAME, np.array(["a", "b", "c"])[TRUTH]),
        FRAME,
        FRAME_NEW,
    ),
    "scml_objects": lambda: (
        SCML(random_state=0).fit(X, np.array(["a", "b", "c"], dtype=object)[TRUTH]),
        X,
        NEW,
    ),
    "scml_links": lambda: (SCML(random_state=0).fit(X, links=Links.from_labels(KNOWN)), X, NEW),
    "groups": lambda: (GroupFeatureClustering(3, **SMALL_GROUPS).fit(X, links=LINKS), X, NEW),
    "groups_views_frame": lambda: (
        GroupFeatureClustering(
            3,
            views={"a": ["length"], "b": slice(1, 2)},
            gamma={"a": 0.5},
            size_bounds=(10, 30),
            **SMALL_GROUPS,
        ).fit(FRAME, partial_labels=KNOWN),
        FRAME,
        FRAME_NEW,
    ),
    "refined_path": lambda: (
        RefinedClustering(PathMeanShift()).fit(FRAME, links=LINKS),
        FRAME,
        FRAME_NEW,
    ),
    "constrained_halves": lambda: (
        ConstrainedMeanShift(keep_history=True, max_iter=8).fit(X, links=MANY),
        X,
        NEW,
    ),
    "kernel_chi2": lambda: (
        KernelMeanShift("chi2", n_neighbors=10, n_landmarks=15, random_state=0).fit(
            np.abs(X), links=MUST
        ),
        np.abs(X),
        np.abs(NEW),
    ),
    "kernel_precomputed_landmarks": lambda: (
        KernelMeanShift("precomputed", n_neighbors=10, n_landmarks=15, random_state=0).fit(
            gaussian_gram(X, X), links=MUST
        ),
        gaussian_gram(X, X),
        gaussian_gram(NEW, X),
    ),
    "consensus": lambda: (ConsensusClustering().fit(X, links=LINKS), X, NEW),
    "consensus_frame": lambda: (
        ConsensusClustering(n_clusters=4, random_state=1).fit(FRAME, partial_labels=KNOWN),
        FRAME,
        FRAME_NEW,
    ),
    "consensus_of_many_rows": lambda: (consensus_of_many_rows(), X, NEW),
    "consensus_some_rows": lambda: (
        ConsensusClustering(max_rows=30, max_clusters=3, enforce=False).fit(X, links=SOFT),
        X,
        NEW,
    ),
    "consensus_cosine": lambda: (
        ConsensusClustering(metric="cosine", n_neighbors=6).fit(WIDE.astype(np.float32)),
        WIDE.astype(np.float32),
        WIDE_NEW.astype(np.float32),
    ),
    "metric_zero": lambda: (MetricMeanShift(np.zeros((2, 2))).fit(X), X, NEW),
    "groups_kernel": lambda: (
        GroupFeatureClustering(3, metric="kernel", **SMALL_GROUPS).fit(gaussian_gram(X, X)),
        gaussian_gram(X, X),
        gaussian_gram(NEW, X),
    ),
    "groups_tables": lambda: (
        GroupFeatureClustering(3, metric=["cosine", "precomputed"], **SMALL_GROUPS).fit(
            [WIDE, distances(X, X)]
        ),
        [WIDE, distances(X, X)],
        [WIDE_NEW, distances(NEW, X)],
    ),
}


@functools.cache
def case(name):
    return CASES[name]()


def answers(model, rows):
    """Labels, or the distances under a metric."""
    return model.distances(rows, rows) if isinstance(model, SCML) else model.predict(rows)


def assert_same(one, other, where="model"):
    """Compare whatever a model may hold, bit for bit, to the bottom."""
    assert type(one) is type(other), where
    if isinstance(one, np.ndarray | np.generic):
        assert one.dtype == other.dtype, where
        assert one.shape == other.shape, where
        np.testing.assert_array_equal(one, other, err_msg=where)
    elif isinstance(one, float):
        assert one.hex() == other.hex(), where
    elif isinstance(one, dict):
        assert list(one) == list(other), where
        for key in one:
            assert_same(one[key], other[key], f"{where}[{key!r}]")
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            assert_same(a, b, f"{where}[{i}]")
    elif isinstance(one, KernelBank):
        assert one.names == other.names, where
        assert_same(one.gammas, other.gammas, f"{where}.gammas")
        assert_same(one.groups, other.groups, f"{where}.groups")
        samples = np.arange(one.n_samples)  # however much of them is stored
        assert_same(one.columns(samples), other.columns(samples), f"{where}.columns")
    elif is_dataclass(one):
        for field in fields(one):  # what else there is was computed from them
            name = field.name
            assert_same(getattr(one, name), getattr(other, name), f"{where}.{name}")
    elif isinstance(one, BaseEstimator):
        assert_same(*(dict(sorted(vars(model).items())) for model in (one, other)), where)
    else:
        assert one == other, where


def small_model():
    """A model of three rows, not shared with anybody."""
    return copy(_small_fit())


@functools.cache
def _small_fit():
    return MeanShift(bandwidth=1.0).fit([[0.0], [0.1], [5.0]])


def unpacked(path):
    """Header and arrays of a model file."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    return json.loads(arrays.pop("header").tobytes()), arrays


def packed(path, header, arrays, *, sealed=True):
    """Write a model file; sealed, with the list and the digest that such a file would have."""
    if sealed:
        header = header | {
            "arrays": {
                name: fingerprint(array) if array.dtype.kind in "biufcU" else ["", [], ""]
                for name, array in arrays.items()
            }
        }
        header["digest"] = _digest(header)
    text = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with path.open("wb") as stream:
        np.savez(stream, header=text, **arrays)
