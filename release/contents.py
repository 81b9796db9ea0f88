"""Check what a wheel and an sdist hold: `python -m release.contents dist`."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

from release.project import ROOT

PACKAGE = ROOT / "src" / "linkshift"
# What the package is made of. Anything else in it is a slip: a data set, a table, a compiled file.
KINDS = {".py", ".typed", ".json", ".toml", ".html", ".css", ".js", ".svg"}
LEFT_BEHIND = {".pyc", ".nbi", ".nbc"}
DATA = {".npz", ".npy", ".parquet", ".arrow", ".h5", ".h5ad", ".mat", ".pkl", ".linkshift"}
WHEEL_MB = 2.0
SDIST_MB = 12.0  # most of it are the pictures of the documentation


def main(folder: str) -> int:
    """Say what is wrong with the two files of a folder; the exit code is how many complaints."""
    here = Path(folder)
    wheels, sdists = sorted(here.glob("*.whl")), sorted(here.glob("*.tar.gz"))
    if len(wheels) != 1 or len(sdists) != 1:
        print(f"{folder} should hold one wheel and one sdist, and no older ones", file=sys.stderr)
        return 1
    shipped, kept = names_in_wheel(wheels[0]), names_in_sdist(sdists[0])
    found = wheel_problems(wheels[0].name, shipped, package_files(), version())
    found += sdist_problems(sdists[0].name, kept, committed_files(), version())
    found += too_large(wheels[0], WHEEL_MB) + too_large(sdists[0], SDIST_MB)
    for problem in found:
        print(problem, file=sys.stderr)
    if not found:
        for path, n in ((wheels[0], len(shipped)), (sdists[0], len(kept))):
            print(f"{path.name}: {n} files, {path.stat().st_size / 1e6:.1f} MB")
    return min(len(found), 100)


def version() -> str:
    """Read the version where it stands."""
    text = (PACKAGE / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "(.+)"$', text, flags=re.MULTILINE)
    if not found:
        raise ValueError("src/linkshift/__init__.py has no line __version__ = ...")
    return found[1]


def package_files() -> set[str]:
    """List the files of the package in the source, by their names in a wheel."""
    return {
        path.relative_to(PACKAGE.parent).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and path.suffix not in LEFT_BEHIND and "__pycache__" not in path.parts
    }


def committed_files() -> set[str]:
    """List what git keeps; nothing where there is no git, as in an unpacked sdist."""
    if not (ROOT / ".git").exists():
        return set()
    command = ["git", "-C", str(ROOT), "ls-files", "-z"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {name for name in listed.split("\0") if name and (ROOT / name).is_file()}


def names_in_wheel(path: Path) -> set[str]:
    """List the files of a wheel."""
    with zipfile.ZipFile(path) as archive:
        return {name for name in archive.namelist() if not name.endswith("/")}


def names_in_sdist(path: Path) -> set[str]:
    """List the files of an sdist, with the folder that it unpacks to."""
    with tarfile.open(path) as archive:
        return {member.name for member in archive if member.isfile()}


def wheel_problems(name: str, files: set[str], package: set[str], version: str) -> list[str]:
    """Tell what a wheel lacks, and what should not be in it."""
    info = f"linkshift-{version}.dist-info"
    papers = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
    expected = package | {f"{info}/{paper}" for paper in papers}
    odd = {one for one in package if PurePosixPath(one).suffix not in KINDS}
    return [
        *(
            []
            if name == f"linkshift-{version}-py3-none-any.whl"
            else [f"{name}: not for {version}"]
        ),
        *(f"{name} lacks {one}" for one in sorted(expected - files)),
        *(f"{name} should not have {one}" for one in sorted((files - expected) | (odd & files))),
    ]


def sdist_problems(name: str, files: set[str], committed: set[str], version: str) -> list[str]:
    """Tell what an sdist lacks of the repository, and what should not be in it."""
    top = f"linkshift-{version}/"
    expected = {top + one for one in committed | {"pyproject.toml", "README.md", "LICENSE"}}
    return [
        *([] if name == f"linkshift-{version}.tar.gz" else [f"{name}: not for {version}"]),
        *(f"{name} lacks {one}" for one in sorted(expected - files)),
        *(f"{name} should not have {one}" for one in sorted(files) if is_slip(one)),
    ]


def is_slip(name: str) -> bool:
    """Tell data sets and caches, which are never part of the source."""
    path = PurePosixPath(name)
    caches = {one for one in path.parts if one == "__pycache__" or one.endswith("_cache")}
    return bool(caches) or path.suffix in DATA | LEFT_BEHIND


def too_large(path: Path, megabytes: float) -> list[str]:
    """Complain of a file above its size."""
    size = path.stat().st_size / 1e6
    return [f"{path.name} has {size:.1f} MB: more than {megabytes}"] if size > megabytes else []


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
