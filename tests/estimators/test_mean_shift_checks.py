"""scikit-learn's own checks of an estimator, on every kind of MeanShift."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from linkshift import MeanShift

VARIANTS = [
    MeanShift(),
    MeanShift(kernel="epanechnikov"),
    MeanShift(kernel="gaussian"),
    MeanShift(kernel="truncated_gaussian", n_neighbors=7),
    MeanShift(kernel="gaussian", blurring=True),
    MeanShift(kernel="gaussian", path_merge=0.1),
    MeanShift(bin_seeding=True),
    MeanShift(kernel="gaussian", bin_size=0.3),
    MeanShift(assignment="basin", cluster_all=False),
]


def reasons(estimator):
    return {}


@pytest.mark.filterwarnings("ignore:bin_size")
@parametrize_with_checks(VARIANTS, expected_failed_checks=reasons)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
