"""The page of a report: valid, harmless, without network, with the right numbers."""

import base64
import hashlib
import io
import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from linkshift import Links, bandwidth_path
from linkshift._core.markup import plain
from linkshift.memberships import membership
from linkshift.metrics import link_satisfaction
from linkshift.pictures.charts import Axis
from linkshift.pictures.colours import CANNOT, MUST, PALETTE, contrast, lightened, rgb
from linkshift.pictures.page import Report, page, render, rows, sections, svg
from linkshift.pictures.scene import Clusters, Plane

MINUS = "\N{MINUS SIGN}"
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


# --- the page -----------------------------------------------------------------------------------


def test_is_balanced_and_has_each_section():
    page = Page(render(full_report()))
    sections = ["picture", "clusters", "links", "bandwidths", "views", "reproduce"]
    assert [i for i in page.ids if i in sections] == sections
    assert page.tags[0][0] == "html"


def test_leaves_out_what_is_not_given():
    page = Page(render(Report(X=[[0.0, 1.0]], labels=[0])))
    assert not {"links", "bandwidths", "views"} & set(page.ids)
    assert "1 row → 1 cluster." in page.words


def test_reads_nothing_from_elsewhere():
    html = render(full_report())
    page = Page(html)
    assert not re.findall(r"https?:|//[a-z]|@import|url\(", html.replace("// Everything", ""))
    assert not {"src", "href", "xlink:href", "action", "srcset"} & {
        k for _, k, _ in page.attributes
    }
    assert not {"link", "img", "iframe", "object"} & {tag for tag, _ in page.tags}


