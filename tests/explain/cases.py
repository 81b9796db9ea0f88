"""What explanations are tried on: rows in three classes, and links between them."""

import copy
import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.datasets import make_blobs
from tests.reference import explanation as twin

from linkshift import Links
from linkshift.explain import Explains

# scikit-learn's blobs in three classes, which overlap a little.
X, y = make_blobs(60, centers=3, cluster_std=1.3, random_state=3)
LINKS = Links.sample(y, 16, random_state=0)
MUST = Links(must=Links.sample(y, 30, random_state=0).must)


def quiet_fit(model, X, links):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, links=links)


def same_case(case, row, now, then):
    """Whether a counterfactual is what two sets of labels say."""
    outcome, clusters = twin.where_it_goes(row, now.tolist(), then.tolist())
    return case.outcome == outcome and set(case.clusters) == clusters


def check_counterfactuals(model, data, row, **options):
    """Compare each with a model that was fitted without the link; give the explanation."""
    explanation = model.explain(row, **options)
    assert explanation.counterfactuals
    for case in explanation.counterfactuals:
        fewer = model.links_.remove(**{case.kind: [case.pair]})
        other = quiet_fit(copy.deepcopy(model), data, fewer)
        assert same_case(case, row, model.labels_, other.labels_), case
        assert case.size == (other.labels_ == other.labels_[row]).sum()
        assert case.n_clusters == other.n_clusters_
    return explanation


class Halves(Explains, ClusterMixin, BaseEstimator):
    """Labels 0 and 1 in the order given; each must-link swaps the labels of row 0."""

    def __init__(self, order=None):
        self.order = order

    def fit(self, X, y=None, *, links=None):
        self.links_ = Links.coerce(links)
        self.labels_ = (np.asarray(self.order) >= len(X) // 2).astype(int)
        self.labels_[0] = (len(self.links_.must) + 1) % 2
        self._fit_X = X
        return self
