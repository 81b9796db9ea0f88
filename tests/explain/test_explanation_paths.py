"""Paths of rows and the modes at their ends, in every space."""

import numpy as np
import pytest
from tests.explain.cases import LINKS, X, quiet_fit

from linkshift import (
    ConstrainedMeanShift,
    KernelMeanShift,
    Links,
    MeanShift,
    MetricMeanShift,
    PathMeanShift,
)

# Paths and modes ---------------------------------------------------------------------------


@pytest.mark.parametrize("blurring", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_path_of_constrained_mean_shift(dtype, blurring):
    model = ConstrainedMeanShift(blurring=blurring).fit(X.astype(dtype), links=LINKS)
    kept = ConstrainedMeanShift(blurring=blurring, keep_history=True)
    kept.fit(X.astype(dtype), links=LINKS)
    for row in (0, 11):
        explanation = model.explain(row, max_counterfactuals=0)
        assert explanation.space == "input"
        np.testing.assert_array_equal(explanation.path, np.stack(kept.history_)[:, row])
        np.testing.assert_array_equal(explanation.path[-1], model.shifted_[row])
        np.testing.assert_array_equal(explanation.mode, model.shifted_[row])
        assert explanation.path.dtype == dtype
        nearest = nearest_in(model._state.points, model._state.scaled(explanation.path))
        collapsed = [r for i, r in enumerate(nearest) if not i or r != nearest[i - 1]]
        assert list(explanation.path_rows) == collapsed
        assert explanation.mode_row == nearest[-1]


def nearest_in(points, positions):
    """Rows nearest to each position."""
    return [int(((points - at) ** 2).sum(axis=1).argmin()) for at in positions]


@pytest.mark.parametrize(
    "options",
    [
        {"bandwidth": 2.0},
        {"bandwidth": 1.0, "kernel": "gaussian"},
        {"n_neighbors": 12, "kernel": "gaussian"},
        {"bandwidth": 1.0, "kernel": "gaussian", "blurring": True},
    ],
)
def test_the_path_of_mean_shift(options):
    model = MeanShift(keep_paths=True, **options).fit(X)
    for row in (0, 11, 59):
        explanation = model.explain(row)
        path = model.paths_[row]
        assert len(explanation.path) <= len(path)  # without the rest of the others' time
        np.testing.assert_array_equal(explanation.path[0], X[row])
        np.testing.assert_array_equal(explanation.path, path[: len(explanation.path)])
        np.testing.assert_array_equal(explanation.path[-1], path[-1])
        center = model.cluster_centers_[explanation.label]
        np.testing.assert_array_equal(explanation.mode, center)
        assert explanation.mode_row == nearest_in(X, [center])[0]
        assert explanation.links == explanation.counterfactuals == ()


def test_a_path_along_growing_bandwidths_ends_at_the_mode():
    model = PathMeanShift(kernel="gaussian").fit(X, links=LINKS)
    for row in (0, 11, 59):
        explanation = model.explain(row, max_counterfactuals=0)
        np.testing.assert_array_equal(explanation.path[0], X[row])
        away = np.linalg.norm(explanation.path[-1] - explanation.mode)
        assert away <= 0.5 * model.bandwidth_  # within which ends are one mode


def test_pooled_rows_seeds_and_noise_are_told():
    pooled = MeanShift(bandwidth=2.0, bin_size=0.5, kernel="gaussian").fit(X)
    explanation = pooled.explain(3)
    np.testing.assert_allclose(
        explanation.path[0], pooled._state.cells.points[pooled._state.cells.member[3]]
    )
    assert any("cell" in note for note in explanation.notes)
    seeded = MeanShift(bandwidth=2.0, bin_seeding=True).fit(X)
    assert any("started elsewhere" in note for note in seeded.explain(3).notes)
    sparse = MeanShift(bandwidth=1.0, cluster_all=False, seeds=X[:2]).fit(X)
    noise = int(np.flatnonzero(sparse.labels_ == -1)[0])
    explanation = sparse.explain(noise)
    assert explanation.label == -1
    assert explanation.size == (sparse.labels_ == -1).sum()
    assert str(explanation).startswith(f"Row {noise} is noise, with")
    assert any("radius" in note for note in explanation.notes)


def test_a_path_that_ends_at_another_mode_is_told():
    model = MeanShift(bandwidth=1.0, kernel="gaussian", assignment="nearest").fit(X)
    basin = MeanShift(bandwidth=1.0, kernel="gaussian").fit(X)
    astray = np.flatnonzero(model.labels_ != basin.labels_)
    assert astray.size  # or there is nothing to tell
    row = int(astray[0])
    expected = f"ends at the mode of cluster {basin.labels_[row]}"
    assert any(expected in note for note in model.explain(row).notes)
    kept = int(np.flatnonzero(model.labels_ == basin.labels_)[0])
    assert model.explain(kept).notes == ()


def test_the_path_of_kernel_mean_shift():
    links = Links(must=[(0, 40), (1, 2)])
    model = KernelMeanShift(n_neighbors=10).fit(X, links=links)
    for row in (0, 40, 5):
        explanation = model.explain(row, max_counterfactuals=0)
        assert explanation.space == "kernel"
        np.testing.assert_array_equal(explanation.path[0], model.embedding_[row])
        np.testing.assert_array_equal(explanation.path[-1], model.shifted_[row])
        assert "in the kernel's space" in str(explanation)
    # Must-linked rows are on one spot, and go one way.
    first, second = (model.explain(row, max_counterfactuals=0).path for row in (0, 40))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("metric", ["global", "local"])
@pytest.mark.parametrize("kernel", [None, "gaussian"])
def test_the_path_of_metric_mean_shift(metric, kernel):
    model = MetricMeanShift(metric, kernel=kernel, random_state=0, n_neighbors=15, tol=1e-6)
    quiet_fit(model, X, LINKS)
    for row in (0, 33):
        explanation = model.explain(row, max_counterfactuals=0)
        assert explanation.space == "metric"
        assert explanation.label == model.labels_[row]
        bandwidth = float(np.median(model.bandwidth_))
        away = np.linalg.norm(explanation.path[-1] - explanation.mode)
        assert away <= model.merge_radius * bandwidth * (1 if metric == "global" else 10)
        assert explanation.path_rows[0] == row


def test_rows_that_links_moved_are_told():
    # Two clumps; a must-link takes row 5 from its own to the other.
    data = np.array([[0.0], [0.1], [0.2], [0.3], [0.45], [3.0], [3.1], [3.2], [3.3]])
    links = Links(must=[(4, 5)], cannot=[(0, 8), (1, 7)])
    model = ConstrainedMeanShift(bandwidth=0.3, scale_features=False).fit(data, links=links)
    assert model.labels_.tolist() == [0, 0, 0, 0, 0, 0, 1, 1, 1]
    explanation = model.explain(5)
    assert any("now mostly in cluster 1" in note for note in explanation.notes)
    assert "without must-link (4, 5) it joins cluster 1" in str(explanation)
    assert model.explain(1, max_counterfactuals=0).notes == ()
