"""Print the lowest versions that pyproject.toml allows, as constraints for pip."""

from __future__ import annotations

import re

from release.project import declared, extras, requirements


def lowest() -> list[str]:
    """Take everything a user may install; tools for the developers are taken as they are."""
    needed = [*declared()["dependencies"], *requirements(*extras())]
    # A constraint names no extras.
    return list(dict.fromkeys(re.sub(r"\[.*\]", "", one).replace(">=", "==") for one in needed))


if __name__ == "__main__":
    print("\n".join(lowest()))
