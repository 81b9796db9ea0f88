"""What is done already: one line of JSON for each task, in a file that only grows."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]
FILE = _ROOT / "benchmarks" / "results" / "compare.jsonl"


def source() -> str:
    """Name the present state of the package and of this benchmark by what their files hold."""
    found = hashlib.sha256()
    for folder in (_ROOT / "src", _ROOT / "benchmarks" / "auto", _ROOT / "benchmarks" / "compare"):
        for path in sorted(folder.rglob("*.py")):
            found.update(path.relative_to(_ROOT).as_posix().encode())
            found.update(path.read_bytes())
    return found.hexdigest()[:12]


@dataclass
class Journal:
    """Scores by task and method; ``path`` None keeps nothing."""

    path: Path | None
    source: str
    done: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def beside_results(cls, source: str, *, kept: bool) -> Journal:
        """Read what an earlier run has left."""
        if not kept:
            return cls(None, source)
        journal = cls(FILE, source)
        reuse = os.environ.get("LINKSHIFT_COMPARE_REUSE", "same")
        if reuse not in ("same", "any"):
            raise ValueError(f"LINKSHIFT_COMPARE_REUSE is 'same' or 'any', not {reuse!r}.")
        if FILE.is_file():
            for line in FILE.read_text().splitlines():
                if not line.endswith("}"):
                    continue  # a run was stopped while it wrote
                one = json.loads(line)
                if reuse == "any" or one["source"] == source:
                    journal.done[one["task"], one["method"]] = one["score"]
        return journal

    def get(self, task: str, method: str) -> dict[str, Any] | None:
        """Look up a score."""
        return self.done.get((task, method))

    def add(self, task: str, method: str, score: dict[str, Any]) -> None:
        """Keep a score, on disk at once."""
        self.done[task, method] = score
        if self.path is None:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = {"source": self.source, "task": task, "method": method, "score": score}
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
