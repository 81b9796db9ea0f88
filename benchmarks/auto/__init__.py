"""How well `linkshift.cluster` does by default, on sets its constants have seen and on others.

``python -m benchmarks.run auto [--quick | --full] [--repeats N]``, N draws of links. In the
environment, ``LINKSHIFT_AUTO_PARTS`` picks parts (the keys of `PARTS`), ``LINKSHIFT_AUTO_SETS``
sets and ``LINKSHIFT_AUTO_METHODS`` methods, each by names with commas between. The rivals need
``pip install linkshift[rivals]``; those whose packages are absent are left out.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.auto.parts import PARTS
from benchmarks.harness import Options, Row, run_parts

TITLE = (
    "auto and its rivals; columns standardised; mean ARI over sets and, after ±, its standard "
    "error; leiden, umap and kmeans are refined by the links there are; e2cp, kmeans and "
    "spectral are told the number of classes"
)


def run(options: Options) -> Iterator[Row]:
    left_out = []
    for row in run_parts("LINKSHIFT_AUTO_PARTS", PARTS, list(PARTS), options):
        if row.cells["table"] == "left out":  # said once, though several parts would say it
            if row.cells in left_out:
                continue
            left_out.append(row.cells)
        yield row
