"""Pages that are read as a browser reads them."""

import json
import re
from collections import Counter
from functools import cache
from html.parser import HTMLParser

import numpy as np

from linkshift import Links, bandwidth_path
from linkshift.pictures.page import Report

VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """A page taken apart; raises where tags are not balanced."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, tuple[str, ...]]] = []
        self.attributes: list[tuple[str, str, str]] = []
        self.inside: dict[str, str] = {}
        self.tables: list[list[list[str]]] = []
        self.ids: Counter[str] = Counter()
        self.scripts: list[str] = []
        self.words = ""
        self.feed(page)
        self.close()
        assert not self.open, f"never closed: {self.open}"
        assert max(self.ids.values()) == 1

    def handle_startendtag(self, tag, attrs):
        assert self.open.count("svg"), f"<{tag}/> outside of svg"
        self._note(tag, attrs)

    def handle_starttag(self, tag, attrs):
        self._note(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
        elif tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> too much"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "script" in self.open:
            self.scripts[-1] += data
        elif "style" not in self.open:
            self.words += data
        if {"td", "th"} & set(self.open):
            self.tables[-1][-1][-1] += data

    def _note(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), "an attribute twice"
        self.tags.append((tag, tuple(key for key, _ in attrs)))
        self.attributes += [(tag, key, value) for key, value in attrs]
        self.ids.update(value for key, value in attrs if key == "id")

    def table(self, *head: str) -> list[list[str]]:
        """Rows below the head of the one table with this head."""
        (found,) = (rows for rows in self.tables if rows[0] == list(head))
        return found[1:]

    def values(self, key: str) -> list[str]:
        return [value for _, found, value in self.attributes if found == key]

    @property
    def data(self) -> dict:
        return json.loads(self.scripts[0])

    def dots(self) -> tuple[np.ndarray, np.ndarray]:
        """Places and clusters of the points drawn, in the order of the data."""
        places, clusters = [], []
        for d, c in self._dot_paths:
            found = re.findall(r"M(-?\d+) (-?\d+)h0", d)
            assert "".join(f"M{x} {y}h0" for x, y in found) == d
            places += [(int(x), int(y)) for x, y in found]
            clusters += [int(c)] * len(found)
        return np.array(places), np.array(clusters)

    @property
    def _dot_paths(self) -> list[tuple[str, str]]:
        pairs = []
        for i, (_, key, c) in enumerate(self.attributes):
            if key == "data-c":
                (d,) = [v for _, k, v in self.attributes[i : i + 3] if k == "d"]
                pairs.append((d, c))
        return pairs


LINKS = Links(
    must=[(0, 3), (6, 9), (7, 8)],
    cannot=[(5, 6), (9, 12)],
    must_confidence=[1, 0.5, 0.25],
    cannot_confidence=[1, 0.75],
)


def blobs(n=120, d=2, k=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % k
    return rng.normal(size=(k, d))[y] * 6 + rng.normal(size=(n, d)), y


@cache
def small_path():
    X, _ = blobs()
    return bandwidth_path(X, LINKS, bandwidths=[0.3, 1, 3, 30], n_jobs=1)


def full_report(**changes):
    """A report with every section."""
    X, y = blobs()
    labels = np.where(np.arange(len(y)) < 5, -1, y)
    values = {
        "X": X,
        "labels": labels,
        "title": "wines.csv",
        "links": LINKS,
        "ids": [f"w{i}" for i in range(len(y))],
        "names": ["acid", "sugar"],
        "method": "cms",
        "why": "there are links of both kinds",
        "done": "Constrained mean shift with 5 links.",
        "parameters": {"bandwidth": None, "max_iter": 80, "scale": "standard", "refine": True},
        "path": small_path(),
        "level": 1,
        "modes": [[0.0, 0.0], [1.0, 1.0]],
        "view_importances": [[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]],
        "view_names": ["colour", "smell"],
        "seconds": 1.5,
        "seed": 7,
        "versions": {"linkshift": "1.2.3", "Python": "3.12.0"},
        "command": ["linkshift", "cluster", "my wines.csv", "--links", "l.csv"],
        "n_conflicts": 0,
    }
    return Report(**(values | changes))


NASTY = [
    "</script><img src=x onerror=alert(1)>",
    "<!--<script>",
    "\"' onmouseover='alert(1)",
    "]]>&lt;&amp;&#60;",
    "\u202eevil\u2028\x00\x1b[31m\ud800",
    "日本語 🦊 é",
    "$title ${body} $$",
    "x" * 5000,
]
