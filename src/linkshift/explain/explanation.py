"""Why a row is in its cluster: its path, its mode, the links that bent it, and what if.

>>> import numpy as np
>>> from linkshift import ConstrainedMeanShift, Links
>>> X = np.array([[0.0], [0.1], [0.2], [0.8], [0.9], [1.0]])
>>> model = ConstrainedMeanShift().fit(X, links=Links(cannot=[(0, 5)]))
>>> print(model.explain(1))
Row 1 is in cluster 0, with 2 others.
Path: 14 steps, past row 1.
Mode: at (0.1), nearest to row 1.
Links that act on it:
  cannot-link (0, 5): keeps its mode apart from another; holds
What if:
  without cannot-link (0, 5) clusters 0 and 1 become one
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from linkshift._core.arrays import Array
from linkshift._core.markup import notebook, tag
from linkshift._core.text import counted

__all__ = ["Counterfactual", "Explanation", "LinkRole"]

Kind = Literal["must", "cannot"]
Pair = tuple[int, int]
Acts = Literal["own", "component", "density", "mode"]
Space = Literal["input", "kernel", "metric", "graph"]
Outcome = Literal["stays", "joins", "merged", "new", "alone", "noise", "unfit"]

LEAST_SHARE = 1e-3  # of the weight: a link that takes less has bent nothing
_LINKS_SHOWN = 8
_ROWS_SHOWN = 12
_COLUMNS_SHOWN = 6


@dataclass(frozen=True)
class LinkRole:
    """A link, and how it acts on the row.

    Attributes
    ----------
    kind : {"must", "cannot"}
    pair : (int, int)
        Rows.
    confidence : float
    holds : bool
        Whether the labels keep it.
    acts : {"own", "component", "density", "mode"}
        It names the row; it names a row that is must-linked to it; it is elsewhere, and takes
        weight from the density that the row's centre climbs; or, where it takes none, it holds
        rows that ended where the row did apart from others.
    chain : tuple of int
        For "component", the must-linked rows from the row to the link's nearer end.
    share : float or None
        Largest share of the weight around the row's centre that a cannot-link takes along the
        path, with the pairs that must-links carry it to (:mod:`.link_shares`); None
        where links do not bend the shift.
    step : int or None
        Where on the path that is.
    through : tuple of int
        Chain of rows that leads through the link, of the closed pair that takes most at that
        step: must-links, the cannot-link, must-links. The pair itself where it takes most.
    alike : tuple of pairs
        Other cannot-links that hold the same must-linked components apart: without this one,
        they still do.
    """

    kind: Kind
    pair: Pair
    confidence: float
    holds: bool
    acts: Acts
    chain: tuple[int, ...] = ()
    share: float | None = None
    step: int | None = None
    through: tuple[int, ...] = ()
    alike: tuple[Pair, ...] = ()


@dataclass(frozen=True)
class Counterfactual:
    """Where the row goes when the model is fitted again without one link.

    Attributes
    ----------
    kind, pair : {"must", "cannot"}, (int, int)
        The link that was left out.
    outcome : {"stays", "joins", "merged", "new", "alone", "noise", "unfit"}
        See :func:`.where_it_goes`; "unfit" where the model cannot be fitted without the link.
    clusters : tuple of int
        The clusters of today in question.
    size : int or None
        Rows of the row's cluster then, itself included; None for noise and "unfit".
    n_clusters : int or None
        Clusters then.
    note : str
        What else is different.
    alike : tuple of (int, int)
        Links that say the same, left out with it.
    """

    kind: Kind
    pair: Pair
    outcome: Outcome
    clusters: tuple[int, ...]
    size: int | None = None
    n_clusters: int | None = None
    note: str = ""
    alike: tuple[Pair, ...] = ()


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a row is in its cluster; ``print`` it, or take ``to_dict``.

    Attributes
    ----------
    row, label : int
        The row and its cluster; -1 is noise.
    size : int
        Rows with that label.
    space : {"input", "kernel", "metric", "graph"}
        Where path and mode are: in the units of X, or in the coordinates of the space of a kernel,
        a metric or a graph.
    path : ndarray of shape (steps + 1, d) or None
        Positions of the row, from its start to its end; None where nothing moves.
    path_rows : tuple of int
        Training rows nearest to the positions, repetitions left out.
    mode : ndarray of shape (d,) or None
        The centre of the mode that the row belongs to, or else the end of its path.
    mode_row : int or None
        Training row nearest to the mode.
    links : tuple of LinkRole
        Links that act on the row, the strongest first.
    n_links : int
        Number of all links of the model.
    counterfactuals : tuple of Counterfactual
        What if.
    notes : tuple of str
        What else there is to know.
    ids : tuple or None
        Names of all rows, for the text.
    """

    row: int
    label: int
    size: int
    space: Space
    path: Array | None
    path_rows: tuple[int, ...]
    mode: Array | None
    mode_row: int | None
    links: tuple[LinkRole, ...]
    n_links: int
    counterfactuals: tuple[Counterfactual, ...]
    notes: tuple[str, ...]
    ids: tuple[Hashable, ...] | None = None

    def name(self, row: int) -> str:
        """Name of a row: its id, or its number."""
        return str(row if self.ids is None else self.ids[row])

    def to_dict(self) -> dict[str, Any]:
        """Give all of it as dicts, lists, numbers and text, for JSON.

        Rows are numbers; "ids" tells the names of those that occur, when there are names.
        """
        found = _plain(vars(self))
        for name in ("path", "mode"):
            found[name] = None if found[name] is None else found[name].tolist()
        found["links"] = [_plain(vars(role)) for role in self.links]
        found["counterfactuals"] = [_plain(vars(case)) for case in self.counterfactuals]
        if self.ids is not None:
            found["ids"] = {str(row): self.name(row) for row in self.mentioned()}
        return found

    def moved(self, move: Callable[[Array], Array]) -> Explanation:
        """Move what lies in the space of the columns, as to other units."""
        if self.space != "input" or self.path is None:
            return self
        mode = None if self.mode is None else move(self.mode)
        return replace(self, path=move(self.path), mode=mode)

    def renumbered(self, numbers: Array | None) -> Explanation:
        """Call clusters by other numbers: that of each one, None where they stay."""
        if numbers is None:
            return self

        def number(label: int) -> int:
            return label if label < 0 else int(numbers[label])

        cases = tuple(
            replace(case, clusters=tuple(map(number, case.clusters)))
            for case in self.counterfactuals
        )
        return replace(self, label=number(self.label), counterfactuals=cases)

    def mentioned(self) -> list[int]:
        """Give all rows that occur, in ascending order."""
        rows = {self.row, *self.path_rows}
        rows |= set() if self.mode_row is None else {self.mode_row}
        for role in self.links:
            rows |= {*role.pair, *role.chain, *role.through}
            rows |= {row for pair in role.alike for row in pair}
        for case in self.counterfactuals:
            rows |= {*case.pair, *(row for pair in case.alike for row in pair)}
        return sorted(rows)

    def __repr__(self) -> str:
        return (
            f"<Explanation of row {self.row}: cluster {self.label}, {len(self.links)} links act, "
            f"{len(self.counterfactuals)} counterfactuals>"
        )

    def _repr_html_(self) -> str:
        """Tell it in a notebook: a line for each thing, what belongs to it further in."""
        first, *rest = str(self).split("\n")
        lines = [
            tag.div(line.strip(), style="margin-left:1.5em" if line.startswith("  ") else None)
            for line in rest
        ]
        return tag.div(notebook(first), *lines)

    def __str__(self) -> str:
        lines = [self._where(), *self._way()]
        if self.links:
            lines.append("Links that act on it:")
            lines += [f"  {self._role(role)}" for role in self.links[:_LINKS_SHOWN]]
            if len(self.links) > _LINKS_SHOWN:
                lines.append(f"  and {len(self.links) - _LINKS_SHOWN} more")
        elif self.n_links:
            lines.append(f"None of the {self.n_links} links acts on it directly.")
        if self.counterfactuals:
            lines.append("What if:")
            lines += [f"  {line}" for line in self._cases()]
        return "\n".join(lines + [f"Note: {note}" for note in self.notes])

    def _where(self) -> str:
        name = f"Row {self.name(self.row)}"
        if self.label == -1:
            return f"{name} is noise, with {_others(self.size)}."
        if self.size == 1:
            return f"{name} is in cluster {self.label}, alone."
        return f"{name} is in cluster {self.label}, with {_others(self.size)}."

    def _way(self) -> list[str]:
        if self.path is None:
            return []
        steps = len(self.path) - 1
        rows = [self.name(row) for row in self.path_rows]
        noun = "row" if len(rows) == 1 else "rows"
        where = "" if self.space == "input" else f" in the {self.space}'s space"
        text = f"Path: {counted(steps, 'step')}{where}, past {noun} {', '.join(_shortened(rows))}."
        assert self.mode is not None
        assert self.mode_row is not None
        at = ""
        if self.space == "input" and len(self.mode) <= _COLUMNS_SHOWN:
            at = f"at ({', '.join(f'{x:.4g}' for x in self.mode.tolist())}), "
        return [text, f"Mode: {at}nearest to row {self.name(self.mode_row)}."]

    def _link(self, kind: Kind, pair: Pair) -> str:
        return f"{kind}-link ({self.name(pair[0])}, {self.name(pair[1])})"

    def _chain(self, rows: Sequence[int]) -> str:
        return " - ".join(_shortened([self.name(row) for row in rows]))

    def _role(self, role: LinkRole) -> str:
        text = self._link(role.kind, role.pair)
        if role.confidence < 1.0:
            text += f" of confidence {role.confidence:g}"
        how = {
            "own": "its own",
            "component": f"through must-links {self._chain(role.chain)}",
            "density": "through the density",
            "mode": "keeps its mode apart from another",
        }[role.acts]
        text += f": {how}"
        if role.share is not None and role.share >= LEAST_SHARE:
            share = f"{100 * role.share:.2g}" if role.share < 0.1 else f"{100 * role.share:.0f}"
            text += f"; takes up to {share} % of its weight (step {role.step})"
        if len(role.through) > 2:
            first, last = self.name(role.through[0]), self.name(role.through[-1])
            text += f", most of it as ({first}, {last}), by {self._chain(role.through)}"
        if role.alike:
            same = _shortened([f"({self.name(a)}, {self.name(b)})" for a, b in role.alike])
            text += f"; {', '.join(same)} {'says' if len(role.alike) == 1 else 'say'} the same"
        return text + ("; holds" if role.holds else "; is violated")

    def _cases(self) -> list[str]:
        """Say what changes first; links that alone decide nothing share a line."""
        idle = [
            case
            for case in self.counterfactuals
            if case.outcome == "stays" and not case.note and not case.alike
        ]
        if len(idle) < 2:
            return [self.what_if(case) for case in self.counterfactuals]
        lines = [self.what_if(case) for case in self.counterfactuals if case not in idle]
        names = ", ".join(self._link(case.kind, case.pair) for case in idle)
        where = "noise" if self.label == -1 else f"in cluster {self.label}"
        return [*lines, f"without any one of these it stays {where}: {names}"]

    def what_if(self, case: Counterfactual) -> str:
        """Say a counterfactual in words."""
        match case.outcome:
            case "stays" if case.clusters == (-1,):
                text = "it stays noise"
            case "stays":
                text = f"it stays in cluster {case.clusters[0]}"
            case "joins":
                text = f"it joins cluster {case.clusters[0]}"
            case "merged":
                *first, last = (str(cluster) for cluster in case.clusters)
                merged = f"clusters {', '.join(first)} and {last}"
                inside = self.label in case.clusters
                text = f"{merged} become one" if inside else f"it joins {merged}, which become one"
            case "new":
                text = "it becomes part of a new cluster"
                if case.clusters:
                    text += f", with rows of cluster {case.clusters[0]}"
            case "alone":
                text = "it is alone in a cluster"
            case "noise":
                text = "it becomes noise"
            case "unfit":
                text = "there is no fit"
        note = f" ({case.note})" if case.note else ""
        alike = ""
        if case.alike:
            n = len(case.alike)
            alike = f" and the {'one that says' if n == 1 else f'{n} that say'} the same,"
        return f"without {self._link(case.kind, case.pair)}{alike} {text}{note}"


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    """Tuples as lists."""

    def listed(value: Any) -> Any:
        return [listed(item) for item in value] if isinstance(value, tuple) else value

    return {name: listed(value) for name, value in fields.items()}


def _others(size: int) -> str:
    return f"{size - 1:,} other" + ("" if size == 2 else "s")


def _shortened(names: list[str]) -> list[str]:
    if len(names) <= _ROWS_SHOWN:
        return names
    left_out = len(names) - _ROWS_SHOWN + 1
    return [*names[: _ROWS_SHOWN - 2], f"[{left_out} more]", names[-1]]
