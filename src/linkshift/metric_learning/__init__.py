"""Metrics learned from labels or links."""

from linkshift.metric_learning.scml import SCML

__all__ = ["SCML"]
