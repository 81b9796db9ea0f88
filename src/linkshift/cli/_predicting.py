"""What `linkshift predict` does: load, read, predict, write, tell."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from linkshift.cli import _read, _tables, _write
from linkshift.cli._console import Console, InputError, shown_sizes
from linkshift.cli._models import plain_ids, read_model, set_threads


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    model: Path
    data: Path
    id_column: str | None
    header: bool | None
    threads: int | None
    output: Path | None
    json: bool
    quiet: bool


def run(request: Request) -> None:
    """Predict as requested."""
    console = Console(request.quiet)
    _write.check_targets(
        {"--output": (request.output, _tables.LABEL_SUFFIXES)}, [request.model, request.data]
    )
    saved = read_model(request.model)
    console.say(f"{request.model}: {saved.about['method']}, made from {saved.about['data']}.")
    id_column = request.id_column
    if id_column is None:
        id_column = saved.about["id_column"]
    elif id_column in saved.about["columns"]:
        raise InputError(
            f"--id-column: {request.model} takes {id_column!r} as numbers to go by, not as names "
            "of rows. Choose another column, or leave --id-column out."
        )
    table = _read.read_table(request.data, header=request.header, id_column=id_column)
    if request.id_column is None and id_column not in table.names:
        id_column = None
    ids = None if id_column is None else _read.sample_ids(table, id_column)
    data = saved.features(table, id_column, console)
    set_threads(saved.model, request.threads)
    with console.warnings():
        try:
            labels = saved.model.predict(data)
        except ValueError as error:
            raise InputError(str(error)) from error
    if request.output is not None:
        _tables.write_labels(request.output, labels, ids)
    sizes = np.unique(labels[labels >= 0], return_counts=True)[1].tolist()
    noise = int((labels < 0).sum())
    told = shown_sizes(sizes, "cluster") + (f"; noise {noise:,}" if noise else "")
    console.say(told + (f". Written: {request.output}." if request.output else "."))
    if request.json:
        report = {
            "model": str(request.model),
            "method": saved.about["method"],
            "n_samples": len(labels),
            "versions": _write.versions(),
            "labels": labels.tolist(),
        }
        _write.print_json(report if ids is None else {**report, "ids": plain_ids(ids)})
    elif request.output is None:
        _write.print_text(_tables.labels_text(labels, ids))
