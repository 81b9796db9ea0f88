"""`linkshift predict`: clusters of new rows, by a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkshift.cli import _options as opt
from linkshift.cli._console import exit_codes

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model from linkshift cluster --save: .npz.")
]


def predict(
    model: Model,
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="Table with the model's columns: .csv, .tsv, .parquet, .npz, .npy."
        ),
    ],
    id_column: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Column that names the rows. Default: as for the model, if there."
        ),
    ] = None,
    header: opt.Header = None,
    threads: opt.Threads = None,
    output: opt.LabelsOutput = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Give the clusters of new rows by a model that was saved.

    Labels go to stdout or to OUT. Rows that the model was made from get the labels that they had.
    """
    with exit_codes():
        from linkshift.cli._predicting import Request, run

        run(Request(model, data, id_column, header, threads, output, json, quiet))
