"""Columns of different units brought to one scale, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from linkshift._core.arrays import Array, varying_columns
from linkshift._core.messages import Advice, warn
from linkshift._core.text import listed

__all__ = ["Moments", "ScaleName", "Scaling"]

ScaleName = Literal["auto", "standard", "minmax", "none"]

# Fitted on the sets that python -m benchmarks.run auto calls seen, as they come: of the same kind
# of measurement, columns tell more by their own spreads; of different units, by none.
_TENFOLD = 10.0  # spreads of few columns that differ by more are of different units
_MANY = 31  # columns from which on some hardly vary in any case: pixels at the border, rare words
_EFFECTIVE = 0.5  # share of many columns that should count
_HUGE = 1e300  # what a column is divided by of which nothing shall be left


class Moments(NamedTuple):
    """Means, spreads and ranges of columns, which a scaling goes by."""

    mean: Array
    std: Array
    low: Array
    high: Array


@dataclass(frozen=True, eq=False)
class Scaling:
    """Column by column: (x - shift) / spread, as plain numbers that a model file keeps.

    scikit-learn's MinMaxScaler multiplies by the inverse of the spread instead, and its last bits
    are others.

    Attributes
    ----------
    kind : {"none", "standard", "minmax"}
        What was done.
    shift, spread : ndarray of shape (d,)
        The numbers.
    why : str
        What "auto" went by; empty where the kind was asked for.
    """

    kind: str
    shift: NDArray[Any]
    spread: NDArray[Any]
    why: str = ""

    @classmethod
    def of(
        cls,
        X: Array,
        kind: str = "auto",
        names: Sequence[str] | None = None,
        *,
        told: bool = True,
        weight: Array | None = None,
    ) -> Scaling:
        r"""Find the scaling of some data.

        "auto" leaves columns of one unit as they are, for which their spreads s stand. Up to 30
        columns are standardised where spreads differ more than tenfold; more of them, where few
        columns outweigh the others: where :math:`(\sum_j s_j)^2 / \sum_j s_j^2`, the number of
        columns that count, is less than half of them.

        Columns with less than 1e-8 of the median spread vary by rounding only: but for "none",
        nothing is left of them, which is told. With weights, means and spreads go by them, and rows
        without weight have no say.
        """
        rows = X if X.dtype.kind == "f" else X.astype(np.float64)
        if weight is not None:
            rows, weight = rows[weight > 0], weight[weight > 0]
        if not len(rows):  # the method says what is wrong
            nought = np.zeros(X.shape[1])
            return cls("none", nought.astype(rows.dtype), (nought + 1).astype(rows.dtype))
        with np.errstate(over="ignore", invalid="ignore"):
            means = _means(rows, weight)
            std = rows.std(axis=0, dtype=np.float64)
            if weight is not None:
                std = np.sqrt(_means((rows - means) ** 2, weight))
        moments = Moments(means, std, rows.min(axis=0), rows.max(axis=0))
        return cls.of_moments(moments, kind, names, dtype=rows.dtype, told=told)

    @classmethod
    def of_moments(
        cls,
        moments: Moments,
        kind: str = "auto",
        names: Sequence[str] | None = None,
        *,
        dtype: Any = np.float64,
        told: bool = True,
    ) -> Scaling:
        """Find the scaling of data of which the moments are known, as `of` does."""
        (mean, std, low, high), why = moments, ""
        if not np.isfinite(std).all():  # the method says what is wrong
            kind = "none"
        varies = varying_columns(std)
        if kind == "auto":
            kind, why = _for_units(std, varies, names)
        shift, spread = np.zeros(len(std)), np.ones(len(std))
        if kind == "standard":
            shift, spread = mean, std
        elif kind == "minmax":
            shift, spread = low, high - low
        # A constant column becomes zero, whatever it is divided by.
        spread = np.where(spread > 0, spread, 1.0)
        if kind != "none" or why:
            flat = (std > 0) & ~varies
            huge = _HUGE if np.dtype(dtype).itemsize > 4 else float(np.finfo(np.float32).max)
            if told:
                _tell_of_rounding(flat, names)
            shift, spread = np.where(flat, mean, shift), np.where(flat, huge, spread)
        return cls(kind, shift.astype(dtype), spread.astype(dtype), why)

    @classmethod
    def of_table(cls, table: Any, kind: str, weight: Array | None = None) -> Scaling:
        """Find the scaling of a table in any form; names of columns are its own."""
        from sklearn.utils import check_array  # takes a second: not for `linkshift links check`

        try:
            rows = check_array(table, ensure_all_finite=False)
        except ValueError:
            from linkshift.tables.reading import refuse_gaps

            refuse_gaps(np.asarray(table))  # text has a remedy, which scikit-learn cannot know
            raise
        names = [str(name) for name in table.columns] if hasattr(table, "columns") else None
        return cls.of(rows, kind, names, weight=weight)

    @classmethod
    def of_views(
        cls, X: Array, kind: str, names: Sequence[str], views: Mapping[str, Sequence[str]]
    ) -> Scaling:
        """Find the scaling of a table view by view: units of one do not matter to another."""
        place = {name: column for column, name in enumerate(names)}
        rows = X if X.dtype.kind == "f" else X.astype(np.float64)
        found = cls("none", np.zeros(X.shape[1], rows.dtype), np.ones(X.shape[1], rows.dtype))
        for view in views.values():
            columns = [place[name] for name in view]
            one = cls.of(rows[:, columns], kind, view)
            found.shift[columns], found.spread[columns] = one.shift, one.spread
            kinds = {found.kind, one.kind} - {"none"}
            why = one.why if one.kind != "none" or not found.why else found.why
            found = cls(kinds.pop() if kinds else "none", found.shift, found.spread, why)
        return found

    @classmethod
    def from_about(cls, about: dict[str, Any]) -> Scaling:
        """Take it from what a model file says of itself."""
        shift, spread = (np.array(about[key], about["dtype"]) for key in ("shift", "spread"))
        return cls(about["scale"], shift, spread)

    def about(self) -> dict[str, Any]:
        """Say it in plain values; every number keeps all its digits."""
        numbers = {"shift": self.shift.tolist(), "spread": self.spread.tolist()}
        return {"scale": self.kind, "dtype": self.shift.dtype.name, **numbers}

    @property
    def changes(self) -> bool:
        """Whether anything is done."""
        return bool(self.kind != "none" or self.shift.any() or (self.spread != 1).any())

    def apply(self, X: Any) -> Any:
        """Scale; a pandas DataFrame stays one."""
        if not self.changes:
            return X
        if hasattr(X, "iloc"):
            return type(X)(self.apply(X.to_numpy()), index=X.index, columns=X.columns)
        rows = np.asarray(X)
        return ((rows - self.shift) / self.spread).astype(self.shift.dtype, copy=False)

    def undo(self, X: NDArray[Any]) -> NDArray[Any]:
        """Scale back."""
        return X * self.spread + self.shift if self.changes else X


def _for_units(std: Array, varies: Array, names: Sequence[str] | None) -> tuple[str, str]:
    """Say whether columns are of one unit, and by what."""
    s, which = std[varies], np.flatnonzero(varies)
    if len(s) < 2:
        return "none", "one column that varies" if len(s) else "all rows are equal"
    low, high = which[np.argmin(s)], which[np.argmax(s)]
    if len(std) < _MANY:
        ratio = float(std[high] / std[low])
        if ratio <= _TENFOLD:
            return "none", f"no column varies {_TENFOLD:g} times as much as another"
        times = f"{ratio:,.0f} times" if ratio < 1e6 else "over a million times"
        return "standard", f"{_named(high, names)} varies {times} as much as {_named(low, names)}"
    relative = s / s.max()
    effective = relative.sum() ** 2 / (relative**2).sum()
    if effective >= _EFFECTIVE * len(s):
        return "none", "no few columns outweigh the others"
    return "standard", f"{_named(high, names)} and few others outweigh the rest"


def _named(column: int, names: Sequence[str] | None) -> str:
    return f"column {column}" if names is None else repr(str(names[column]))


def _means(rows: Array, weight: Array | None) -> Array:
    """Mean of each column, by weights."""
    if weight is None:
        return np.asarray(rows.mean(axis=0, dtype=np.float64))
    return np.average(rows.astype(np.float64), axis=0, weights=weight)


def _tell_of_rounding(flat: Array, names: Sequence[str] | None) -> None:
    """Say which columns vary by rounding only."""
    columns = np.flatnonzero(flat).tolist()
    if not columns:
        return
    which = columns if names is None else [names[column] for column in columns]
    warn(
        Advice(
            f"Columns with less than 1e-8 of the median spread are left out: {listed(which)}.",
            "Multiply them, if there is more to them than rounding, or set scale='none'.",
            command="Multiply them, if there is more to them than rounding, or set --scale none.",
            parameter="scale",
        )
    )
