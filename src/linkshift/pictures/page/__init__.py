"""A clustering as one page of HTML that needs no network: picture, clusters, links, how to redo it.

Public as ``linkshift.report``. Needs no matplotlib: the page draws its own pictures.
"""

from linkshift.pictures.page.page import Report, render

__all__ = ["Report", "render"]