def test_policy_allows_only_the_page_s_own_script():
    page = Page(render(full_report()))
    (policy,) = [v for v in page.values("content") if "script-src" in v]
    digest = base64.b64encode(hashlib.sha256(page.scripts[1].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy
    assert "default-src 'none'" in policy


def test_same_report_same_bytes():
    assert render(full_report()) == render(full_report())


def test_needs_no_matplotlib():
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from linkshift import report\n"
        "three = report.Report(X=[[0, 1], [2, 3]], labels=[0, 1])\n"
        "print(len(report.render(three)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(run.stdout) > 1000


# --- what users write ---------------------------------------------------------------------------

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


def with_words(words: list[str]) -> Report:
    """A report in which all that users may choose is some of the words."""
    word = [words[i % len(words)] for i in range(400)]
    return full_report(
        title=word[0],
        names=word[1:3],
        ids=word[3:123],
        method="m" + word[4],
        why="w" + word[5],
        done="d" + word[6],
        parameters={"p" + word[7]: word[8]},
        view_names=word[9:11],
        versions={"v" + word[11]: word[12]},
        command=["linkshift", *word[13:40], "--links", word[40]],
        labels=np.array([f"c{i % 3} {word[i % 3]}" for i in range(120)]),
    )


@cache
def harmless() -> list[tuple[str, tuple[str, ...]]]:
    return Page(render(with_words(["plain"]))).tags


@pytest.mark.parametrize("word", NASTY)
def test_nasty_words_are_text(word):
    html = render(with_words([word]))
    html.encode("utf-8")
    page = Page(html)
    assert page.tags == harmless()
    assert page.data["ids"][0] == plain(word)
    assert set(page.data["ids"]) == {plain(word)}


@settings(max_examples=30, deadline=None)
@given(words=st.lists(st.text(st.characters(), min_size=1, max_size=40), min_size=1, max_size=5))
def test_words_never_change_the_tags(words):
    html = render(with_words(words))
    assert Page(html).tags == harmless()
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", html)


def test_command_is_quoted_and_whole():
    words = ["linkshift", "cluster", "it's <mine> & " + "long " * 60 + ".csv", "--links=$x"]
    page = Page(render(full_report(command=words)))
    assert shlex.join(words) in page.words


# --- numbers ------------------------------------------------------------------------------------


def test_head_line():
    words = Page(render(full_report())).words
    assert "120 rows → 3 clusters, 5 noise, 2 of 5 links kept." in words
    assert "Method cms: there are links of both kinds." in words
    assert "Constrained mean shift with 5 links." in words


def highlights(X, labels, label, names):
    """The literal way: mean of a cluster in spreads of all rows, the three farthest."""
    away = {
        j: (X[labels == label, j].mean() - X[:, j].mean()) / X[:, j].std()
        for j in range(len(names))
        if len(set(X[:, j])) > 1
    }
    top = sorted(away, key=lambda j: -abs(away[j]))[:3]
    said = []
    for j in top:
        if abs(away[j]) >= 0.1:
            much = "very " if abs(away[j]) >= 1.5 else "" if abs(away[j]) >= 0.5 else "rather "
            said.append(f"{names[j]} {much}{'high' if away[j] > 0 else 'low'}")
    return said


def test_clusters_are_listed_by_size_and_noise_apart():
    X, _ = blobs(200, d=5)
    labels = np.repeat([4, -1, 2, 7], [50, 60, 80, 10])
    X[:, 1] += 3 * (labels == 2)
    X[:, 2] -= 2 * (labels == 4)
    X[:, 4] += 9 * (labels == 7)
    X[:, 3] = 0.1  # no spread: nothing stands out in it
    names = list("abcde")
    page = Page(render(Report(X=X, labels=labels, names=names)))
    rows = page.table("cluster", "rows", "share", "", "what sets it apart")
    assert [row[:3] for row in rows] == [
        ["cluster 2", "80", "40.0%"],
        ["cluster 4", "50", "25.0%"],
        ["cluster 7", "10", "5.0%"],
        ["noise", "60", "30.0%"],
    ]
    for label, row in zip((2, 4, 7), rows, strict=False):
        assert row[4] == " ".join(highlights(X, labels, label, names))


def test_most_clusters_are_listed_and_the_rest_summed_up():
    labels = np.repeat(np.arange(60), np.arange(60) + 1)
    X = np.arange(len(labels), dtype=float)[:, None]
    page = Page(render(Report(X=X, labels=labels)))
    rows = page.table("cluster", "rows", "share", "", "what sets it apart")
    assert len(rows) == 51
    assert rows[-1][:2] == ["10 more", str(sum(range(1, 11)))]
    assert rows[-1][4] == "1 to 10 rows each"


def test_a_cluster_of_all_rows_stands_out_in_nothing():
    X, _ = blobs()
    page = Page(render(Report(X=X, labels=np.zeros(len(X), dtype=int))))
    assert page.table("cluster", "rows", "share", "", "what sets it apart")[0][4] == "nothing"


TEXTS = ["the red apple", "a red cherry", "the red rose", "red and sweet"] * 5
TEXTS += ["the blue whale", "a blue sky", "the blue sea", "blue and deep"] * 5


def of_rows(**changes):
    """Forty rows in two clusters, apart in the first of many columns."""
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1], 20)
    X = rng.normal(size=(40, 20)) * 0.1
    X[:, 0] += labels
    return Report(**{"X": X, "labels": labels, "names": [f"e{j}" for j in range(20)], **changes})


def apart(report):
    table = Page(render(report)).table("cluster", "rows", "share", "", "what sets it apart")
    return [row[4] for row in table]


def test_rows_without_entries_are_not_typical():
    """At zero, they are the nearest to the centre of a cluster around it."""
    labels = np.repeat([0, 1], 20)
    X, show = np.array(of_rows().X), [f"thing {i}" for i in range(40)]

    def typical(X):
        text = render(of_rows(X=X, show=show, membership=membership(X, labels)))
        return re.findall(r"thing \d+", text[text.index("typical</") :])[:3]

    assert len(typical(X)) == 3
    X[7] = 0.0
    assert "thing 7" not in typical(X)
    X[:20] = 0.0
    assert len(typical(X)) == 3


def test_clusters_are_set_apart_by_words_of_their_rows():
    first, second = apart(of_rows(show=TEXTS))
    assert first.split()[0] == "red"
    assert second.split()[0] == "blue"
    assert not {"the", "and", "e0"} & {*first.split(), *second.split()}
    for text in ("", None, "12 34"):
        assert apart(of_rows(show=[text] * 40)) == ["nothing", "nothing"]


def test_columns_without_names_of_their_own_are_not_told():
    assert apart(of_rows()) == ["see its rows", "see its rows"]
    assert "say nothing in words" in Page(render(of_rows())).words
    named = of_rows(names=[f"size of part {chr(97 + j)}" for j in range(20)])
    assert apart(named)[0].startswith("size of part a low")


