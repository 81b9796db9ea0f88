"""The papers' printed numbers: ``load("cms_1").value("moons/ARI", method="CMS")``."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FOLDER = Path(__file__).parent

Value = str | int | float | bool

#: Least and greatest value of each metric; a column is called ``<what>/<metric>``.
RANGES = {
    "ARI": (-1.0, 1.0),
    "NMI": (0.0, 1.0),
    "ACC %": (0.0, 100.0),
    "error %": (0.0, 100.0),
    "clusters": (1.0, float("inf")),
    "count": (0.0, float("inf")),
    "length": (0.0, float("inf")),
}


@dataclass(frozen=True)
class Table:
    """A printed table: each row has its keys first, then one number a column."""

    name: str
    paper: str  # authors, title, where and when
    table: str
    keys: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]

    def records(self) -> list[dict[str, Value]]:
        """Rows by name of key and column."""
        names = (*self.keys, *self.columns)
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def value(self, column: str, **keys: Value) -> Value:
        """Return the one number of ``column`` in the row with these keys."""
        found = [row for row in self.records() if keys.items() <= row.items()]
        if column not in self.columns or len(found) != 1:
            raise KeyError(
                f"{self.name} has {len(found)} rows with {keys}; its keys are {self.keys}, "
                f"its columns {self.columns}."
            )
        return found[0][column]


def available() -> list[str]:
    """Names of all tables."""
    return sorted(path.stem for path in _FOLDER.glob("*.toml"))


@cache
def load(name: str) -> Table:
    """Read a table by name."""
    path = _FOLDER / f"{name}.toml"
    if not path.is_file():
        raise KeyError(f"no table is called {name!r}; there are {', '.join(available())}")
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    return Table(
        name=name,
        paper=content["paper"],
        table=content["table"],
        keys=tuple(content["keys"]),
        columns=tuple(content["columns"]),
        rows=tuple(tuple(row) for row in content["rows"]),
    )


def in_range(column: str, value: Value) -> bool:
    """Whether a value can be one of its column's metric; what stands after ± is never negative."""
    metric = column.rpartition("/")[2]
    if metric == "text":
        return isinstance(value, str)
    if isinstance(value, str):
        return False
    if value != value:  # nan: not printed
        return True
    low, high = (0.0, float("inf")) if metric.startswith("±") else RANGES[metric]
    return low <= value <= high
