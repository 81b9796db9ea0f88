"""Many rows: summaries of chunks that are merged, fitted once, and asked about any row.

Four functions of arrays, for any engine that runs functions on several machines: every chunk is
summarised where it is, summaries are merged, one machine fits, and all of them predict.
"""

from linkshift.scale.model import Model, fit, predict
from linkshift.summaries import Summary, merge, summarise

__all__ = ["Model", "Summary", "fit", "merge", "predict", "summarise"]
