"""scikit-learn's own checks of an estimator, on one table as one view and as several."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from linkshift.estimators.group_feature_clustering import GroupFeatureClustering

QUICK = {"n_init": 4, "max_iter": 3, "n_jobs": 1, "random_state": 0}


def reasons(estimator):
    """Checks that an estimator does not pass, and why."""
    return {}


@parametrize_with_checks(
    [
        GroupFeatureClustering(2, **QUICK),
        GroupFeatureClustering(2, views={"first": [0], "all": slice(None)}, **QUICK),
        GroupFeatureClustering(2, metric="cosine", consensus=False, size_bounds=None, **QUICK),
    ],
    expected_failed_checks=reasons,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
