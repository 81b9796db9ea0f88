"""What `pyproject.toml` declares: dependencies, extras, and which of them are for users."""

from __future__ import annotations

import re
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ("dev", "docs", "rivals", "test")  # extras of whoever works on linkshift
LARGE = ("deep",)  # extras of gigabytes: only where somebody names them
_OWN = re.compile(r"linkshift\[(.*)\]")


@cache
def declared() -> dict[str, Any]:
    """Read the table `project`."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    project: dict[str, Any] = tomllib.loads(text)["project"]
    return project


def extras() -> list[str]:
    """List those that a user may want; `all` is made of some of them."""
    return [name for name in declared()["optional-dependencies"] if name not in (*TOOLS, "all")]


def parts(extra: str) -> list[str]:
    """List the extras that an extra is made of: itself, or those that it names."""
    found: list[str] = []
    for one in declared()["optional-dependencies"][extra]:
        own = _OWN.fullmatch(one)
        for part in own[1].split(",") if own else [extra]:
            found += [part] if part == extra else parts(part)
    return list(dict.fromkeys(found))


def requirements(*names: str) -> list[str]:
    """List what extras need beside what linkshift itself needs, each once."""
    optional = declared()["optional-dependencies"]
    found = [one for name in names for part in parts(name) for one in optional[part]]
    return list(dict.fromkeys(one for one in found if not _OWN.fullmatch(one)))


if __name__ == "__main__":  # for make: extras, but for those that are named
    print(",".join(name for name in extras() if name not in {*LARGE, *sys.argv[1:]}))
