"""Tables of named columns as text and files; clusters counted."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkshift.cli.writing.targets import replacing

Columns = Mapping[str, NDArray[Any]]


def write_labels(
    path: Path, labels: NDArray[Any], ids: Sequence[Any] | None, id_column: str | None = None
) -> None:
    """Write labels in the format of the suffix: a table with rows or ids, or .npy without."""
    suffix = path.suffix.lower()
    if suffix != ".npy":
        # The name of an array is that of a file and of an argument: not every column's will do.
        write_table(path, _label_columns(labels, ids, None if suffix == ".npz" else id_column))
        return
    with replacing(path) as temporary:
        np.save(temporary, labels)


def labels_text(
    labels: NDArray[Any], ids: Sequence[Any] | None, id_column: str | None = None
) -> str:
    """Give labels as CSV."""
    return table_text(_label_columns(labels, ids, id_column))


def _label_columns(
    labels: NDArray[Any], ids: Sequence[Any] | None, id_column: str | None
) -> Columns:
    """Name ids by the column they are from, unless that means something else here."""
    if ids is None:
        return {"row": np.arange(len(labels)), "label": labels}
    names = np.array(ids)
    # An array of mixed things would be pickled, and not load without permission.
    names = names.astype(str) if names.dtype == object else names
    if id_column is None or id_column in ("row", "label"):
        id_column = "id"
    return {id_column: names, "label": labels}


def write_table(path: Path, columns: Columns) -> None:
    """Write columns in the format of the suffix."""
    suffix = path.suffix.lower()
    with replacing(path) as temporary:
        if suffix in (".csv", ".tsv"):
            text = table_text(columns, "," if suffix == ".csv" else "\t")
            temporary.write_text(text, encoding="utf-8", newline="")
        elif suffix == ".parquet":
            import pandas as pd

            pd.DataFrame(dict(columns)).to_parquet(temporary, index=False)
        else:
            arrays: dict[str, Any] = dict(columns)
            np.savez(temporary, **arrays)


def table_text(columns: Columns, separator: str = ",") -> str:
    """Give columns as CSV, with numbers that read back as they were."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(columns)
    # As a Python float, 0.1 in single precision is 0.10000000149011612.
    exact = (c.astype(str) if c.dtype == np.float32 else c for c in columns.values())
    writer.writerows(zip(*(column.tolist() for column in exact), strict=True))
    return text.getvalue()


def cluster_sizes(labels: NDArray[Any]) -> tuple[list[int], int]:
    """Count the rows of each cluster, and those of none."""
    clustered = labels[labels >= 0]
    sizes = np.unique(clustered, return_counts=True)[1].tolist()
    return sizes, len(labels) - len(clustered)
