"""Rows that a person is asked about, by `linkshift ask` and `linkshift label`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from linkshift.cli.reading import columns
from linkshift.cli.reading.problem import Source, refuse_views, table_features
from linkshift.cli.reading.tables import Table, read_table
from linkshift.cli.talking import Console, InputError

if TYPE_CHECKING:
    from linkshift.tables.preparing import Preparation
    from linkshift.tables.scaling import Scaling


class AskedRows(NamedTuple):
    """Numbers that tell which rows are alike, and what was done to them."""

    X: Any  # scaled
    features: columns.Features  # as they were read or prepared
    recipe: Preparation | None
    scaling: Scaling


def asked_table(source: Source, console: Console) -> tuple[Table, list[Any] | None]:
    """Read a table of at least two rows, and their ids."""
    table = read_table(source.data, console, header=source.header, id_column=source.id_column)
    refuse_views(table)
    if table.n_rows < 2:
        raise InputError(f"{source.data} has one row; it takes two to ask about.")
    if source.id_column is None:
        return table, None
    return table, columns.sample_ids(table, source.id_column)


def asked_rows(
    source: Source, table: Table, scale: str, console: Console, *, also: tuple[str, ...] = ()
) -> AskedRows:
    """Take the numbers of a table, scaled; columns in ``also`` hold none, whatever is asked for."""
    from linkshift.methods.clustering import scale_for
    from linkshift.tables.scaling import Scaling

    kept = (source.id_column, _only_read(source, table), *also)
    reserved = list(dict.fromkeys(name for name in kept if name is not None))
    if not set(table.names) - set(reserved):
        raise InputError(
            f"{source.data} has no more than {' and '.join(reserved)}, and questions go by numbers "
            "that tell which rows are alike. Add columns of numbers, such as a column of lists "
            "with an embedding of each text."
        )
    features, recipe = table_features(source, table, reserved, console, takes_views=False)
    with console.warnings():
        kind = scale_for(scale, {}, made=recipe is not None)
        scaling = Scaling.of(features.X, kind, features.names)
    if recipe is None:
        console.say(columns.scale_note(scaling, features.X, features.names))
    return AskedRows(scaling.apply(features.X), features, recipe, scaling)


def _only_read(source: Source, table: Table) -> str | None:
    """Give the column that is shown, where nobody asked to have numbers made of it."""
    text = source.show is not None and table.kind(source.show) == "text"
    return source.show if text and source.columns is None else None
