"""The page's modules as one: what a browser makes of it is what it makes of the modules."""

import json
import re
import shutil
import subprocess
from importlib.resources import files

import pytest

from linkshift.web.bundle import bundle

FILES = {
    "main.js": (
        'import { add, twice as doubled } from "./sums.js";\n'
        'import * as words from "./words.js";\n'
        "const hidden = 1;\n"
        "export async function later() { return hidden; }\n"
        "export const seven = add(doubled(2), 3);\n"
        "export class Thing { name() { return words.name; } }\n"
        "function last() { return new Thing().name() + hidden; }\n"
        "export { last };\n"
    ),
    "sums.js": (
        'import { zero } from "./zero.js";\n'
        "const hidden = 100;\n"
        "export function add(a, b) { return a + b + zero; }\n"
        "export function twice(a) { return hidden - hidden + 2 * a; }\n"
    ),
    "words.js": 'import {\n  zero,\n} from "./zero.js";\nexport let name = "n" + zero;\n',
    "zero.js": "export const zero = 0;\n",
}


def test_each_module_stands_once_and_after_what_it_imports():
    text = bundle("main.js", FILES.__getitem__)
    order = re.findall(r"^const \$(\w+)_js = \(\(\) => \{", text, re.MULTILINE)
    assert sorted(order) == ["main", "sums", "words", "zero"]
    assert order.index("zero") < order.index("sums") < order.index("main")
    assert order.index("words") < order.index("main")


@pytest.mark.skipif(shutil.which("node") is None, reason="no node to run modules with")
def test_it_does_what_the_modules_do(tmp_path):
    """Names that two modules have for themselves stay apart."""
    told = {}
    (tmp_path / "modules").mkdir()
    for name, text in FILES.items():
        (tmp_path / "modules" / name).write_text(text)
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "whole.js").write_text(bundle("main.js", FILES.__getitem__))
    for path in ("./modules/main.js", "./whole.js"):
        script = (
            f'import * as m from "{path}";\n'
            "console.log(JSON.stringify([Object.keys(m).sort(), m.seven, m.last(), "
            "await m.later(), new m.Thing().name()]));\n"
        )
        (tmp_path / "run.js").write_text(script)
        done = subprocess.run(
            ["node", "run.js"], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        told[path] = json.loads(done.stdout)
    assert told["./whole.js"] == told["./modules/main.js"]
    assert told["./whole.js"][1:] == [7, "n01", 1, "n0"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('import { main } from "./main.js";\n', "import each other"),
        ("export default 3;\n", "not understood"),
        ('import x from "./zero.js";\n', "not understood"),
        ('export const x = await import("./zero.js");\n', "not understood"),
        ('import { x } from "https://example.org/x.js";\n', "not understood"),
        ('export * from "./zero.js";\n', "not understood"),
    ],
)
def test_what_it_does_not_understand_is_refused(text, why):
    modules = {**FILES, "main.js": 'import { x } from "./odd.js";\n', "odd.js": text}
    with pytest.raises(ValueError, match=why):
        bundle("main.js", modules.__getitem__)


def test_the_page_can_be_bundled():
    folder = files("linkshift.web") / "static"
    text = bundle("main.js", lambda name: (folder / name).read_text(encoding="utf-8"))
    assert re.search(r"^export const \{[^}]*\bmount\b", text, re.MULTILINE)
