"""Many rows: summaries of chunks that are merged, fitted once, and asked about any row.

Four functions of arrays, for any engine that runs functions on several machines: every chunk is
summarised where it is, summaries are merged, one machine fits, and all of them predict. `cluster`
does all four for a table that is larger than memory.
"""

from linkshift.scale.clustering import cluster
from linkshift.scale.linked import LinkedModel
from linkshift.scale.model import Model, fit, predict
from linkshift.scale.running import TableClusters
from linkshift.summaries import Summary, merge, summarise

__all__ = [
    "LinkedModel",
    "Model",
    "Summary",
    "TableClusters",
    "cluster",
    "fit",
    "merge",
    "predict",
    "summarise",
]
