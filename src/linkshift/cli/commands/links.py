"""`linkshift links`: look after files of links."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkshift.cli import options as opt
from linkshift.cli.talking import Console, InputError

app = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    add_completion=False,
    help="Look after files of must- and cannot-links.",
)

_HELP = {
    "data": "The table they are for: are all its rows there?",
    "id_column": "Column of DATA that names the rows.",
    "header": "Whether the first line of DATA holds names.",
    "n_samples": "The number of rows, in place of DATA.",
    "json": "Print one JSON object with all that was found.",
}


@app.callback()
def _links() -> None:
    """Keep `check` a command of its own: typer would merge a single one with its group."""


@app.command()
def check(
    file: Annotated[
        Path, opt.argument("FILE", "Links: .csv or .tsv (a,b,kind[,confidence]), or .json.")
    ],
    data: Annotated[Path | None, opt.value("DATA", _HELP["data"])] = None,
    id_column: Annotated[str | None, opt.value("NAME", _HELP["id_column"])] = None,
    header: Annotated[
        bool | None, typer.Option("--header/--no-header", help=_HELP["header"])
    ] = None,
    n_samples: Annotated[int | None, opt.value("N", _HELP["n_samples"], min=0)] = None,
    json: Annotated[bool, typer.Option("--json", help=_HELP["json"])] = False,
) -> None:
    """Find contradictions, with the chains that make them and the fewest links to remove.

    Also told: links that others imply, links given twice, groups of must-linked rows,
    confidences, and with DATA the rows that no link names.

    Exit code: 0 without conflicts, 1 with conflicts, 2 when a file cannot be used.
    """
    if data is not None and n_samples is not None:
        raise InputError("--data and --n-samples both say how many rows there are; give one.")
    if data is None:
        opt.refuse("is about the table; give --data too.", id_column=id_column, header=header)
    from linkshift.cli.reading.columns import sample_ids
    from linkshift.cli.reading.links import read_link_file, require_rows
    from linkshift.cli.reading.tables import read_table
    from linkshift.cli.writing.link_report import Diagnosis, as_dict, as_text
    from linkshift.cli.writing.targets import print_text

    console = Console()
    ids, table = None, None
    if data is not None:
        table = read_table(data, console, header=header, id_column=id_column)
        n_samples = table.n_rows
        ids = None if id_column is None else sample_ids(table, id_column)
    with console.warnings():  # answers that differ
        links = read_link_file(file, n_rows=n_samples, ids=ids)
    for remark in links.remarks:
        console.say(remark)
    if n_samples is not None:
        require_rows(links.links, file, table)
    found = Diagnosis(links, ids, n_samples)
    if json:
        from json import dumps

        print_text(dumps(as_dict(found, with_rows=data is not None), default=str) + "\n")
    else:
        print_text(f"{as_text(found)}\n")
    if found.conflicts:
        raise typer.Exit(1)
