"""What a clustering gives beside labels: frames, pages, pictures, files, notebooks."""

from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import linkshift
from linkshift import Links, MeanShift, bandwidth_path, model_files
from linkshift._core.messages import Advice, Refusal


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0, 0.0], [9.0, 900.0, 0.0], [0.0, 900.0, 5.0]], 20, axis=0)
    X += rng.normal(size=(60, 3)) * [1.0, 50.0, 0.5]
    names = pd.Index([f"r{i}" for i in range(60)], name="name")
    return pd.DataFrame(X, columns=["width", "weight", "<depth>"], index=names)


@pytest.fixture(scope="module")
def links():
    return Links(must=[(0, 1), (20, 21), (40, 41)], cannot=[(0, 20), (20, 40)], n_samples=60)


@pytest.fixture(scope="module")
def found(table, links):
    return linkshift.cluster(table, links, n_clusters=3)


def test_rows_are_told_with_the_index(found, table):
    frame = found.to_frame()
    assert frame.index.equals(table.index)
    assert frame.columns.tolist() == ["cluster", "probability", "second", "outlier_score"]
    assert found.probabilities.index.equals(table.index)
    assert found.outlier_scores.name == "outlier_score"
    assert (frame.cluster == found.labels).all()
    plain = linkshift.cluster(table.to_numpy(), n_clusters=3)
    assert isinstance(plain.probabilities, np.ndarray)
    assert plain.to_frame().index.tolist() == list(range(60))


def test_centres_are_in_units_of_the_columns(found, table):
    assert found.scalings[0].kind == "standard"
    means = table.groupby(found.labels.to_numpy()).mean()
    np.testing.assert_allclose(found.centers, means)
    assert found.labels.iloc[found.exemplars].tolist() == [0, 1, 2]


def test_neighbours_are_looked_for_once_and_only_when_asked(table, monkeypatch):
    from linkshift import memberships

    calls = []
    right = memberships.membership
    monkeypatch.setattr(memberships, "membership", lambda *a: calls.append(1) or right(*a))
    found = linkshift.cluster(table, n_clusters=3)
    assert calls == []
    _ = found.probabilities, found.outlier_scores, found.exemplars, found.centers
    assert calls == [1]


def test_what_is_shown_goes_by_the_index(table, tmp_path):
    """A column that was sorted since would be shown beside other rows."""
    page, n = tmp_path / "page.html", len(table)

    def shown(found, show):
        found.report(page, show=show)
        return page.read_text(encoding="utf-8")

    table = pd.DataFrame(np.asarray(table), index=[f"k{i}" for i in range(n)])
    title = pd.Series([f"thing {i}" for i in range(n)], index=table.index)
    found = linkshift.cluster(table, n_clusters=3)
    expected = shown(found, title.to_list())
    assert shown(found, title) == expected
    assert shown(found, title.sample(frac=1, random_state=0)) == expected
    for foreign in (title.reset_index(drop=True), title[:-1], title.rename(lambda k: "k0")):
        with pytest.raises(ValueError, match=r"show is a Series whose index.*to_numpy"):
            found.report(page, show=foreign)
    counted = table.reset_index(drop=True).sample(frac=1, random_state=1)
    found = linkshift.cluster(counted, n_clusters=3)
    plain = title.reset_index(drop=True)
    assert shown(found, plain) == shown(found, plain[counted.index].to_list())
    by_place = linkshift.cluster(table.to_numpy(), n_clusters=3)
    assert shown(by_place, title) == shown(by_place, title.to_list())


