"""Install a wheel into empty environments, and try it: `python -m release.tryout dist none all`.

A word says what is installed with it: `none`, an extra, or several joined by commas. Without words
they are none, every extra by itself, and `all`. Only wheels are taken, of the package and of all
that it needs, and no compiler can be found: whoever asked for one would fail.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from release.contents import version
from release.project import LARGE, ROOT, extras, parts

INSIDE = ROOT / "release" / "inside.py"
# What would lead back to the source, or to caches made by it.
NOT_INHERITED = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "NUMBA_CACHE_DIR", "LINKSHIFT_DATA")
NOTHING = str(ROOT / "release" / "no-compiler")  # there is no such file


def main(words: list[str] | None = None) -> None:
    """Try the wheel of a folder; the first check that fails ends it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition(":")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("wanted", nargs="*", metavar="none | EXTRA[,EXTRA]")
    asked = parser.parse_args(words)
    (wheel,) = asked.folder.resolve().glob(f"linkshift-{version()}-*.whl")
    usual = ["none", *(name for name in extras() if name not in LARGE), "all"]
    with ThreadPoolExecutor(2) as pool:  # one installs while the other compiles
        for done in pool.map(lambda word: try_one(wheel, word), asked.wanted or usual):
            print(done, flush=True)


def try_one(wheel: Path, word: str) -> str:
    """Make an environment, try the wheel in it, remove it again."""
    started = time.monotonic()
    wanted = [] if word == "none" else word.split(",")
    named = list(dict.fromkeys(part for name in wanted for part in parts(name)))
    with tempfile.TemporaryDirectory(prefix="linkshift-") as folder:
        run(sys.executable, "-m", "venv", folder)
        python = str(interpreter(Path(folder)))
        extra = f"[{','.join(wanted)}]" if wanted else ""
        pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
        run(*pip, "--only-binary", ":all:", f"linkshift{extra} @ {wheel.as_uri()}")
        run(python, "-m", "pip", "check", "--quiet", "--disable-pip-version-check")
        run(python, "-I", str(INSIDE), version(), *named, cwd=folder)
    return f"{wheel.name} with {word}: works ({time.monotonic() - started:.0f} s)"


def interpreter(environment: Path) -> Path:
    """Find the Python of an environment, whatever the system."""
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def run(*command: str, cwd: str | None = None) -> None:
    """Run a command without what leads back to the source."""
    clean = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
    clean["MPLBACKEND"] = "Agg"
    clean |= {"CC": NOTHING, "CXX": NOTHING}
    if os.name != "nt":  # Windows looks for its own libraries there
        clean["PATH"] = str(Path(command[0]).parent)
    done = subprocess.run(command, cwd=cwd, env=clean, check=False)
    if done.returncode:
        sys.exit(f"failed: {' '.join(command)}")


if __name__ == "__main__":
    main()
