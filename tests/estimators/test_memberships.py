"""What every estimator says of how rows stand in their clusters."""

import gc
import weakref

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from linkshift import ConsensusClustering, GroupFeatureClustering, MeanShift, model_files
from linkshift.memberships import membership


@pytest.fixture
def X():
    places = np.repeat([[0.0, 0.0], [9.0, 0.0]], 15, axis=0)
    return places + np.random.default_rng(0).normal(size=places.shape)


@pytest.mark.parametrize(
    "model", [MeanShift(), ConsensusClustering(), GroupFeatureClustering(2, max_iter=1)]
)
def test_estimators_have_them(model, X, tmp_path):
    assert not hasattr(model, "probabilities_")
    with pytest.raises(NotFittedError):
        _ = model.exemplars_
    model.fit(X)
    found = membership(X, model.labels_)
    np.testing.assert_array_equal(model.probabilities_, found.probabilities)
    np.testing.assert_array_equal(model.outlier_scores_, found.outlier_scores)
    np.testing.assert_array_equal(model.exemplars_, found.exemplars)
    assert model._membership() is model._membership()
    model_files.save(model, tmp_path / "m.npz")
    again = model_files.load(tmp_path / "m.npz")
    np.testing.assert_array_equal(again.probabilities_, model.probabilities_)


def test_another_fit_has_others(X):
    model = MeanShift(bandwidth=3.0).fit(X)
    first = model.probabilities_
    model.set_params(bandwidth=30.0).fit(X)
    assert (model.probabilities_ == 1).all()
    assert len(model.exemplars_) == 1
    assert first.shape == (30,)


def test_nothing_is_kept_alive(X):
    model = MeanShift().fit(X)
    _ = model.probabilities_
    there = weakref.ref(model)
    del model
    gc.collect()
    assert there() is None
