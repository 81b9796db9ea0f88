"""What is done already: one line of JSON for each task, in a file that only grows."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from benchmarks.harness import Cell

_ROOT = Path(__file__).resolve().parents[2]
FILE = _ROOT / "benchmarks" / "results" / "compare.jsonl"


def source(of: Sequence[str] = ("src", "benchmarks/auto", "benchmarks/compare")) -> str:
    """Name the present state of the package and of a benchmark by what their files hold."""
    found = hashlib.sha256()
    for name in of:
        place = _ROOT / name
        if not place.exists():
            raise ValueError(f"There is no {name} to name the state of.")
        for path in sorted(place.rglob("*.py")) if place.is_dir() else [place]:
            found.update(path.relative_to(_ROOT).as_posix().encode())
            found.update(path.read_bytes())
    return found.hexdigest()[:12]


class Named(Protocol):
    """What has a name in tables."""

    @property
    def text(self) -> str:
        """What tables call it."""


class Drawn(Protocol):
    """One draw of one case on one set."""

    @property
    def name(self) -> str:
        """The set."""

    @property
    def case(self) -> Named:
        """How links or answers are."""

    @property
    def draw(self) -> int:
        """Its number."""


T = TypeVar("T", bound=Drawn)
S = TypeVar("S")


@dataclass(frozen=True)
class Record(Generic[T, S]):
    """A score, and what it is of."""

    task: T
    method: str
    score: S

    @property
    def about(self) -> dict[str, Cell]:
        """Set, case and draw."""
        return {"set": self.task.name, "case": self.task.case.text, "draw": self.task.draw}


@dataclass
class Journal:
    """Scores by task and method; ``path`` None keeps nothing."""

    path: Path | None
    source: str | Mapping[str, str]
    done: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def beside_results(
        cls,
        source: str | Mapping[str, str],
        *,
        kept: bool,
        file: Path | None = None,
        variable: str = "LINKSHIFT_COMPARE_REUSE",
        own: Sequence[str] = (),
    ) -> Journal:
        """Read what an earlier run has left.

        ``source`` is one for all methods, or one for each; ``variable`` of the environment says
        whether scores of other sources are taken too: "any", or "rivals" for those of all methods
        but our ``own``.
        """
        if not kept:
            return cls(None, source)
        journal = cls(FILE if file is None else file, source)
        reuse = os.environ.get(variable, "same")
        allowed = ("same", "any", "rivals") if own else ("same", "any")
        if reuse not in allowed:
            words = " or ".join(map(repr, allowed))
            raise ValueError(f"{variable} is {words}, not {reuse!r}.")
        if journal.path is not None and journal.path.is_file():
            for line in journal.path.read_text().splitlines():
                if not line.endswith("}"):
                    continue  # a run was stopped while it wrote
                one = json.loads(line)
                anyhow = reuse == "any" or (reuse == "rivals" and one["method"] not in own)
                if anyhow or one["source"] == journal.source_of(one["method"]):
                    journal.done[one["task"], one["method"]] = one["score"]
        return journal

    def source_of(self, method: str) -> str | None:
        """Name what made the scores of a method; None for one that is not run."""
        return self.source if isinstance(self.source, str) else self.source.get(method)

    def get(self, task: str, method: str) -> dict[str, Any] | None:
        """Look up a score."""
        return self.done.get((task, method))

    def add(self, task: str, method: str, score: dict[str, Any]) -> None:
        """Keep a score, on disk at once."""
        self.done[task, method] = score
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = {"source": self.source_of(method), "task": task, "method": method, "score": score}
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
