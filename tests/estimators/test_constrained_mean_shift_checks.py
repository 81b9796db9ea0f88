"""scikit-learn's own checks of an estimator, on every kind of ConstrainedMeanShift.

scikit-learn passes no links: the warning about that is expected here, and tested elsewhere.
scikit-learn itself skips check_array_api_input unless SCIPY_ARRAY_API is set.
"""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from linkshift import ConstrainedMeanShift

TYPICAL = [
    ConstrainedMeanShift(),
    ConstrainedMeanShift(bandwidth=0.2),
]
OTHERS = [
    ConstrainedMeanShift(bandwidth=0.15, kernel="flat", refine=None, enforce=False),
    ConstrainedMeanShift(kernel="gaussian", blurring=True, keep_history=True),
    ConstrainedMeanShift(schedule="geometric", scale_features=False, min_cluster_size=3),
]


def reasons(estimator):
    """Checks that an estimator does not pass, and why."""
    if estimator.bandwidth is None:
        return {
            "check_clustering": "asks for three clusters without links; by design the growing "
            "bandwidth then merges everything, with a warning"
        }
    return {}


@pytest.mark.filterwarnings("ignore:Without cannot-links")
@parametrize_with_checks(TYPICAL, expected_failed_checks=reasons)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Without cannot-links")
@parametrize_with_checks(OTHERS, expected_failed_checks=reasons)
def test_scikit_learns_checks_of_rarer_kinds(estimator, check):
    check(estimator)