def test_columns_made_of_words_are_told_as_such():
    names = ["colour=red", "size is missing", *(f"{c}" for c in "abcdefghijklmnopqr")]
    report = of_rows(names=names)
    assert apart(report)[0].startswith("colour is not red")
    assert apart(report)[1].startswith("colour is red")
    X = report.X[:, [1, 0, *range(2, 20)]]
    assert apart(of_rows(names=names, X=X))[0].startswith("size is there")
    assert apart(of_rows(names=names, X=X))[1].startswith("size is missing")


def test_means_are_told_in_units_of_the_columns():
    names = [chr(97 + j) for j in range(20)]
    report = of_rows(names=names)
    told = apart(of_rows(names=names, original=report.X * 100 + 500))
    low, both = (100 * part.mean() + 500 for part in (report.X[:20, 0], report.X[:, 0]))
    assert told[0].startswith(f"a low (mean {low:.3g}, all rows {both:.3g})")


def test_typical_and_borderline_rows_are_shown():
    X = np.array([[0.0], [0.1], [0.2], [0.3], [1.0], [1.7], [1.8], [1.9], [2.0]])
    names = [f"name {i}" for i in range(9)]
    page = Page(render(Report(X=X, labels=[0] * 5 + [1] * 4, ids=names)))
    shown = page.words[page.words.index("typical") :]
    assert shown.index("name 3") < shown.index("borderline") < shown.index("name 4")
    assert "next to cluster 1" in shown
    texts = [f"said by {i}" for i in range(9)]
    words = Page(render(Report(X=X, labels=[0] * 5 + [1] * 4, show=texts))).words
    assert "said by 3 row 3" in words


def test_rows_that_look_the_same_are_shown_once():
    words = Page(render(of_rows(show=["same"] * 40))).words
    rows = words[words.index("typical") :]
    assert rows.count("same") == 2


@pytest.mark.parametrize("word", NASTY)
def test_nasty_texts_are_text(word):
    html = render(of_rows(show=[f"{word} {i % 7}" for i in range(40)]))
    page = Page(html)
    assert not {"img", "a", "iframe"} & {name for name, _ in page.tags}
    assert not [key for _, key, _ in page.attributes if key.startswith("on")]


def png(side, colour=(200, 30, 30)):
    from PIL import Image

    stream = io.BytesIO()
    pixels = np.random.default_rng(side).integers(0, 255, (side, side, 3)).astype(np.uint8)
    (Image.fromarray(pixels) if side > 99 else Image.new("RGB", (side, side), colour)).save(
        stream, format="PNG"
    )
    return stream.getvalue()


def test_images_are_embedded_small_and_others_named(tmp_path):
    (tmp_path / "small.png").write_bytes(png(9))
    (tmp_path / "large.png").write_bytes(png(400))
    (tmp_path / "secret.png").write_bytes(b"these bytes are no image")
    names = [["small.png", "large.png", "secret.png", "none.png"][i % 4] for i in range(40)]
    page = Page(render(of_rows(show=names, folder=tmp_path)))
    sources = set(page.values("src"))
    small = "data:image/png;base64," + base64.b64encode(png(9)).decode()
    assert len(sources) == 2
    assert small in sources
    (large,) = sources - {small}
    assert large.startswith("data:image/jpeg;base64,")
    assert len(large) < 60_000
    assert "secret.png" in page.words
    assert "none.png" in page.words
    assert "images could not be found or read" in page.words
    assert "img-src data:" in next(v for v in page.values("content") if "default-src" in v)


def test_images_that_fill_the_page_are_links(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "_LARGEST_PAGE", 1)
    folder = tmp_path / "pictures & such"
    folder.mkdir()
    for i in range(40):
        (folder / f"{i}.png").write_bytes(png(9, (i, 0, 0)))
    report = of_rows(
        show=[f"{i}.png" for i in range(40)], folder=tmp_path, folders=[folder], labels=[0] * 40
    )
    page = Page(render(report))
    assert len(page.values("src")) == 1
    assert len(page.values("href")) > 1
    assert all(re.fullmatch(r"pictures%20%26%20such/\d+\.png", v) for v in page.values("href"))


