"""K-means: several starts, straight lines or directions, and how many clusters to take."""

from linkshift.kmeans.elbow import Elbow, elbow_point, kmeans_elbow
from linkshift.kmeans.fitting import KMeansFit, fit_kmeans, nearest_centres
from linkshift.kmeans.starts import STARTS, StartName

__all__ = [
    "STARTS",
    "Elbow",
    "KMeansFit",
    "StartName",
    "elbow_point",
    "fit_kmeans",
    "kmeans_elbow",
    "nearest_centres",
]
