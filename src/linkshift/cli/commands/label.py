"""`linkshift label`: a page in the browser to answer on, see the clusters, and mend them."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkshift._core.text import counted
from linkshift.cli import options as opt
from linkshift.cli.talking import Console, InputError, passed_on, require

if TYPE_CHECKING:
    from linkshift.cli.reading.columns import Features
    from linkshift.cli.reading.problem import Source
    from linkshift.cli.reading.tables import Table
    from linkshift.web.desk import Desk
    from linkshift.web.items import Items, Kind
    from linkshift.web.material import Material
    from linkshift.web.opening import Opened
    from linkshift.web.serving import Door
    from linkshift.web.store import Store

_HELP = {
    "data": f"Table whose rows are asked about: {opt.DATA.partition('; - ')[0]}.",
    "show": "Columns to show of a row. Default: all, or the first 20.",
    "text": "Column of text to show: words that differ are marked.",
    "image": "Column with paths of images, from the folder of DATA; or pixels:28x28, where rows "
    "are images of that height and width themselves.",
    "audio": "Column with paths of sounds, from the folder of DATA.",
    "links": "Links to begin with, taken in once: .csv, .tsv or .json, as linkshift cluster "
    "--links reads them.",
    "store": "File of what is said, which is made or gone on with. Default: the name of DATA with "
    ".linkshift.",
    "who": "Your name, beside what you say. Default: as you are called on this machine.",
    "port": "Port of the page. Default: a free one.",
    "browser": "Open the page in the browser.",
    "remote": "Let other machines open the page, too, with the address that is printed. Whoever "
    "can listen on the way can read along: only in a network that you trust.",
}
_PIXELS = "pixels:"


def label(
    ctx: typer.Context,
    data: Annotated[Path, opt.argument("DATA", _HELP["data"])],
    show: Annotated[str | None, opt.value("A,B,C", _HELP["show"])] = None,
    text: Annotated[str | None, opt.value("COLUMN", _HELP["text"])] = None,
    image: Annotated[str | None, opt.value("COLUMN", _HELP["image"])] = None,
    audio: Annotated[str | None, opt.value("COLUMN", _HELP["audio"])] = None,
    columns: opt.Columns = None,
    id_column: opt.IdColumn = None,
    header: opt.Header = None,
    scale: opt.Scale = "auto",
    prepare: opt.Prepare = False,
    pca: opt.Pca = None,
    links: Annotated[Path | None, opt.value("FILE", _HELP["links"], "--links")] = None,
    store: Annotated[Path | None, opt.value("FILE", _HELP["store"], "--store")] = None,
    who: Annotated[str | None, opt.value("NAME", _HELP["who"], "--as")] = None,
    port: Annotated[int, opt.value("N", _HELP["port"], min=0, max=65535)] = 0,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help=_HELP["browser"])] = True,
    allow_remote: Annotated[bool, typer.Option("--allow-remote", help=_HELP["remote"])] = False,
) -> None:
    """Open a page on which you answer which rows belong together, and see and mend the clusters.

    All that is said is in one file beside DATA at once, and the next call goes on from there. The
    page needs no network, and nobody but you can open it. Leave with Ctrl-C.
    """
    console = Console()
    if str(data) == "-":
        raise InputError(
            "linkshift label keeps its file beside the table, and stdin has no place. Write the "
            "table to a file, and name that."
        )
    shown = {"--show": show, "--text": text, "--image": image, "--audio": audio}
    given = [option for option, value in shown.items() if value is not None]
    if len(given) > 1:
        raise InputError(f"{' and '.join(given[:2])} both say what is shown of a row. Give one.")
    for module in ("starlette", "uvicorn"):
        require("linkshift label", "web", module)
    from linkshift.cli.reading.problem import Source
    from linkshift.web.opening import open_store
    from linkshift.web.serving import annotator, listening

    if links is not None:
        from linkshift.cli.reading.stores import check_lines

        check_lines(links)  # before there is a file of what is said
    read = text or image or audio
    is_pixels = image is not None and image.startswith(_PIXELS)
    asked = (prepare, pca, opt.asked_for(ctx, "scale"))
    source = Source(
        data, None, columns, id_column, None, header, *asked, show=None if is_pixels else read
    )
    material = _material(source, _Look(show, text, image, audio, scale), console)
    path = store_path(store, data)
    name = annotator() if who is None else who
    with passed_on():
        opened = open_store(path, material, name)
    try:
        if links is not None:
            _take_links(links, opened.store, name, console)
        with passed_on():
            door = listening(port, remote=allow_remote)
        _hold(_Page(ctx, material, opened, door, name), console, browser=browser)
    finally:
        opened.store.close()


@dataclass(frozen=True)
class _Look:
    """What the options say of how rows are shown."""

    show: str | None
    text: str | None
    image: str | None
    audio: str | None
    scale: str


@dataclass(frozen=True)
class _Page:
    """What is served."""

    ctx: typer.Context
    material: Material
    opened: Opened
    door: Door
    who: str


def store_path(given: Path | None, data: Path) -> Path:
    """Give the file of what is said; that of people.csv is people.linkshift, beside it."""
    if given is not None:
        return given
    return data.with_name(f"{Path(data.name.removesuffix('.gz')).stem}.linkshift")


def _material(source: Source, look: _Look, console: Console) -> Material:
    """Read the table, and say what is clustered and what is shown."""
    from linkshift.cli.reading.asked import asked_rows, asked_table
    from linkshift.web.material import Material

    table, ids = asked_table(source, console)
    items = _items(source, look, table, ids)
    also = tuple(name for name in (look.image, look.audio) if name in table.names)
    found = asked_rows(source, table, look.scale, console, also=also)
    if look.image is not None and look.image.startswith(_PIXELS):
        items = _pixels(look.image.removeprefix(_PIXELS), source, table, found.features, ids)
    return Material(
        found.X,
        items,
        found.features.X,
        title=source.data.name,
        id_column=source.id_column,
        columns=tuple(found.features.names),
        recipe=found.recipe,
        scaling=found.scaling,
        notes=tuple(items.notes()),
    )


def _items(source: Source, look: _Look, table: Table, ids: list[Any] | None) -> Items:
    """Say what is shown of a row."""
    from linkshift.cli.reading.columns import listed_columns, shown_values
    from linkshift.web.items import MOST_COLUMNS, Items

    ways: list[tuple[Kind, str | None]] = [
        ("text", look.text),
        ("image", look.image),
        ("audio", look.audio),
    ]
    for kind, name in ways:
        if name is not None and not (kind == "image" and name.startswith(_PIXELS)):
            cells = {name: shown_values(table, name, f"--{kind}")}
            media = None if kind == "text" else name
            return Items(kind, cells, ids, media, source.data.absolute().parent)
    if look.show is not None:
        names = listed_columns(look.show, "--show")
        return Items("table", {n: shown_values(table, n, "--show") for n in names}, ids)
    parts = {part for names in table.lists.values() for part in names}
    free = [n for n in table.names if n != source.id_column and n not in parts] or [*table.names]
    note = ""
    if len(free) > MOST_COLUMNS:
        note = (
            f"Shown of each row: the first {MOST_COLUMNS} of its {len(free):,} columns. --show "
            "A,B,C or --text COLUMN name what you can judge by."
        )
    return Items("table", {n: table.values(n) for n in free[:MOST_COLUMNS]}, ids, note=note)


def _pixels(
    size: str, source: Source, table: Table, used: Features, ids: list[Any] | None
) -> Items:
    """Show rows as the images that they are, pixels included that are the same in all rows."""
    from linkshift.web.items import Items, pixel_shape

    X: Any = used.X
    if source.columns is None and not source.prepare:
        names = [n for n in table.names if n != source.id_column and table.kind(n) == "number"]
        X = table.matrix(tuple(names))
    with passed_on("--image "):
        shape = pixel_shape(size, X.shape[1])
    return Items("image", {"image": X}, ids, "image", pixels=shape)


def _take_links(path: Path, store: Store, who: str, console: Console) -> None:
    """Take links from a file into the store, those that it does not hold yet."""
    from linkshift.cli.reading.stores import compared, read_lines
    from linkshift.web.lines import held

    there = held(store)
    lines, remarks = read_lines(path, there.now, who)
    for remark in remarks:
        console.say(remark)
    found = compared(lines, there.lines)
    with passed_on():
        store.append(found.events(path.name), who)
    told = f"{len(found.lines):,} new, {found.n_known:,} known"
    console.say(f"{path}: {counted(len(lines), 'line')}, {told}.")
    if found.contradictions:
        console.warn(
            f"{found.n_contradicting:,} of the new cannot be right together with others, first: "
            f"{found.contradictions[0]}. The page shows what contradicts what."
        )


def _hold(page: _Page, console: Console, *, browser: bool) -> None:
    """Serve the page until it is left, and say where all is."""
    from linkshift.web.desk import Desk
    from linkshift.web.serving import run, show

    if page.door.remote:
        console.warn(
            "--allow-remote: other machines can reach this page. Whoever has the address below can "
            "answer, and what is sent is not encrypted."
        )
    n_before = 0

    async def opened() -> Desk:
        return await Desk.open(page.material, page.opened, who=page.who)

    def ready(desk: Desk) -> None:
        nonlocal n_before
        n_before = len(desk.ledger.answers)
        for note in desk.all_notes():
            console.say(note)
        console.say(f"What is said goes to {page.opened.store.path}, at once. Ctrl-C leaves.")
        typer.echo(f"Label: {page.door.address()}", err=True)
        if page.door.remote:
            typer.echo(f"From other machines: {page.door.address(gethostname())}", err=True)
        if browser:
            show(page.door.address())

    desk = run(opened, page.door, ready=ready)
    _tell_of_file(page, desk, n_before, console)


def _tell_of_file(page: _Page, desk: Desk, n_before: int, console: Console) -> None:
    """Say what is stored, and how to go on with it."""
    path, n = page.opened.store.path, len(desk.ledger.answers)
    if not n and not desk.ledger.links:
        console.say(f"\nNo answers yet in {path}.")
        return
    new = f", {n - n_before:,} of them new" if n > n_before else ""
    links = f" and {counted(n_links, 'given link')}" if (n_links := len(desk.ledger.links)) else ""
    console.say(f"\n{path} holds {counted(n, 'answer')}{new}{links}.")
    mine = ("show", "text", "image", "audio", "links", "store", "who", "port", "browser")
    file = path.with_suffix(".links.csv")
    export = ["linkshift", "links", "export", str(path), "-o", str(file)]
    words = opt.cluster_command(page.ctx, leave_out=(*mine, "allow_remote"))
    console.say(f"Write its links:    {shlex.join(export)}")
    console.say(f"Cluster with them:  {shlex.join([*words, '--links', str(file)])}")
    console.say("Go on answering:    the same command again")
