"""Say what is still to be filled in before a release: `python -m release.ready`."""

from __future__ import annotations

import re
import sys
import tomllib

from release.contents import version
from release.project import ROOT

FILES = ("pyproject.toml", "CITATION.cff", "SECURITY.md", "CODE_OF_CONDUCT.md", "CHANGELOG.md")


def main() -> int:
    """Print what is missing; the exit code is how many things are."""
    found = missing(version(), {name: (ROOT / name).read_text(encoding="utf-8") for name in FILES})
    for one in found:
        print(one, file=sys.stderr)
    return len(found)


def missing(version: str, texts: dict[str, str]) -> list[str]:
    """List it, file by file, from the texts of `FILES`."""
    released = re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", version)
    urls = tomllib.loads(texts["pyproject.toml"])["project"].get("urls")
    found = [] if released else [f"src/linkshift/__init__.py: {version} is no version of a release"]
    found += [] if urls else ["pyproject.toml: no [project.urls]"]
    for name, field in (("CITATION.cff", "repository-code"), ("CITATION.cff", "date-released")):
        if not re.search(rf"^{field}: \S", texts[name], flags=re.MULTILINE):
            found.append(f"{name}: no {field}")
    for name in ("SECURITY.md", "CODE_OF_CONDUCT.md"):
        if "-ADDRESS" in texts[name]:
            found.append(f"{name}: no address to write to")
    if f"\n## {version}\n" not in texts["CHANGELOG.md"]:
        found.append(f"CHANGELOG.md: no heading `## {version}`")
    return found


if __name__ == "__main__":
    sys.exit(main())
