"""scikit-learn's own checks of an estimator, on both kinds of SCML."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from linkshift.metric_learning import SCML


def reasons(estimator):
    """Checks that an estimator does not pass, and why."""
    return {}


@parametrize_with_checks(
    [
        SCML(n_bases=20, max_iter=5),
        SCML("local", n_bases=20, max_iter=5, embedding_dimension=5),
    ],
    expected_failed_checks=reasons,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)
