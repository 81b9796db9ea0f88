"""The page's modules as one, for a notebook, whose front end takes a single module of JavaScript.

A browser loads modules one by one from the server. Where there is none, each becomes a function
that is called once, in an order in which whatever is imported comes before; names stay their
module's own. Only what the page's modules use is understood: named imports from neighbours, and
exports of what is declared. Anything else is refused, so that nobody finds out in a notebook.
"""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["bundle"]

_IMPORT = re.compile(
    r"""^import\s+(?:\{(?P<names>[^}]*)\}|\*\s+as\s+(?P<all>\w+))\s+from\s+"\./(?P<file>[\w.-]+)";?""",
    re.MULTILINE,
)
_DECLARED = re.compile(
    r"^export\s+(?P<what>(?:async\s+)?function\*?|class|const|let)\s+(?P<name>\w+)", re.MULTILINE
)
_LISTED = re.compile(r"^export\s+\{(?P<names>[^}]*)\};?", re.MULTILINE)
_LEFT = re.compile(r"^(?:import|export)\b.*|\bimport\s*\(", re.MULTILINE)
_RENAMED = re.compile(r"^(\w+)\s+as\s+(\w+)$")


def bundle(entry: str, read: Callable[[str], str]) -> str:
    r"""Put a module and all that it imports into one, with the exports of the entry.

    Parameters
    ----------
    entry : str
        Name of the file to begin with.
    read : callable
        Gives the text of a file by its name.

    Returns
    -------
    str
        One module.

    Examples
    --------
    >>> files = {"a.js": 'import { two } from "./b.js";\nexport const four = two * 2;\n',
    ...          "b.js": "export const two = 2;\n"}
    >>> print(bundle("a.js", files.__getitem__))
    const $b_js = (() => {
    const two = 2;
    return { two };
    })();
    const $a_js = (() => {
    const { two } = $b_js;
    const four = two * 2;
    return { four };
    })();
    export const { four } = $a_js;
    <BLANKLINE>
    """
    texts: dict[str, str] = {}
    exports: dict[str, list[str]] = {}
    _visit(entry, read, (), texts, exports)
    parts = [
        f"const {_variable(name)} = (() => {{\n{text.strip()}\n"
        f"return {{ {', '.join(exports[name])} }};\n}})();\n"
        for name, text in texts.items()
    ]
    return f"{''.join(parts)}export const {{ {', '.join(exports[entry])} }} = {_variable(entry)};\n"


def _visit(
    name: str,
    read: Callable[[str], str],
    above: tuple[str, ...],
    texts: dict[str, str],
    exports: dict[str, list[str]],
) -> None:
    """Take in what a module imports, then the module."""
    if name in above:
        raise ValueError(f"Modules import each other: {' -> '.join((*above, name))}.")
    if name in texts:
        return
    text = read(name)
    for found in _IMPORT.finditer(text):
        _visit(found["file"], read, (*above, name), texts, exports)
    names = [found["name"] for found in _DECLARED.finditer(text)]
    for found in _LISTED.finditer(text):
        names += _listed(found["names"])
    text = _IMPORT.sub(_as_constants, text)
    text = _DECLARED.sub(r"\g<what> \g<name>", _LISTED.sub("", text))
    if left := _LEFT.search(text):
        raise ValueError(f"{name} has what is not understood here: {left[0]!r}.")
    texts[name], exports[name] = text, names


def _as_constants(found: re.Match[str]) -> str:
    """Take names out of the object that another module has become."""
    source = _variable(found["file"])
    if found["all"]:
        return f"const {found['all']} = {source};"
    names = [_RENAMED.sub(r"\1: \2", name) for name in _listed(found["names"])]
    return f"const {{ {', '.join(names)} }} = {source};"


def _listed(names: str) -> list[str]:
    return [name.strip() for name in names.split(",") if name.strip()]


def _variable(name: str) -> str:
    return "$" + re.sub(r"\W", "_", name)
