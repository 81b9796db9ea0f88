"""scikit-learn's own checks of an estimator, on every kind of MeanShift.

scikit-learn itself skips check_array_api_input unless SCIPY_ARRAY_API is set.
"""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from linkshift import MeanShift

TYPICAL = [
    MeanShift(),
    MeanShift(kernel="epanechnikov"),
    MeanShift(kernel="gaussian"),
    MeanShift(kernel="truncated_gaussian", n_neighbors=7),
    MeanShift(kernel="gaussian", blurring=True),
    MeanShift(kernel="gaussian", path_merge=0.1),
]
OTHERS = [
    MeanShift(bin_seeding=True),
    MeanShift(kernel="gaussian", bin_size=0.3),
    MeanShift(assignment="basin", cluster_all=False),
]


def reasons(estimator):
    """Checks that an estimator does not pass, and why."""
    check = "check_sample_weight_equivalence_on_dense_data"
    if estimator.bin_seeding:
        return {
            check: "in ten dimensions the centre of a cell lies up to sqrt(10) / 2 bandwidths from "
            "its rows: no row reaches any seed, which is an error, as in scikit-learn"
        }
    return {}


@parametrize_with_checks(TYPICAL, expected_failed_checks=reasons)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:bin_size")
@parametrize_with_checks(OTHERS, expected_failed_checks=reasons)
def test_scikit_learns_checks_of_rarer_kinds(estimator, check):
    check(estimator)
