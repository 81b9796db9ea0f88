"""`linkshift links`: look after files of links."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated

import typer

from linkshift._core.text import counted, listed
from linkshift.cli import options as opt
from linkshift.cli.talking import Console, InputError, hint, passed_on

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
    "store": "File of a labelling page: NAME.linkshift.",
    "links_output": "Where the links go: .csv or .tsv. Default: stdout (-).",
    "who": "Only what this person has said.",
    "as": "Who has said what the file does not say who said.",
}
_MOST_TOLD = 3  # contradictions at a time


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


def _unless_stdout(path: Path | None) -> Path | None:
    """Take - for what no file means: the links go to stdout."""
    return None if str(path) == "-" else path


@app.command(name="export")
def export_links(
    store: Annotated[Path, opt.argument("STORE", _HELP["store"])],
    output: Annotated[
        Path | None, opt.output(_HELP["links_output"], callback=_unless_stdout)
    ] = None,
    who: Annotated[str | None, opt.value("NAME", _HELP["who"])] = None,
) -> None:
    """Write the answers of a labelling page as a file of links.

    Every command with --links reads it, and linkshift ask goes on with it. It holds what is in
    force, with who said it and when: of what was taken back, and of answers that others took the
    place of, the page's own file alone knows.
    """
    from linkshift.cli.reading.links import SEPARATED
    from linkshift.cli.reading.stores import check_store_path
    from linkshift.cli.writing import targets
    from linkshift.web.lines import as_csv, held, in_force
    from linkshift.web.store import Store

    console = Console()
    check_store_path(store)
    targets.check_targets([store], (".csv", ".tsv"), output=output)
    with Store(store, read_only=True) as opened:
        found = held(opened)
    lines = found.lines
    if who is not None:
        people = sorted({line.who for line in lines})
        lines = tuple(line for line in lines if line.who == who.strip())
        if not lines:
            named = listed([repr(one) for one in people]) or "nobody"
            raise InputError(
                f"--who {who}: nothing that stands in {store} is of that name. There spoke: "
                f"{named}.{hint(who, people)}"
            )
    lines = tuple(in_force(lines))
    for note in found.notes:
        console.warn(note)
    with passed_on():
        text = as_csv(lines, "," if output is None else SEPARATED[output.suffix.lower()])
    n_answers = sum(bool(line.purpose) for line in lines)
    n_links = len(lines) - n_answers
    console.say(f"{store}: {counted(n_answers, 'answer')} and {counted(n_links, 'given link')}.")
    if output is None:
        targets.print_text(text)
    else:
        targets.write_text(output, text)
        console.finish(None, output)


@app.command(name="import")
def import_links(
    file: Annotated[
        Path, opt.argument("FILE", "Links: .csv or .tsv (a,b,kind[,confidence]), or .json.")
    ],
    store: Annotated[Path, opt.argument("STORE", _HELP["store"])],
    who: Annotated[str, opt.value("NAME", _HELP["as"], "--as")] = "",
) -> None:
    """Add links to a labelling page that it does not hold yet, as one action.

    Lines with a purpose, as linkshift ask writes them, are answers; others are links that were
    given. A page that is open takes them in at once, and takes them back with one undo.
    """
    from linkshift.cli.reading.stores import check_store_path, compared, read_lines
    from linkshift.web.events import checked_who
    from linkshift.web.lines import held
    from linkshift.web.store import Store

    console, who = Console(), checked_who(who)
    is_new = check_store_path(store, new=True)
    if is_new:  # nothing is made where the file cannot be used
        with warnings.catch_warnings(action="ignore"):
            read_lines(file, None, who)
    with Store(store) as opened:
        there = held(opened)
        with console.warnings():  # answers that differ
            lines, remarks = read_lines(file, there.now, who)
        found = compared(lines, there.lines)
        opened.data = opened.last_data_seq()
        opened.append(found.events(file.name), who)
    for remark in (is_new, *remarks):
        if remark:
            console.say(remark)
    told = f"{len(found.lines):,} new, {found.n_known:,} known"
    console.say(f"{file}: {counted(len(lines), 'pair')}, {told}.")
    if found.n_contradicting:
        more = len(found.contradictions) - _MOST_TOLD
        also = f"; and {more:,} more" if more > 0 else ""
        which = "; ".join(found.contradictions[:_MOST_TOLD])
        console.warn(
            f"{found.n_contradicting:,} of the new cannot be right together with others: "
            f"{which}{also}. The page shows what contradicts what; or see: linkshift links export "
            f"{store} -o all.csv, linkshift links check all.csv."
        )