def test_links_are_counted_and_violated_ones_listed():
    report = full_report()
    page = Page(render(report))
    assert page.table("", "given", "kept", "violated", "share kept") == [
        ["must-links", "3", "1", "2", "33.3%"],
        ["cannot-links", "2", "1", "1", "50.0%"],
    ]
    assert page.table("violated", "a", "b", "confidence", "cluster of a", "cluster of b") == [
        ["must", "w0 row 0", "w3 row 3", "1", "noise", "noise"],
        ["must", "w7 row 7", "w8 row 8", "0.25", "cluster 1", "cluster 2"],
        ["cannot", "w9 row 9", "w12 row 12", "0.75", "cluster 0", "cluster 0"],
    ]
    share = link_satisfaction(report.labels, report.links).weighted_share
    assert f"By confidence, {share:.1%} is kept." in page.words
    assert "linkshift links check l.csv" in page.words


def test_most_violated_links_are_listed():
    X, y = blobs(600)
    pairs = [(i, i + 1) for i in range(250)]
    page = Page(render(Report(X=X, labels=y, links=Links(must=pairs))))
    head = ("violated", "row a", "row b", "confidence", "cluster of a", "cluster of b")
    assert len(page.table(*head)) == 200
    assert "And 50 more." in page.words


def test_nearly_all_is_not_all():
    labels = np.zeros(5000, dtype=int)
    labels[-1] = 1
    links = Links(must=[(i, i + 1) for i in range(4999)])
    X = np.arange(5000.0)[:, None]
    page = Page(render(Report(X=X, labels=labels, links=links)))
    assert page.table("", "given", "kept", "violated", "share kept")[0][1:] == [
        "4,999", "4,998", "1", "99.9%"
    ]  # fmt: skip


def test_conflicts_are_told():
    links = Links(must=[(0, 3)], cannot=[(0, 3)])
    page = Page(render(full_report(links=links, n_conflicts=1, command=["x", "--links=a b.csv"])))
    assert "The links contradict each other: 1 conflict." in page.words
    assert "linkshift links check 'a b.csv'" in page.words


def test_bandwidth_path_is_drawn_and_told():
    report = full_report()
    html = render(report)
    path, page = report.path, Page(html)
    rows = page.table(
        "bandwidth", "clusters", "stability", "violated must-links", "violated cannot-links"
    )
    assert rows == [
        [f"{h:.4g}", f"{k:,}", f"{s:.3f}", str(m), str(c)]
        for h, k, s, m, c in zip(
            path.bandwidths,
            path.n_clusters,
            path.stability,
            path.violated_must,
            path.violated_cannot,
            strict=True,
        )
    ]
    assert page.values("class").count("chosen") == 1
    k = int(path.n_clusters[1])
    assert f"{k} cluster{'s' if k > 1 else ''} at 1" in page.words
    assert len([v for v in page.values("class") if v.endswith("knots")]) == 4
    assert "chosen" not in Page(render(full_report(level=None))).values("class")


def test_a_path_without_links_has_two_panels():
    X, y = blobs()
    path = bandwidth_path(X, bandwidths=[1, 2], n_jobs=1)
    page = Page(render(Report(X=X, labels=y, path=path)))
    assert len([v for v in page.values("class") if v.endswith("knots")]) == 2
    assert page.table("bandwidth", "clusters", "stability")


def test_views_are_a_heat_table():
    page = Page(render(full_report()))
    assert page.table("", "colour", "smell") == [
        ["cluster 0", "0.25", "0.75"],
        ["cluster 1", "0.50", "0.50"],
        ["cluster 2", "1.00", "0.00"],
    ]
    assert page.values("class").count("top") == 4


def test_parameters_and_versions():
    page = Page(render(full_report()))
    rows = [row for table in page.tables for row in table]
    for row in (
        ["method", "cms"],
        ["bandwidth", "not given"],
        ["max_iter", "80"],
        ["refine", "yes"],
        ["seed", "7"],
        ["seconds", "1.5"],
        ["linkshift", "1.2.3"],
    ):
        assert row in rows
    assert "linkshift cluster 'my wines.csv' --links l.csv" in page.words