PAIRS = np.where(np.arange(60) < 10, np.arange(60) // 2, -1)  # too few to tell from chance


@pytest.mark.parametrize("within", [Links.apart_within, Links.together_within])
def test_groups_by_row_of_a_table_that_was_sorted(within, table):
    photo = pd.Series(np.arange(60) % 30 if within == Links.apart_within else PAIRS)
    frame = table.reset_index(drop=True)
    shuffled = frame.sample(frac=1, random_state=0)
    by_row = within(photo)
    linkshift.cluster(frame, by_row, n_clusters=3)
    linkshift.cluster(shuffled, within(photo[shuffled.index]), n_clusters=3)
    with pytest.warns(Advice, match=r"Groups of rows count them from 0.*reset_index"):
        linkshift.cluster(shuffled, by_row, n_clusters=3)
    linkshift.cluster(shuffled.reset_index(drop=True), by_row, n_clusters=3)


def test_groups_of_a_column_are_doubted_whatever_else_there_is(table):
    """Other links by row that know how many there are were made for these rows."""
    shuffled = table.reset_index(drop=True).sample(frac=1, random_state=0)
    photo = pd.Series(PAIRS)
    others = Links(must=[(0, 1)], n_samples=60)
    linkshift.cluster(shuffled, others, n_clusters=3)
    by_place = Links.together_within(photo[shuffled.index].to_numpy())  # whoever does so knows it
    linkshift.cluster(shuffled, by_place, n_clusters=3)
    groups = Links.together_within(photo)
    for links in (groups + others, others + groups, groups.remove(must=[(0, 1)])):
        with pytest.warns(Advice, match="Groups of rows count them from 0"):
            linkshift.cluster(shuffled, links, n_clusters=3)


def test_a_page_and_a_picture(found, tmp_path):
    found.report(tmp_path / "page.html", title="Things", show=[f"thing {i}" for i in range(60)])
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<bdi>Things</bdi>" in page
    assert "&lt;depth&gt;" in page
    assert "thing 0" in page
    assert "all rows 600" in page or "all rows 60" in page  # weight, in its own unit
    with pytest.raises(ValueError, match="show must hold 60"):
        found.report(tmp_path / "other.html", show=["one"])
    assert not (tmp_path / "other.html").exists()
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot as plt

    assert found.plot(title="Things").get_title(loc="left") == "Things"
    plt.close()


@pytest.mark.parametrize("method", ["consensus", "cms", "mean-shift"])
def test_saved_and_loaded(table, links, method, tmp_path):
    found = linkshift.cluster(table, links, method=method, held_out=2, progress=lambda *_: None)
    found.save(tmp_path / "m.npz")
    again = linkshift.load(tmp_path / "m.npz")
    pd.testing.assert_series_equal(again.labels, found.labels)
    new = table + 0.01
    pd.testing.assert_series_equal(again.predict(new), found.predict(new))
    assert (again.method, again.why, again.done) == (found.method, found.why, found.done)
    assert again.link_report.held_out == pytest.approx(found.link_report.held_out, nan_ok=True)
    assert again.links == found.links
    assert again.columns == ("width", "weight", "<depth>")
    np.testing.assert_allclose(again.centers, found.centers)
    assert str(again.explain(3)) == str(found.explain(3))
    again.save(tmp_path / "n.npz")
    assert (tmp_path / "n.npz").read_bytes() == (tmp_path / "m.npz").read_bytes()


def test_prepared_tables_and_views_are_saved(table, tmp_path):
    mixed = table.assign(colour=["red", "blue"] * 30)
    found = linkshift.cluster(linkshift.prepare(mixed), n_clusters=3)
    found.save(tmp_path / "m.npz")
    assert (linkshift.load(tmp_path / "m.npz").predict(mixed) == found.labels).all()

    views = {"size": table[["width", "weight"]], "depth": table[["<depth>"]]}
    found = linkshift.cluster(views, n_clusters=3, max_iter=2, random_state=0)
    found.save(tmp_path / "v.npz")
    again = linkshift.load(tmp_path / "v.npz")
    assert (again.predict(views) == found.labels).all()
    assert list(again.views) == ["size", "depth"]
    found.report(tmp_path / "v.html")


def test_an_estimator_by_itself_is_refused(table, tmp_path):
    model_files.save(MeanShift().fit(table.to_numpy()), tmp_path / "m.npz")
    with pytest.raises(Refusal, match=r"model_files\.load"):
        linkshift.load(tmp_path / "m.npz")
    model_files.save(
        MeanShift().fit(table.to_numpy()),
        tmp_path / "m.npz",
        about={"method": "cms", "columns": 5, "views": [], "why": "", "ids": None},
    )
    with pytest.raises(Refusal, match="does not fit it"):
        linkshift.load(tmp_path / "m.npz")


class Balanced(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.open, self.words, self.tags = [], "", set()
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words += data


def test_notebooks_show_tables(found, links, table):
    shown = Balanced(found._repr_html_())
    assert repr(found)[1:-1] in shown.words
    assert "33.3%" in shown.words
    assert "3 must, 2 cannot" in Balanced(links._repr_html_()).words
    named = Balanced(
        Links(must=[("<b>", "x")] * 1, cannot=[(i, "y") for i in range(9)])._repr_html_()
    )
    assert "<b>" in named.words
    assert "b" not in named.tags
    assert "and 4 more cannot" in named.words
    assert "must-links33" in Balanced(found.link_report._repr_html_()).words
    X = table.to_numpy()
    for path in (bandwidth_path(X), bandwidth_path(X, links)):
        told = Balanced(path._repr_html_())
        assert "b" in told.tags
        assert ("violated" in told.words) == bool(path.links)
    told = Balanced(found.explain(0)._repr_html_())
    assert str(found.explain(0)).split("\n")[0] in told.words


def test_many_clusters_are_summed_up_in_a_notebook():
    X = np.repeat(np.arange(20.0), 3)[:, None]
    found = linkshift.cluster(X, bandwidth=0.1)
    assert "8 more24" in Balanced(found._repr_html_()).words


# --- new rows ----------------------------------------------------------------------------------


def test_new_rows_are_found_by_the_names_of_their_columns():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 3)) * [1, 1, 50], columns=["a", "b", "c"])
    found = linkshift.cluster(frame)
    np.testing.assert_array_equal(found.predict(frame[["c", "a", "b"]]), found.labels)
    np.testing.assert_array_equal(found.predict(frame.assign(more=1.0)), found.labels)
    with pytest.raises(Refusal, match="lack columns that were clustered: b"):
        found.predict(frame[["a", "c"]])
    with pytest.raises(Refusal, match="1 value missing"):
        found.predict(frame.mask(frame == frame.iloc[3, 1]))
    for wrong in (np.zeros((4, 2)), np.zeros((4, 4))):
        with pytest.raises(Refusal, match="and 3 were clustered"):
            linkshift.cluster(frame.to_numpy()).predict(wrong)


def test_what_is_no_table_is_told():
    with pytest.raises(Refusal, match="list of texts"):
        linkshift.cluster(["some text", "another"])
    cells = SimpleNamespace(obs=None, var=None)
    with pytest.raises(Refusal, match="AnnData"):
        linkshift.cluster(cells)


@pytest.mark.parametrize("write", ["report", "save"])
def test_folders_that_are_not_there(found, tmp_path, write):
    with pytest.raises(Refusal, match=r"there is no folder .*missing\. Make the folder first"):
        getattr(found, write)(tmp_path / "missing" / "x.html")


def test_the_column_to_show_is_given_itself(tmp_path):
    found = linkshift.cluster([[0.0], [0.1], [9.0], [9.1]], n_clusters=2)
    with pytest.raises(Refusal, match=r"show=table\['title'\]"):
        found.report(tmp_path / "page.html", show="title")
    assert not list(tmp_path.iterdir())
