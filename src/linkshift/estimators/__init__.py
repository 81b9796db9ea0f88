"""Scikit-learn estimators: thin classes over links, bandwidth, shift and modes."""

from linkshift.estimators.mean_shift import MeanShift

__all__ = ["MeanShift"]
