"""scikit-learn's own checks of an estimator, on every kind of MetricMeanShift.

The checks give no labels, and without any a metric cannot be learned: ``Taught`` takes them from
the first column. Some checks have fewer rows than neighbours: the warning about that is expected
here, and tested elsewhere.
"""

import numpy as np
import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from linkshift import Links, MetricMeanShift
from linkshift.metric_learning import SCML

QUICK = {"n_bases": 20, "max_iter": 5}


class Taught(MetricMeanShift):
    """Learns which half of the rows has the larger first column."""

    def fit(self, X, y=None):
        return super().fit(X, y, partial_labels=halves(X))


class Linked(MetricMeanShift):
    """The same, said with links."""

    def fit(self, X, y=None):
        labels = halves(X)
        if labels is None:
            return super().fit(X, y)
        return super().fit(X, y, links=Links.from_labels(labels))


def halves(X):
    """None for what is no data: the estimator shall say so itself."""
    if np.iscomplexobj(X):
        return None
    try:
        column = np.asarray(X, dtype=np.float64)[:, 0]
    except (TypeError, ValueError, IndexError):
        return None
    labels = np.zeros(column.size, dtype=int)
    labels[np.argsort(column, kind="stable")[column.size // 2 :]] = 1
    return labels


TYPICAL = [
    Taught(SCML(**QUICK), n_neighbors=12, random_state=0),
    Taught(SCML("local", embedding_dimension=5, **QUICK), n_neighbors=12, random_state=0),
    Taught(SCML(**QUICK), kernel="gaussian", n_neighbors=12, random_state=0),
    Linked(SCML(**QUICK), n_neighbors=12, random_state=0),
]
OTHERS = [
    Taught(random_state=0),
    Taught("local", n_neighbors=12, random_state=0),
    Taught("local", kernel="gaussian", n_neighbors=12, random_state=0),
]


def reasons(estimator):
    """Checks that an estimator does not pass, and why."""
    return {}


@pytest.mark.filterwarnings("ignore:.* neighbours? asked for")
@parametrize_with_checks(TYPICAL, expected_failed_checks=reasons)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* neighbours? asked for")
@parametrize_with_checks(OTHERS, expected_failed_checks=reasons)
def test_scikit_learns_checks_of_rarer_kinds(estimator, check):
    check(estimator)
