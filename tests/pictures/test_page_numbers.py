"""The page of a report: its numbers."""

import base64
import io
import re

import numpy as np
import pytest
from tests.pictures.pages import NASTY, Page, blobs, full_report

from linkshift import Links, bandwidth_path
from linkshift.memberships import membership
from linkshift.metrics import link_satisfaction
from linkshift.pictures.page import Report, render, rows, sections

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
