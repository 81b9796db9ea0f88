"""`--prepare` and `--pca`: a table made ready by a recipe, which is kept with the model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linkshift._core.text import counted, listed
from linkshift.cli.reading.arrays import ArrayTable
from linkshift.cli.reading.columns import Features, check_column, features, listed_columns
from linkshift.cli.reading.sparse import SparseTable
from linkshift.cli.reading.tables import Table
from linkshift.cli.talking import Console, InputError, passed_on
from linkshift.tables.columns import LISTS, Column, columns_of
from linkshift.tables.preparing import Preparation
from linkshift.tables.scaling import Scaling


def prepared_features(
    table: Table,
    console: Console,
    *,
    columns: str | None,
    reserved: Sequence[str],
    recipe: Preparation,
    any_kind: bool,
) -> Features:
    """Pick columns, of any kind or of numbers only, prepare them, and say what was done."""
    data: Any
    if isinstance(table, SparseTable):
        if columns is not None or reserved:
            raise InputError(
                f"{table.path} is a sparse matrix, which is used as a whole: leave out --columns, "
                "--id-column, --labels-column and --weights."
            )
        data = table.data
    elif any_kind:
        names = _all_columns(table, columns, reserved)
        found = counted(len(names), "column")
        console.say(f"{table.path}: {counted(table.n_rows, 'row')}, {found}: {listed(names)}.")
        data = table_columns(table, names)
    else:
        X, names = features(table, console, columns=columns, reserved=reserved)
        if recipe.scale == "auto":
            recipe.set_params(scale=Scaling.of(X, "auto", names, told=False).kind)
        data = [Column(name, "number", X[:, j]) for j, name in enumerate(names)]
    with console.warnings(), passed_on(f"{table.path}: "):
        # What was named, or has been looked at before, is not taken for ids here.
        rows = recipe.learn(data, named=columns is not None or not any_kind)
    for line in recipe.said_:
        console.say(f"Prepared: {line}")
    return Features(rows, tuple(str(name) for name in recipe.get_feature_names_out()))


def table_columns(table: Table, names: Sequence[str]) -> list[Column]:
    """Read columns of a table by name; that of a column of lists stands for all of its numbers."""
    assert not isinstance(table, SparseTable)
    whole = [name for name in names if name not in table.lists]
    if isinstance(table, ArrayTable):
        data = table.matrix(tuple(whole))
        return [Column(name, "number", data[:, j]) for j, name in enumerate(whole)]
    found = {column.name: column for column in columns_of(table.frame[whole])}
    for name, parts in table.lists.items():
        if name in names:
            found[name] = Column(name, LISTS, table.matrix(parts))
    return [found[name] for name in names]


def source_columns(recipe: Preparation) -> tuple[str, ...]:
    """Names of the columns that a recipe takes."""
    return tuple(step["name"] for step in recipe.steps_)


def repeated(recipe: Preparation, table: Table, path: Any, console: Console) -> Any:
    """Prepare the rows of another table as those of a model were."""
    if isinstance(table, SparseTable):
        with console.warnings(), passed_on(f"{table.path}: "):
            return recipe.repeat(table.data)
    names = source_columns(recipe)
    known = (*table.lists, *table.names)
    missing = [name for name in names if name not in known]
    if missing:
        raise InputError(
            f"{table.path} lacks {counted(len(missing), 'column')} of {path}: "
            f"{listed(missing)}. Its columns: {listed(known, 20)}. Name them as they were called "
            "there, or add them."
        )
    if not names:
        raise InputError(f"{path} was made from a sparse matrix, and {table.path} is none.")
    console.say(
        f"{table.path}: {counted(table.n_rows, 'row')}, {counted(len(names), 'column')} prepared "
        f"as for the model: {listed(names)}."
    )
    with console.warnings(), passed_on(f"{table.path}: "):
        return recipe.repeat(table_columns(table, names))


def _all_columns(table: Table, columns: str | None, reserved: Sequence[str]) -> tuple[str, ...]:
    """Give the columns that are named, or all that are free; lists go by their one name."""
    parts = {part: name for name, names in table.lists.items() for part in names}
    if columns is None:
        free = (parts.get(name, name) for name in table.names if name not in reserved)
        usable = (name for name in free if name in table.lists or table.kind(name) != "array")
        return tuple(dict.fromkeys(usable))
    names = listed_columns(columns)
    for name in names:
        if name not in table.lists:
            check_column(table, name, "--columns")
            if table.kind(name) == "array":
                raise InputError(
                    f"--columns takes columns of the matrix; {name!r} is another array."
                )
        if name in reserved:
            raise InputError(
                f"column {name!r} holds ids, labels or weights; take it out of --columns."
            )
        if names.count(name) > 1:
            raise InputError(f"--columns names {name!r} twice. Name it once.")
    return names
