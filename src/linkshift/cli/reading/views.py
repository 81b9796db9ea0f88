"""`--view NAME=COLUMNS`: which columns make up which view. Every column is in exactly one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from numpy.typing import NDArray

from linkshift._core.text import counted, listed
from linkshift.cli.reading.columns import check_column
from linkshift.cli.reading.tables import Table
from linkshift.cli.talking import InputError

Views = dict[str, tuple[str, ...]]

_FORM = "Write --view NAME=COLUMNS, such as --view shape=a,b or --view shape=first:last"
_REST = "*"


def by_view(
    X: NDArray[Any], names: Sequence[str], views: Mapping[str, Sequence[str]] | None
) -> Any:
    """Give data as a method takes it: one table, or those of the views by name."""
    if views is None:
        return X
    position = {name: i for i, name in enumerate(names)}
    return {view: X[:, [position[c] for c in columns]] for view, columns in views.items()}


def find_views(given: Sequence[str] | None, table: Table, used: tuple[str, ...]) -> Views:
    """Part the columns used into views: those that were asked for, else those of the file."""
    if given:
        return _part(given, table, used)
    if not table.views:
        raise InputError(
            "--method groups chooses among views, and the columns of one table say nothing of "
            f"them. Name the columns of each: --view NAME=COLUMNS ... (columns: {listed(used)}). "
            "An npz file that holds several matrices, and none called X, has its views already. "
            "To have all columns as one view: --view all=*"
        )
    kept = set(used)
    found = {name: tuple(c for c in columns if c in kept) for name, columns in table.views.items()}
    return {name: columns for name, columns in found.items() if columns}


def _part(given: Sequence[str], table: Table, used: tuple[str, ...]) -> Views:
    items = dict(_split(text) for text in given)
    if len(items) < len(given):
        names = [_split(text)[0] for text in given]
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"--view {twice} is given twice; put all its columns into one.")
    rests = [name for name, wanted in items.items() if _REST in wanted]
    if len(rests) > 1:
        raise InputError(
            f"--view {rests[0]} and --view {rests[1]} both take all that is left (*); only one can."
        )
    view_of: dict[str, str] = {}
    for name, wanted in items.items():
        for column in _columns(name, [item for item in wanted if item != _REST], table, used):
            other = view_of.setdefault(column, name)
            if other != name:
                raise InputError(
                    f"column {column!r} is in two views, {other} and {name}; take it out of one."
                )
    free = [column for column in used if column not in view_of]
    if free and not rests:
        is_in, it = ("is in", "it") if len(free) == 1 else ("are in", "them")
        others = ",".join(view_of) if len(view_of) <= 12 else "with the names of all others"
        raise InputError(
            f"{counted(len(free), 'column')} {is_in} no view: {listed(free, 20)}. List {it} in a "
            f"view, let one view take all that is left (--view rest=*), or leave {it} out: "
            f"--columns {others}."
        )
    view_of |= {column: rests[0] for column in free}
    found = {name: tuple(c for c in used if view_of[c] == name) for name in items}
    if empty := [name for name, columns in found.items() if not columns]:
        raise InputError(
            f"--view {empty[0]}=* takes all that is left, and nothing is; leave it out."
        )
    return found


def _split(text: str) -> tuple[str, list[str]]:
    """Give the name of a view and what it lists."""
    name, equals, columns = text.partition("=")
    wanted = [item.strip() for item in columns.split(",") if item.strip()]
    if not equals or not name.strip():
        raise InputError(f"--view {text} has no name. {_FORM}.")
    if not wanted:
        raise InputError(f"--view {text} lists no columns. {_FORM}.")
    return name.strip(), wanted


def _columns(view: str, wanted: list[str], table: Table, used: tuple[str, ...]) -> list[str]:
    """Give the columns that are listed, in the order of the table."""
    found: set[str] = set()
    for item in wanted:
        # A name comes first: a column may be called a:b or x*.
        if item in used:
            found.add(item)
        elif item in table.names:
            raise InputError(
                f"--view {view}: column {item!r} ({table.kind(item)}) is not used. Name all "
                "columns to use in --columns, or take it out of the view."
            )
        elif ":" in item:
            found |= _range(view, item, table, used)
        elif any(sign in item for sign in "*?["):
            matching = {column for column in used if fnmatchcase(column, item)}
            if not matching:
                raise InputError(
                    f"--view {view}: no column matches {item!r}. Columns used: {listed(used, 20)}."
                )
            found |= matching
        else:
            check_column(table, item, f"--view {view}")
    return [column for column in used if column in found]


def _range(view: str, item: str, table: Table, used: tuple[str, ...]) -> set[str]:
    first, _, last = (part.strip() for part in item.partition(":"))
    for end in (first, last):
        check_column(table, end, f"--view {view}, range {item!r}")
    start, stop = table.names.index(first), table.names.index(last)
    if start > stop:
        raise InputError(
            f"--view {view}: {first!r} comes after {last!r} in the table; write {last}:{first}."
        )
    found = set(table.names[start : stop + 1]) & set(used)
    if not found:
        raise InputError(f"--view {view}: none of the columns {item} is used.")
    return found
