"""Data to try things on: sets that are made, and loaders of named public sets.

What is made needs nothing: by its function, or by its name with `make`. The public sets are not
ours and are not shipped: `load` reads them from a folder of ``<name>.npz`` files named by the
environment variable ``LINKSHIFT_DATA``.
"""

from linkshift.datasets.dataset import Dataset
from linkshift.datasets.loading import AnnotatedImage, available, load, load_images, paths
from linkshift.datasets.made import (
    MADE,
    MadeSet,
    make,
    make_circles,
    make_lines,
    make_moons,
    make_shapes,
)
from linkshift.datasets.records import make_records
from linkshift.datasets.registry import REGISTRY, DataSource, TableSource

__all__ = [
    "MADE",
    "REGISTRY",
    "AnnotatedImage",
    "DataSource",
    "Dataset",
    "MadeSet",
    "TableSource",
    "available",
    "load",
    "load_images",
    "make",
    "make_circles",
    "make_lines",
    "make_moons",
    "make_records",
    "make_shapes",
    "paths",
]
