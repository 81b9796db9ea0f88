"""Why a row is in its cluster, in the words of `linkshift.explain`: answers in place of links.

>>> import numpy as np
>>> from linkshift import Session
>>> rng = np.random.default_rng(0)
>>> X = np.concatenate([rng.normal(c, 0.5, (30, 3)) for c in (0, 3)])
>>> session = Session(X)
>>> session.same(2, 7, 40)  # of both heaps
>>> print(session.explain(2))
Row 2 is in cluster 0, with 59 others.
Answers say that it is the same as rows 7 and 40.
No other cluster is near.
Answers that act on it:
  (2, 7) same: its own; holds
  (7, 40) same: through the same 2 - 7; holds
What if:
  without (7, 40) same it becomes part of a new cluster, with 29 others
  without (2, 7) same it stays in cluster 0
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from linkshift._core.arrays import Array
from linkshift._core.markup import notebook, tag
from linkshift._core.text import counted
from linkshift.explain.explanation import Outcome

__all__ = ["Case", "Role", "Sure", "Why"]

Acts = Literal["own", "component", "near", "apart", "aside"]

_SHOWN = 8  # answers
_NAMED = 6  # rows in a line


@dataclass(frozen=True)
class Role:
    """An answer, and how it acts on the row.

    Attributes
    ----------
    a, b : int
        Rows.
    word : {"same", "different"}
    confidence : float
    given : bool
        A link that was given, not an answer.
    holds : bool
        Whether the labels keep it.
    acts : {"own", "component", "near", "apart", "aside"}
        It names the row; it names a row that answers say is the same; it names the row that this
        one goes with, or what is the same as that; it holds that apart from the next cluster; it
        was set aside, as others contradict it.
    chain : tuple of int
        For "component", rows that are the same from the row to the answer's nearer end.
    """

    a: int
    b: int
    word: str
    confidence: float
    given: bool
    holds: bool
    acts: Acts
    chain: tuple[int, ...] = ()


@dataclass(frozen=True)
class Case:
    """Where the row would be without an answer.

    Attributes
    ----------
    role : Role
        The answer that is left out.
    outcome : str
        "stays", "joins", "merged", "new" or "alone", see
        ``linkshift.explain.counterfactuals.where_it_goes``; "parts" where it stays, and half of
        the cluster or more does not; "unknown" where rows would have to be looked at anew.
    clusters : tuple of int
        The clusters of today in question.
    size : int or None
        Rows of its cluster then, itself included.
    """

    role: Role
    outcome: Outcome | Literal["parts", "unknown"]
    clusters: tuple[int, ...] = ()
    size: int | None = None


@dataclass(frozen=True)
class Sure:
    """A pair to ask about to make sure, and the session's own guess."""

    a: int
    b: int
    probability: float