def test_versions_in_use_are_taken():
    page = Page(render(full_report(versions=None)))
    assert ["numpy", np.__version__] in [row for table in page.tables for row in table]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "not given"),
        (np.bool_(False), "no"),
        (np.float64(0.1), "0.1"),
        (("a", 2), "a, 2"),
        ({"a": None}, "a=not given"),
        (np.arange(9.0), "0 to 8 (9 values)"),
    ],
)
def test_values_in_words(value, words):
    assert sections._shown(value) == words


# --- picture ------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [1, 2, 6])
def test_rows_are_where_the_projection_puts_them(d):
    X, y = blobs(90, d=d)
    page = Page(render(Report(X=X, labels=y)))
    places, clusters = page.dots()
    rows = np.array(page.data["rows"])
    assert sorted(rows.tolist()) == list(range(90))
    assert (y[rows] == clusters).all()
    flat = Plane.of(X).project(X)[rows]
    scale = np.ptp(places, axis=0) / np.ptp(flat, axis=0)
    if d > 1:
        assert scale[0] == pytest.approx(scale[1], rel=2e-3)  # distances are to scale
    drawn = (places - places.min(axis=0)) / scale
    drawn[:, 1] = drawn[:, 1].max() - drawn[:, 1]  # y points down
    assert drawn == pytest.approx(flat - flat.min(axis=0), abs=2 / scale.min())


def test_links_join_the_right_rows():
    report = full_report()
    page = Page(render(report))
    rows = page.data["rows"]
    found = {
        (group["kind"], group["kept"], *sorted((rows[a], rows[b])))
        for group in page.data["links"]
        for a, b in zip(group["pairs"][::2], group["pairs"][1::2], strict=True)
    }
    assert found == {
        ("must", True, 6, 9),
        ("must", False, 0, 3),
        ("must", False, 7, 8),
        ("cannot", True, 5, 6),
        ("cannot", False, 9, 12),
    }
    places, _ = page.dots()
    lines = [v for _, k, v in page.attributes if k == "d" and "L" in v and "." not in v]
    assert lines == [
        "".join(
            "M{} {}L{} {}".format(*places[a], *places[b])
            for a, b in zip(group["pairs"][::2], group["pairs"][1::2], strict=True)
        )
        for group in page.data["links"]
    ]
    assert page.values("data-shape") == ["cross"] * 4  # a rim and a cross for each kind
    for words in ("1 must-link", "2 must-links violated", "1 cannot-link violated", "2 modes"):
        assert words in page.words.replace("\N{NO-BREAK SPACE}", " ")


def test_colours_are_those_of_the_pictures():
    labels = np.array([9, -1, 3, 4, 3])
    clusters = Clusters.of(labels)
    css, _ = page._colours()
    named = dict(re.findall(r"(--\w+): (#\w+);", css))
    drawn = [named[svg.css(hue)[4:-1]] for hue in clusters.hues]
    assert drawn == clusters.colours
    assert (named["--must"], named["--cannot"]) == (MUST, CANNOT)


def test_colours_stand_out_on_a_dark_page():
    panel = page._PANEL_DARK
    assert f"--panel: {panel}" in render(full_report())
    for colour in (*PALETTE, MUST, CANNOT):
        assert contrast(rgb(lightened(colour, panel)), rgb(panel)) > 2.95


def test_many_rows_are_sampled_and_the_page_says_so():
    rng = np.random.default_rng(0)
    n = 30_000
    X, labels = rng.normal(size=(n, 2)), np.zeros(n, dtype=int)
    labels[17] = 1
    links = Links(must=rng.permutation(n)[:400].reshape(200, 2))
    report = Report(X=X, labels=labels, links=links)
    page = Page(render(report))
    rows = page.data["rows"]
    assert len(set(rows)) == len(rows) == svg.MOST_POINTS == len(page.dots()[0])
    assert set(links.must.ravel().tolist()) | {17} <= set(rows)
    assert "20,000 of 30,000 rows are drawn, chosen at random (seed 0)" in page.words
    # A random sample: each half of the rows has about its share.
    assert np.mean(np.array(rows) < n / 2) == pytest.approx(0.5, abs=0.02)


