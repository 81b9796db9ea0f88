"""`linkshift predict`: load a saved model, read new rows, predict, write, tell."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from linkshift.cli import options as opt
from linkshift.cli.talking import Console, InputError, passed_on, shown_sizes
from linkshift.cli.writing import targets

_HELP = {
    "data": f"Table with the model's columns: {opt.DATA}.",
    "id_column": "Column that names the rows. Default: as for the model, if there.",
}


def predict(
    model: opt.Model,
    data: Annotated[Path, opt.argument("DATA", _HELP["data"])],
    id_column: Annotated[str | None, opt.value("NAME", _HELP["id_column"])] = None,
    header: opt.Header = None,
    threads: opt.Threads = None,
    output: opt.LabelsOutput = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Give the clusters of new rows by a model that was saved.

    Labels go to stdout or to OUT. Rows that the model was made from get the labels that they had; a
    warning tells of rows far outside them.
    """
    targets.check_targets([model, data], targets.LABEL_SUFFIXES, output=output)
    from linkshift.cli.reading.columns import sample_ids
    from linkshift.cli.reading.models import read_model, set_threads
    from linkshift.cli.reading.tables import read_table
    from linkshift.cli.writing.tables import cluster_sizes, labels_text, write_labels
    from linkshift.methods.reach import reach_of, warn_of_far
    from linkshift.methods.saved import plain_ids

    console = Console(quiet)
    saved = read_model(model)
    method = saved.about["method"]
    console.say(f"{model}: {method}, made from {saved.about['data']}.")
    if id_column in saved.sources:
        raise InputError(
            f"--id-column: {model} takes {id_column!r} as values to go by, not as names of rows. "
            "Choose another column, or leave --id-column out."
        )
    asked = id_column is not None
    id_column = id_column if asked else saved.about["id_column"]
    table = read_table(data, console, header=header, id_column=id_column)
    if not asked and id_column not in table.names:
        id_column = None
    ids = None if id_column is None else sample_ids(table, id_column)
    rows = saved.features(table, id_column, console)
    set_threads(saved.model, threads)
    with console.warnings(), passed_on():
        labels = saved.numbered(saved.model.predict(rows))
        warn_of_far(saved.model, rows, reach_of(saved.model))
    if output is not None:
        write_labels(output, labels, ids, id_column)
    sizes, noise = cluster_sizes(labels)
    written = f" Written: {output}." if output else ""
    console.say(f"{shown_sizes(sizes, 'cluster', noise)}.{written}")
    if json:
        report: dict[str, Any] = {"model": str(model), "method": method, "n_samples": len(labels)}
        report |= {"versions": targets.versions(), "labels": labels.tolist()}
        targets.print_json(report if ids is None else {**report, "ids": plain_ids(ids)})
    elif output is None:
        targets.print_text(labels_text(labels, ids, id_column))
