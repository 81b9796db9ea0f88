"""Write the conda recipe from what pyproject.toml declares: `python -m release.conda`.

Version and bounds are in one place each, and `tests/test_release.py` tells when the recipe is older
than they are. A conda package has no extras: it needs what `all` needs, so that the command and
pictures work, and of what the other extras bring it says which versions go with it.
"""

from __future__ import annotations

import re
from pathlib import Path

from release.contents import version
from release.project import ROOT, declared, extras, parts, requirements

RECIPE = ROOT / "release" / "conda" / "recipe.yaml"
# Where conda-forge calls a package otherwise.
NAMES = {
    "matplotlib": "matplotlib-base",
    "opencv-python-headless": "py-opencv",
    "torch": "pytorch",
}
TEMPLATE = """\
# Written by `python -m release.conda` from pyproject.toml: change it there. Its source is this
# checkout; in a feedstock that becomes the address and the sha256 of the released sdist.
schema_version: 1

package:
  name: linkshift
  version: "{version}"

source:
  path: ../..

build:
  number: 0
  noarch: python
  script: ${{{{ PYTHON }}}} -m pip install . --no-deps --no-build-isolation -vv
  python:
    entry_points:
{entry_points}

requirements:
  host:
    - python {python}
    - pip
    - hatchling
  run:
    - python {python}
{run}
  run_constraints:
{constraints}

tests:
  - python:
      imports:
        - linkshift
  - script:
      - linkshift --version
      - linkshift --help

about:
  summary: "{summary}"
  license: {license}
  license_file: LICENSE
"""


def recipe() -> str:
    """Write out the recipe."""
    project = declared()
    others = [name for name in extras() if name not in parts("all")]
    run = [*project["dependencies"], *requirements("all")]
    return TEMPLATE.format(
        version=version(),
        python=project["requires-python"],
        entry_points=lines([f"{name} = {where}" for name, where in project["scripts"].items()], 6),
        run=lines([conda(one) for one in run], 4),
        constraints=lines([conda(one) for one in requirements(*others) if one not in run], 4),
        summary=project["description"],
        license=project["license"],
    )


def conda(requirement: str) -> str:
    """Say a requirement in conda's words: its own names, no extras, a blank before the bound."""
    found = re.fullmatch(r"([A-Za-z0-9_.-]+?)(?:\[.*\])?(>=[0-9.]+)", requirement)
    if not found:
        raise ValueError(f"{requirement}: not a name and a lower bound")
    name, bound = found.groups()
    return f"{NAMES.get(name, name)} {bound}"


def lines(entries: list[str], indent: int) -> str:
    """Write a list in YAML."""
    return "\n".join(f"{' ' * indent}- {one}" for one in entries)


if __name__ == "__main__":
    Path(RECIPE).write_text(recipe(), encoding="utf-8")