def test_many_links_are_sampled_the_violated_ones_first():
    n = 12_000
    labels = np.zeros(n, dtype=int)
    labels[-30:] = 1
    links = Links(must=[(i, i + 1) for i in range(n - 1)], cannot=[(0, n - 1), (0, n - 40)])
    page = Page(render(Report(X=np.arange(n)[:, None], labels=labels, links=links)))
    counts = {(g["kind"], g["kept"]): len(g["pairs"]) // 2 for g in page.data["links"]}
    assert sum(counts.values()) == svg.MOST_LINKS
    assert (counts["must", False], counts["cannot", False]) == (1, 1)
    assert "5,000 of 12,001 links are drawn, the violated ones first." in page.words


def test_many_modes_are_not_drawn():
    X, y = blobs()
    page = Page(render(Report(X=X, labels=y, modes=np.zeros((501, 2)))))
    assert "star" not in page.values("class")
    assert "The 501 modes are too many to draw." in page.words
    assert "star" in Page(render(full_report())).values("class")


@settings(max_examples=60, deadline=None)
@given(
    X=hnp.arrays(
        np.float64,
        st.tuples(st.integers(1, 8), st.integers(1, 4)),
        elements=st.one_of(
            st.sampled_from([0.0, -0.0, 1.0, 5e-324, 1e-200, 1.7e308, -1.7e308, 1e16]),
            st.floats(allow_nan=False, allow_infinity=False),
        ),
    ),
    data=st.data(),
)
def test_any_data_can_be_drawn(X, data):
    labels = data.draw(hnp.arrays(np.int64, len(X), elements=st.integers(-1, 2)))
    page = Page(render(Report(X=X, labels=labels)))
    places, _ = page.dots()
    _, _, wide, tall = map(int, next(v for v in page.values("viewbox")).split())
    assert ((places >= 0) & (places <= (wide, tall))).all()


@settings(max_examples=200, deadline=None)
@given(
    low=st.floats(-1e12, 1e12),
    span=st.floats(1e-3, 1e12),
    most=st.integers(2, 9),
    log=st.booleans(),
)
def test_ticks_are_named_after_their_places(low, span, most, log):
    start = abs(low) + 1e-6
    axis = Axis(start, start * (1 + span), log=True) if log else Axis(low, low + span)
    ticks = axis.ticks(most=most)
    assert len(ticks) <= most + 1
    slack = 1e-9 + 4 * np.spacing(abs(low) + span) / span  # what floats cannot tell apart
    for at, words in ticks:
        assert -slack <= at <= 1 + slack
        value = float(words.replace(MINUS, "-"))
        assert float(axis.place(value)) == pytest.approx(at, abs=1e-2 + slack)


# --- validation ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "error", "words"),
    [
        ({"X": [1.0, 2.0]}, ValueError, "table"),
        ({"X": np.full((120, 2), np.nan)}, ValueError, "missing or infinite"),
        ({"labels": [0, 1]}, ValueError, "labels must have shape"),
        ({"ids": ["a"]}, ValueError, "ids must hold 120"),
        ({"names": "ab"}, ValueError, "names must hold 2"),
        ({"modes": [[1.0]]}, ValueError, "modes must have shape"),
        ({"links": Links(must=[(0, 500)])}, ValueError, "500"),
        ({"level": 4}, ValueError, "has 4 levels"),
        ({"path": None}, ValueError, "has 0 levels"),
        ({"view_names": ["one"]}, ValueError, "view_names must hold 2"),
        ({"view_importances": None}, ValueError, "without view_importances"),
        ({"view_importances": [[1.0, 1.0]]}, ValueError, "shares"),
        ({"command": "linkshift cluster"}, TypeError, "list of words"),
        ({"links": None, "n_conflicts": 2}, ValueError, "conflicts without links"),
        ({"method": ""}, ValueError, "give method"),
    ],
)
def test_what_does_not_fit_is_refused(changes, error, words):
    with pytest.raises(error, match=words):
        full_report(**changes)


def test_a_path_that_shows_nothing_is_left_out():
    X, y = blobs()
    path = bandwidth_path(X, bandwidths=[100, 200], n_jobs=1)
    assert path.n_clusters.tolist() == [1, 1]
    page = Page(render(Report(X=X, labels=y, path=path)))
    assert "bandwidths" not in page.ids
