"""Methods by name: the table of them, the rule of "auto", and one call for all."""

from linkshift.methods.clustering import Choice, choose, cluster
from linkshift.methods.result import Clustering
from linkshift.methods.saved import load
from linkshift.methods.table import METHODS, Method, MethodName, check_params

__all__ = [
    "METHODS",
    "Choice",
    "Clustering",
    "Method",
    "MethodName",
    "check_params",
    "choose",
    "cluster",
    "load",
]
