"""scikit-learn's own checks of an estimator, on every kind of KernelMeanShift.

Some checks have fewer rows than the default number of neighbours: the warning about that is
expected here, and tested elsewhere.
"""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from linkshift import KernelMeanShift

TYPICAL = [
    KernelMeanShift(),
    KernelMeanShift(n_neighbors=5),
    KernelMeanShift("precomputed", n_neighbors=5),
]
OTHERS = [
    KernelMeanShift("linear", n_neighbors=5),
    KernelMeanShift("polynomial", dimension="rank", n_neighbors=5),
    KernelMeanShift("chi2", n_neighbors=5),
    KernelMeanShift(
        use_links="learn", n_landmarks=15, max_points=30, n_neighbors=5, random_state=0
    ),
]


def reasons(estimator):
    """Checks that an estimator does not pass, and why."""
    if estimator.kernel == "precomputed":
        no_gram = "gives rows of data where a square matrix of kernel values is due"
        return {
            "check_positive_only_tag_during_fit": no_gram,
            "check_estimators_dtypes": no_gram,
            "check_clustering": no_gram,
        }
    if estimator.kernel == "chi2":
        return {"check_clustering": "round clusters of numbers are no histograms"}
    if estimator.n_neighbors == 20:
        return {"check_clustering": "asks for clusters of 17 rows: 20 neighbours reach beyond"}
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