@dataclass(frozen=True, eq=False)
class Why:
    """Why a row is in its cluster; ``print`` it, or take ``to_dict``.

    Attributes
    ----------
    row, cluster, size : int
        The row, its cluster, and how many rows that has.
    same : tuple of int
        Other rows that answers say are the same, the nearest in answers first.
    nearest : int or None
        The row that answers name which this one goes with, where they do not name it itself.
    belief : float or None
        How probable it is that both belong together.
    voters : tuple of (int, int) or None
        How many of how many nearest rows that were looked at are in this cluster, for a row that
        was not looked at itself.
    outvoted : bool
        Whether its neighbours are of this cluster, and its piece is of another.
    other : tuple of (int, float, int) or None
        The next cluster, how probable it is that the row is the same as what answers name there, or
        as its heart, and which row that is.
    roles : tuple of Role
        Answers that act on it, the strongest first.
    n_answers : int
        All answers and links in force.
    cases : tuple of Case
        What if.
    sure : tuple of Sure
        What to ask to make sure.
    path : tuple of int
        From the row by the heart of its piece and a row that answers name to the heart of its
        cluster.
    ids : tuple or None
        Names of all rows, for the text.
    """

    row: int
    cluster: int
    size: int
    same: tuple[int, ...]
    nearest: int | None
    belief: float | None
    voters: tuple[int, int] | None
    outvoted: bool
    other: tuple[int, float, int] | None
    roles: tuple[Role, ...]
    n_answers: int
    cases: tuple[Case, ...]
    sure: tuple[Sure, ...]
    path: tuple[int, ...]
    ids: Sequence[Hashable] | None = None

    def name(self, row: int) -> str:
        """Name of a row: its id, or its number."""
        return str(row if self.ids is None else self.ids[row])

    def called(self, ids: Sequence[Hashable] | None) -> Why:
        """Call rows by other names."""
        return replace(self, ids=ids)

    def renumbered(self, numbers: Array) -> Why:
        """Call clusters by other numbers: that of each one."""
        cases = tuple(
            replace(case, clusters=tuple(int(numbers[k]) for k in case.clusters))
            for case in self.cases
        )
        other = None if self.other is None else (int(numbers[self.other[0]]), *self.other[1:])
        return replace(self, cluster=int(numbers[self.cluster]), other=other, cases=cases)

    def to_dict(self) -> dict[str, Any]:
        """Give all of it as dicts, lists, numbers and text, for JSON.

        Rows are numbers; "ids" tells the names of those that occur, when there are names.
        """
        found: dict[str, Any] = {
            "row": self.row,
            "cluster": self.cluster,
            "size": self.size,
            "text": self._lines(),
            "path": list(self.path),
            "links": [
                {
                    "a": role.a,
                    "b": role.b,
                    "word": role.word,
                    "confidence": role.confidence,
                    "given": role.given,
                    "holds": role.holds,
                    "role": role.acts,
                    "chain": list(role.chain),
                }
                for role in self.roles
            ],
            "what_if": self._cases(),
            "sure": [{"a": one.a, "b": one.b, "probability": one.probability} for one in self.sure],
            "other": None,
        }
        if self.other is not None:
            found["other"] = dict(zip(("k", "probability", "row"), self.other, strict=True))
        if self.ids is not None:
            found["ids"] = {str(row): self.name(row) for row in self.mentioned()}
        return found

    def mentioned(self) -> list[int]:
        """Give all rows that occur, in ascending order."""
        rows = {self.row, *self.path, *self.same}
        rows |= set() if self.nearest is None else {self.nearest}
        rows |= set() if self.other is None else {self.other[2]}
        for role in self.roles:
            rows |= {role.a, role.b, *role.chain}
        for one in self.sure:
            rows |= {one.a, one.b}
        return sorted(rows)

    def __repr__(self) -> str:
        return (
            f"<Why row {self.name(self.row)} is in cluster {self.cluster}: "
            f"{counted(len(self.roles), 'answer')} of {self.n_answers} act>"
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
        lines = self._lines()
        if self.cases:
            lines += ["What if:", *(f"  {line}" for line in self._cases())]
        return "\n".join([*lines, *self._asking()])

    # In words ------------------------------------------------------------------------------------

    def _lines(self) -> list[str]:
        """Say where it is, what holds it there, what is next, and which answers act."""
        others = "alone" if self.size == 1 else f"with {_others(self.size)}"
        lines = [f"Row {self.name(self.row)} is in cluster {self.cluster}, {others}."]
        lines += [*self._held(), *self._next()]
        if self.roles:
            lines.append("Answers that act on it:")
            lines += [f"  {self._role(role)}" for role in self.roles[:_SHOWN]]
            if len(self.roles) > _SHOWN:
                lines.append(f"  and {len(self.roles) - _SHOWN} more")
        elif self.n_answers:
            all_of = counted(self.n_answers, "answer")
            lines.append(f"Of {all_of} none acts on it but by what the model learned from them.")
        return lines

    def _held(self) -> list[str]:
        """Say what holds it in its cluster."""
        lines = []
        if self.voters is not None:
            mine, of = self.voters
            lines.append(
                f"It is one of many rows, and was not looked at: {mine} of the {of} nearest rows "
                "that were are in this cluster, by weight the most."
            )
        if self.same:
            lines.append(f"Answers say that it is the same as {self._rows(self.same)}.")
        elif self.nearest is not None and self.belief is not None:
            lines.append(
                f"It goes with row {self.name(self.nearest)}, which answers name: "
                f"{self.belief:.0%} for the same."
            )
        elif self.size > 1 and self.voters is None:
            lines.append("No answer names it or a row that it goes with: it is with rows like it.")
        if self.outvoted:
            lines.append("The rows about it are of another cluster, its neighbours of this one.")
        return lines

    def _next(self) -> list[str]:
        if self.other is None:
            return ["No other cluster is near."]
        k, probability, row = self.other
        return [f"Next is cluster {k}, by row {self.name(row)}: {probability:.0%} for the same."]

    def _asking(self) -> list[str]:
        if not self.sure:
            return []
        pairs = [
            f"({self.name(one.a)}, {self.name(one.b)}), now {one.probability:.0%} for the same"
            for one in self.sure
        ]
        return [f"To make sure, ask about {' and '.join(pairs)}."]

    def _rows(self, rows: Sequence[int]) -> str:
        names = [self.name(row) for row in rows]
        if len(names) > _NAMED:
            names = [*names[: _NAMED - 1], f"{len(names) - _NAMED + 1} more"]
        *first, last = names
        return f"rows {', '.join(first)} and {last}" if first else f"row {last}"

    def _answer(self, role: Role) -> str:
        return f"({self.name(role.a)}, {self.name(role.b)}) {role.word}"

    def _role(self, role: Role) -> str:
        text = self._answer(role)
        if role.confidence < 1.0:
            text += f" of confidence {role.confidence:g}"
        if role.given:
            text += ", a link"
        how = {
            "own": "its own",
            "component": f"through the same {' - '.join(self.name(row) for row in role.chain)}",
            "near": "of the row that it goes with",
            "apart": "holds that apart from the next cluster",
            "aside": "set aside, as others contradict it",
        }[role.acts]
        return f"{text}: {how}" + ("; holds" if role.holds else "; is violated")

    def _cases(self) -> list[str]:
        """Say what changes first; answers that alone decide nothing share a line."""
        idle = [case for case in self.cases if case.outcome == "stays"]
        lines = [self.what_if(case) for case in self.cases if case not in idle]
        if len(idle) < 2:
            return lines + [self.what_if(case) for case in idle]
        names = ", ".join(self._answer(case.role) for case in idle)
        return [*lines, f"without any one of these it stays in cluster {self.cluster}: {names}"]

    def what_if(self, case: Case) -> str:
        """Say a case in words."""
        others = "" if case.size is None else _others(case.size)
        match case.outcome:
            case "stays":
                text = f"it stays in cluster {case.clusters[0]}"
            case "parts":
                text = f"it is with {others}, apart from the rest of cluster {case.clusters[0]}"
            case "joins":
                text = f"it joins cluster {case.clusters[0]}"
            case "merged":
                *first, last = (str(cluster) for cluster in case.clusters)
                merged = f"clusters {', '.join(first)} and {last}"
                inside = self.cluster in case.clusters
                text = f"{merged} become one" if inside else f"it joins {merged}, which become one"
            case "new":
                text = f"it becomes part of a new cluster, with {others}"
            case "unknown":
                text = "other rows would be looked at, which takes longer than an answer may"
            case _:
                text = "it is alone in a cluster"
        return f"without {self._answer(case.role)} {text}"


def _others(size: int) -> str:
    return f"{size - 1:,} other" + ("" if size == 2 else "s")
