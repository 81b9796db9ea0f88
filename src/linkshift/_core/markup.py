"""How HTML is written: everything is text and escaped, but what was written as HTML here."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial

# Controls, halves of surrogate pairs and code points that are no characters: not valid in HTML.
_NO_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


class Html(str):
    """Text that is HTML already."""

    __slots__ = ()


def plain(value: object, longest: int | None = 120) -> str:
    """Text that any encoding of HTML or JSON may hold, shortened."""
    words = _NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", str(value))
    return words if longest is None or len(words) <= longest else words[: longest - 1] + "…"


def joined(*parts: object, by: str = "") -> Html:
    """Join HTML, and text as HTML with nothing in it that means something there."""
    return Html(by.join(p if isinstance(p, Html) else html.escape(plain(p, None)) for p in parts))


class _Tags:
    """Elements by the names of their tags; an attribute that is None is left out.

    In names of attributes an underscore stands for a hyphen, and one at the end for nothing.

    Examples
    --------
    >>> from linkshift._core.markup import tag
    >>> print(tag.p("1 < 2, ", tag.b("always"), class_="note", data_row=3))
    <p class="note" data-row="3">1 &lt; 2, <b>always</b></p>
    """

    def __getattr__(self, name: str) -> Callable[..., Html]:
        return partial(_element, name)


def _element(name: str, *children: object, **attributes: object) -> Html:
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{joined(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name == "path":
        return Html(f"<path{given}/>")
    if name == "img":
        return Html(f"<img{given}>")
    return Html(f"<{name}{given}>{joined(*children)}</{name}>")


tag = _Tags()


def word(value: object) -> Html:
    """Give a user's word as HTML; its direction of writing does not reach what follows."""
    return tag.bdi(plain(value))


def section(title: str, ident: str, *content: object) -> Html:
    """Write a section of the page."""
    return tag.section("\n", tag.h2(title), "\n", *content, "\n", id=ident)


def head(*names: object) -> list[Html]:
    """Write the cells that name columns; those named >so hold numbers."""
    return [
        tag.th(name[1:], scope="col", class_="right")
        if isinstance(name, str) and name.startswith(">")
        else tag.th(name, scope="col")
        for name in names
    ]


def row(*cells: object, name: object = None, **attributes: object) -> Html:
    """Write a row of a table, with a name or not; cells that are no HTML are numbers."""
    first = [] if name is None else [tag.th(name, scope="row")]
    rest = (cell if isinstance(cell, Html) else tag.td(cell, class_="right") for cell in cells)
    return tag.tr(*first, *rest, **attributes)


def table(columns: Sequence[Html], rows: Iterable[Html], look: str | None = None) -> Html:
    """Write a table that scrolls where the page is narrow."""
    start = [tag.thead(tag.tr(*columns))] if columns else []
    body = tag.tbody("\n", joined(*rows, by="\n"), "\n")
    return tag.div(tag.table(*start, body, class_=look), class_="wide")


def notebook(title: object, columns: Sequence[str] = (), rows: Iterable[Html] = ()) -> Html:
    """Write what a notebook shows of a value: a line, and a table that the notebook styles."""
    found = [*rows]
    body = [table(head(*columns), found)] if found else []
    return tag.div(tag.p(tag.strong(title)), *body)
