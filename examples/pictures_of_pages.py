"""Follow pages of the documentation in an empty folder, and keep the pictures that they make.

``python examples/pictures_of_pages.py docs/start_*.md`` runs the blocks of code of each page, as
its reader does, and copies to ``docs/images`` what the page both shows from there and has written.
"""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path

IMAGES = Path(__file__).parent.parent / "docs" / "images"
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"\]\(images/([\w.-]+)\)")


def follow(text: str, name: str) -> None:
    """Run the blocks of a page, in their order and in this folder."""
    names: dict[str, object] = {"__name__": "page"}
    for language, code in BLOCK.findall(text):
        if language == "python":
            exec(compile(code, name, "exec"), names)
        else:
            for words in commands(code):
                subprocess.run(words, check=True)


def commands(code: str) -> Iterator[list[str]]:
    """Commands of ours in a block for the shell; those that install something are left out."""
    for line in code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["linkshift"]:
            yield [str(Path(sys.executable).with_name("linkshift")), *words[1:]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=IMAGES)
    given = parser.parse_args()
    out = given.out.resolve()
    for page in given.pages:
        text = page.read_text(encoding="utf-8")
        with tempfile.TemporaryDirectory() as folder, chdir(folder):
            follow(text, page.name)
            made = [Path(name) for name in SHOWN.findall(text) if Path(name).exists()]
            for picture in made:
                shutil.copy(picture, out)
        print(page.name, *made)


if __name__ == "__main__":
    main()
