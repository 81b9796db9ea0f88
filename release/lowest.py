"""Print the lowest versions that pyproject.toml allows, as constraints for pip."""

from __future__ import annotations

import re

from release.project import declared, extras, requirements

NUMBERED = ("opencv-python-headless",)  # 4.9 is there only as 4.9.0.80


def lowest() -> list[str]:
    """Take everything a user may install; tools for the developers are taken as they are."""
    needed = [*declared()["dependencies"], *requirements(*extras())]
    return list(dict.fromkeys(constraint(one) for one in needed))


def constraint(requirement: str) -> str:
    """Turn a lower bound into the version itself; a constraint names no extras."""
    exact = re.sub(r"\[.*\]", "", requirement).replace(">=", "==")
    return f"{exact}.*" if exact.startswith(NUMBERED) else exact


if __name__ == "__main__":
    print("\n".join(lowest()))
