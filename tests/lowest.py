"""Print the lowest versions that pyproject.toml allows, as constraints for pip."""

import re
import tomllib
from pathlib import Path

EXTRAS = ("plot", "cli", "image", "anndata", "dask")


def lowest():
    """Everything a user may install: tools for the developers are taken as they are."""
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = project["dependencies"] + [
        one for extra in EXTRAS for one in project["optional-dependencies"][extra]
    ]
    # A constraint names no extras.
    return [re.sub(r"\[.*\]", "", one).replace(">=", "==") for one in needed]


if __name__ == "__main__":
    print("\n".join(lowest()))
