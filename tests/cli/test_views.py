"""`linkshift cluster --method groups`: views from columns, from npz files, and what is told."""

import io
import json
import sys
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkshift import GroupFeatureClustering
from linkshift.cli.reading.arrays import ArrayTable
from linkshift.cli.reading.views import find_views
from linkshift.cli.talking import Console, InputError
from linkshift.cli.writing import results

pytestmark = pytest.mark.usefixtures("few_starts")

NAMES = ("a_0", "a_1", "a_2", "b_0", "b_1", "c")
GROUPS = ("--method", "groups", "--clusters", 3, "--max-iter", 2)
VIEWS = ("--view", "shape=a_*", "--view", "colour=b_*")


@pytest.fixture
def table(groups):
    """Three groups that each of two views can tell, in different units."""
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(60, 2))
    return pd.DataFrame(
        {
            "name": [f"s{i:02d}" for i in range(60)],
            "a_0": groups[:, 0],
            "a_1": groups[:, 1],
            "a_2": 0.1 * noise[:, 0],
            "b_0": 1000 * groups[:, 1],
            "b_1": 1000 * groups[:, 0] + noise[:, 1],
        }
    )


@pytest.fixture
def views(here, table):
    """views.csv: name (text), a_0, a_1, a_2, b_0, b_1."""
    table.to_csv("views.csv", index=False)
    return "views.csv"


def fitted(tables, links=None, **options):
    model = GroupFeatureClustering(3, max_iter=2, random_state=0, **options)
    return model.fit(tables, links=links)


# --- views from columns -------------------------------------------------------------------------


def array_table(names=NAMES):
    views = {"all": names, "": ()}  # as of a file, to have columns with names
    return ArrayTable("t.npz", np.zeros((3, len(names))), {"y": np.zeros(3)}, views)


def part(*given, names=NAMES, used=None):
    return find_views(given, array_table(names), names if used is None else used)


def test_names_ranges_patterns_and_the_rest():
    one, two = ("a_0", "a_1", "a_2"), ("b_0", "b_1", "c")
    for first in ("a_0,a_1,a_2", "a_0:a_2", "a_*", "a_[0-2]", "a_2, a_0:a_1", "a_?,a_0"):
        for second in ("b_0,b_1,c", "b_0:c", "b_*,c", "*"):
            assert part(f"one={first}", f"two={second}") == {"one": one, "two": two}
    assert part("rest=*", "two=b_0:c") == {"rest": one, "two": two}
    assert part("all=*") == {"all": NAMES}
    assert part("one=c,*", "two=b_*") == {"one": (*one, "c"), "two": ("b_0", "b_1")}


def test_views_and_columns_keep_their_order():
    assert list(part("z=b_1,b_0", "y=*")) == ["z", "y"]
    assert part("z=b_1,b_0", "y=*")["z"] == ("b_0", "b_1")


def test_only_columns_in_use_are_parted():
    assert part("a=a_0:b_1", used=("a_1", "b_0")) == {"a": ("a_1", "b_0")}
    with pytest.raises(InputError, match=r"column 'c' \(number\) is not used.*--columns"):
        part("a=a_0:b_1,c", used=("a_1", "b_0"))
    with pytest.raises(InputError, match=r"column 'y' \(array\) is not used"):
        part("a=*,y")
    with pytest.raises(InputError, match="none of the columns b_0:b_1 is used"):
        part("a=*", "b=b_0:b_1", used=("a_1", "a_2"))


def test_a_column_may_look_like_a_range_or_a_pattern():
    names = ("a:b", "a", "b", "a*", "x=1")
    assert part("one=a:b,a*", "two=x=1,a,b", names=names) == {
        "one": ("a:b", "a*"),
        "two": ("a", "b", "x=1"),
    }


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["a=a_*"], r"3 columns are in no view: b_0, b_1, c\. .*--view rest=\*"),
        (["a=a_*"], r"or leave them out: --columns a_0,a_1,a_2\.$"),
        (["a=a_*,b_*"], "1 column is in no view: c. List it .* or leave it out: --columns"),
        (["a=a_*", "b=a_1:c"], "column 'a_1' is in two views, a and b; take it out of one"),
        (["a=a_*,d", "b=*"], r"--view a: t\.npz has no column 'd'\. .*Its columns: a_0"),
        (["a=a_*", "b=C,b_*"], "no column 'C'. Did you mean 'c'?"),
        (["a=a_0:a_9", "b=*"], "range 'a_0:a_9'.* has no column 'a_9'. Its columns"),
        (["a=a_2:a_0", "b=*"], "'a_2' comes after 'a_0' in the table; write a_0:a_2"),
        (["a=q*", "b=*"], r"no column matches 'q\*'. Columns used: a_0"),
        (["a_0,a_1"], "--view a_0,a_1 has no name. Write --view NAME=COLUMNS"),
        (["=a_0"], "has no name"),
        (["a="], "lists no columns"),
        (["a=,"], "lists no columns"),
        (["a=a_*", "a=b_*", "c=*"], "--view a is given twice; put all its columns into one"),
        (["a=*", "b=*"], "--view a and --view b both take all that is left"),
        (["a=a_0:c", "b=*"], r"--view b=\* takes all that is left, and nothing is; leave it out"),
    ],
)
def test_views_that_cannot_be(given, told):
    with pytest.raises(InputError, match=told):
        part(*given)


@given(
    st.lists(
        st.sampled_from([*NAMES, "a_*", "b_?", "a_1:b_0", "b_0:c", "*"]), min_size=1, max_size=5
    ),
    st.lists(st.sampled_from([*NAMES, "*_1", "a_0:a_2", "*"]), min_size=0, max_size=5),
)
def test_every_column_is_in_one_view_or_all_is_refused(first, second):
    asked = [f"one={','.join(first)}"] + ([f"two={','.join(second)}"] if second else [])
    try:
        found = part(*asked)
    except InputError:
        return
    assert sorted(c for columns in found.values() for c in columns) == sorted(NAMES)
    assert all(found.values())


# --- the command --------------------------------------------------------------------------------


def test_views_reach_the_estimator(run, views, table):
    result = run("cluster", views, *GROUPS, *VIEWS, "--json", "--scale", "none")
    out = json.loads(result.stdout)
    tables = {"shape": table[["a_0", "a_1", "a_2"]], "colour": table[["b_0", "b_1"]]}
    model = fitted(tables)
    assert out["labels"] == model.labels_.tolist()
    assert out["method"] == "groups"
    assert out["views"] == {
        "names": ["shape", "colour"],
        "columns": [["a_0", "a_1", "a_2"], ["b_0", "b_1"]],
        "importances": model.view_importances_.tolist(),
    }
    assert out["sizes"] == np.bincount(model.labels_).tolist()
    assert "Views: shape (3 columns), colour (2 columns)." in result.stderr
    assert "2 views, 3 clusters of 16 to 24 rows, 4 starts." in result.stderr
    for c, v in enumerate(model.view_importances_.argmax(axis=1)):
        row = [str(c), str(out["sizes"][c]), model.view_names_[v]]
        row.append(f"{model.view_importances_[c, v]:.2f}")
        assert row in [line.split() for line in result.stderr.splitlines()]


def test_other_methods_have_no_views(run, data):
    result = run("cluster", data, "--json")
    assert json.loads(result.stdout)["views"] is None
    assert "top view" not in result.stderr


def test_quiet_says_nothing(run, views):
    assert run("cluster", views, *GROUPS, *VIEWS, "--quiet").stderr == ""


def test_options_reach_the_estimator(run, views, monkeypatch):
    seen = []

    def spy(self, X, y=None, *, links=None, partial_labels=None):
        seen.append(self)
        self.view_names_ = tuple(X)
        self.labels_ = np.zeros(60, dtype=int)
        self.size_bounds_ = (0, 60)
        self.view_importances_ = np.full((1, 2), 0.5)
        self._fit_X = np.arange(60.0)[:, None]
        return self

    monkeypatch.setattr(GroupFeatureClustering, "fit", spy)
    args = ("--method", "groups", "--clusters", 7, "--threads", 2, *VIEWS)
    run("cluster", views, *args, "--max-iter", 9)
    run("cluster", views, *args)
    assert [m.n_clusters for m in seen] == [7, 7]
    assert [m.n_jobs for m in seen] == [2, 2]
    assert [m.max_iter for m in seen] == [9, GroupFeatureClustering(7).max_iter]
    assert [m.random_state for m in seen] == [0, 0]


@pytest.mark.parametrize("scale", ["standard", "minmax"])
def test_scale(run, views, table, scale):
    X = table.drop(columns="name")
    if scale == "standard":
        X = (X - X.mean()) / X.std(ddof=0)
    else:
        X = (X - X.min()) / (X.max() - X.min())
    result = run("cluster", views, *GROUPS, *VIEWS, "--scale", scale, "--json")
    model = fitted({"shape": X[["a_0", "a_1", "a_2"]], "colour": X[["b_0", "b_1"]]})
    out = json.loads(result.stdout)
    assert out["labels"] == model.labels_.tolist()
    assert np.allclose(out["views"]["importances"], model.view_importances_)
    assert "bandwidth" not in result.stderr


def test_units_matter_within_a_view_only(run, views, table):
    views_of = (*GROUPS, *VIEWS)
    assert "Scale: standard" in run("cluster", views, *views_of).stderr  # a_0 against a_2
    assert "lets both count" in run("cluster", views, *views_of, "--scale", "none").stderr
    err = run("cluster", views, *views_of, "--columns", "a_0,a_1,b_0,b_1").stderr
    assert "Scale: none" in err
    assert "Scale: standard" in run("cluster", views, *GROUPS, "--view", "all=*").stderr


def test_links_ids_and_labels(run, here, table, links):
    table["known"] = [1.0, *[np.nan] * 19, 2.0, *[np.nan] * 39]
    table.to_csv("views.csv", index=False)
    args = ("--links", links("s00,s45,must"), "--id-column", "name", "--labels-column", "known")
    result = run("cluster", "views.csv", *GROUPS, *VIEWS, *args)
    found = pd.read_csv(io.StringIO(result.stdout)).set_index("name")["label"]
    assert found["s00"] == found["s45"]
    assert found["s00"] != found["s20"]
    assert "4 starts, 2 links." in result.stderr
    assert "Links kept: 1 of 1 must, 1 of 1 cannot." in result.stderr


def test_a_long_table_is_cut(run, views):
    args = ("--method", "groups", "--clusters", 15, "--max-iter", 1, *VIEWS)
    result = run("cluster", views, *args, "--json")
    importances = json.loads(result.stdout)["views"]["importances"]
    assert len(importances) == 15
    lines = [line.split() for line in result.stderr.splitlines()]
    assert "11" in [words[0] for words in lines if words]
    assert "12" not in [words[0] for words in lines if words]
    assert "3 more clusters: see --json." in result.stderr


def test_progress_counts_the_starts(run, views, monkeypatch):
    steps = []

    @contextmanager
    def watched(self, title):
        yield lambda *step: steps.append(step)

    monkeypatch.setattr(Console, "progress", watched)
    run("cluster", views, *GROUPS, *VIEWS)
    assert steps == [(i, 4) for i in range(1, 5)]


def test_one_view_of_everything_must_be_asked_for(run, refused, views):
    message = refused("cluster", views, *GROUPS)
    assert "--view NAME=COLUMNS" in message
    assert "(columns: a_0, a_1, a_2, b_0, b_1)" in message
    assert "--view all=*" in message
    out = json.loads(run("cluster", views, *GROUPS, "--view", "all=*", "--json").stdout)
    assert out["views"]["importances"] == [[1.0]] * 3


def test_picture_of_clusters_and_importances(run, views, here, monkeypatch):
    from matplotlib.figure import Figure

    drawn = []
    true_save = Figure.savefig

    def spy(self, target, **options):
        drawn.append(self)
        true_save(self, target, **options)

    monkeypatch.setattr(Figure, "savefig", spy)
    run("cluster", views, *GROUPS, *VIEWS, "--plot", "p.png")
    assert (here / "p.png").stat().st_size > 1000
    clusters, importances = drawn[0].axes
    assert clusters.get_title(loc="left") == "views.csv"
    assert [t.get_text() for t in importances.get_xticklabels()] == ["shape", "colour"]
    assert len(importances.texts) == 6


def test_picture_of_scaled_columns(run, views, table, monkeypatch):
    drawn = []
    monkeypatch.setattr(results, "write_picture", lambda path, X, labels, **extras: drawn.append(X))
    for scale in ("none", "standard"):
        run("cluster", views, *GROUPS, *VIEWS, "--plot", "p.png", "--scale", scale)
    X = table.drop(columns="name")
    np.testing.assert_allclose(drawn[0], X)
    np.testing.assert_allclose(drawn[1], (X - X.mean()) / X.std(ddof=0), atol=1e-9)


# --- npz files ----------------------------------------------------------------------------------


@pytest.fixture
def arrays(table):
    return table[["a_0", "a_1", "a_2"]].to_numpy(), table[["b_0", "b_1"]].to_numpy()


def test_matrices_of_an_npz_file_are_views(run, here, arrays):
    y = np.repeat([0, 1, -1], 20)
    np.savez("t.npz", shape=arrays[0], colour=arrays[1], y=y, other=np.zeros(3))
    result = run("cluster", "t.npz", *GROUPS, "--json")
    out = json.loads(result.stdout)
    assert out["labels"] == fitted({"shape": arrays[0], "colour": arrays[1]}).labels_.tolist()
    assert out["views"]["names"] == ["shape", "colour"]
    assert out["columns"] == ["shape_0", "shape_1", "shape_2", "colour_0", "colour_1"]
    assert "Left out: y (array)." in result.stderr
    known = run("cluster", "t.npz", *GROUPS, "--labels-column", "y").stderr
    assert "Links kept: 380 of 380 must, 400 of 400 cannot." in known


def test_numbered_views_take_their_order_and_names(run, here, arrays):
    more = {"X_view10": arrays[0] + 1, "X_view2": arrays[1], "X_view1": arrays[0]}
    np.savez("t.npz", **more)
    views = json.loads(run("cluster", "t.npz", *GROUPS, "--json").stdout)["views"]
    assert views["names"] == ["view1", "view2", "view10"]
    np.savez("t.npz", **more, view_names=np.array(["p", "q", "r"]))
    views = json.loads(run("cluster", "t.npz", *GROUPS, "--json").stdout)["views"]
    assert views["names"] == ["p", "q", "r"]
    assert [len(columns) for columns in views["columns"]] == [3, 2, 3]


def test_the_file_agrees_with_the_loader(run, here, arrays, monkeypatch):
    """A file laid out as those of linkshift.datasets gives the same views."""
    from linkshift import datasets

    names = np.array(["p", "q"])
    y = np.repeat([0, 1, 2], 20)
    np.savez("mv_100leaves.npz", X_view2=arrays[1], X_view1=arrays[0], view_names=names, y=y)
    data = datasets.load("mv_100leaves", folder=here)
    out = json.loads(run("cluster", "mv_100leaves.npz", *GROUPS, "--json").stdout)
    assert out["views"]["names"] == list(data.views)
    widths = [len(columns) for columns in out["views"]["columns"]]
    assert widths == [view.shape[1] for view in data.views.values()]


def test_views_of_a_file_can_be_parted_anew_or_left_out(run, here, arrays):
    np.savez("t.npz", shape=arrays[0], colour=arrays[1])
    args = ("--view", "one=shape_0:shape_1", "--view", "two=*", "--json")
    views = json.loads(run("cluster", "t.npz", *GROUPS, *args).stdout)["views"]
    assert views["columns"] == [["shape_0", "shape_1"], ["shape_2", "colour_0", "colour_1"]]
    result = run("cluster", "t.npz", *GROUPS, "--columns", "shape_0,shape_2", "--json")
    assert json.loads(result.stdout)["views"]["names"] == ["shape"]
    assert "Left out: shape_1 (number), colour_0 (number), colour_1 (number)." in result.stderr


def test_columns_of_one_matrix_go_by_number(run, here, arrays):
    np.save("t.npy", np.hstack(arrays))
    args = ("--view", "shape=0:2", "--view", "colour=3,4", "--json")
    out = json.loads(run("cluster", "t.npy", *GROUPS, *args).stdout)
    assert out["labels"] == fitted({"shape": arrays[0], "colour": arrays[1]}).labels_.tolist()


def test_files_without_views(refused, here, arrays):
    np.savez("t.npz", shape=arrays[0], colour=arrays[1][:50])
    message = refused("cluster", "t.npz", *GROUPS)
    assert "same number of rows. It holds shape (60, 3), colour (50, 2)." in message
    np.savez("t.npz", shape=arrays[0], words=np.full((60, 2), "a"))
    assert "array words holds dtype('<U1'), not numbers" in refused("cluster", "t.npz", *GROUPS)
    np.savez("t.npz", X_view1=arrays[0], X_view2=arrays[1], view_names=np.array(["p", "p"]))
    assert "in view_names p, p. Give each view a name" in refused("cluster", "t.npz", *GROUPS)
    np.savez("t.npz", X=arrays[0], Z=arrays[1])  # X is the table, as for all methods
    assert "none called X" in refused("cluster", "t.npz", *GROUPS)


def test_links_can_be_checked_against_views(run, here, arrays, links):
    np.savez("t.npz", shape=arrays[0], colour=arrays[1])
    run("links", "check", links("0,59,must"), "--data", "t.npz")


# --- mistakes -----------------------------------------------------------------------------------


def test_the_number_of_clusters(refused, views, data):
    assert "Give --clusters K" in refused("cluster", views, "--method", "groups", *VIEWS)
    message = refused("cluster", data, "--clusters", "3", "--method", "skms")
    assert "A number of clusters has no meaning with the method skms" in message
    assert "Leave --clusters out, or use --method consensus or " in message
    message = refused("cluster", views, "--method", "groups", "--clusters", 61, *VIEWS)
    assert "61 clusters are asked for, of 60 rows. Take a smaller --clusters." in message
    assert "--clusters" in refused("cluster", views, "--method", "groups", "--clusters", 0, *VIEWS)


@pytest.mark.parametrize("method", ["mean-shift", "cms", "kernel", "skms", "metric"])
def test_views_are_for_groups(refused, here, arrays, views, method):
    message = refused("cluster", views, "--method", method, "--view", "a=*")
    assert f"Views have no meaning with the method {method}. Leave --view out" in message
    assert "or use --method groups" in message
    np.savez("t.npz", shape=arrays[0], colour=arrays[1])
    message = refused("cluster", "t.npz", "--method", method)
    assert "several matrices (shape, colour). One is needed: call it X" in message


@pytest.mark.parametrize(
    ("option", "value"), [("--bandwidth", 1), ("--kernel", "flat"), ("--n-neighbors", 5)]
)
def test_what_groups_would_ignore(refused, views, option, value):
    message = refused("cluster", views, *GROUPS, *VIEWS, option, value)
    assert f"no meaning with the method groups. Leave {option} out" in message


def test_views_of_a_table(refused, views):
    message = refused("cluster", views, *GROUPS, "--view", "shape=a_0,a_7", "--view", "rest=*")
    assert "--view shape: views.csv has no column 'a_7'. Its columns" in message
    message = refused("cluster", views, *GROUPS, *VIEWS, "--view", "both=a_1")
    assert "column 'a_1' is in two views, shape and both" in message
    message = refused("cluster", views, *GROUPS, "--view", "shape=a_*")
    assert "2 columns are in no view: b_0, b_1." in message
    assert "--columns a_0,a_1,a_2" in message
    message = refused("cluster", views, *GROUPS, *VIEWS, "--view", "n=name")
    assert "column 'name' (text) is not used" in message


def test_links_that_no_clusters_of_such_sizes_can_keep(refused, views, links):
    chain = links(*(f"{i},{i + 1},must" for i in range(30)))
    message = refused("cluster", views, *GROUPS, *VIEWS, "--links", chain)
    assert "31 samples are must-linked to each other" in message
    assert "3 clusters of 16 to 24 samples. Take another --clusters" in message
    assert "size_bounds" not in message


def test_contradictions(run, refused, views, links):
    file = links("0,1,must", "1,2,must", "0,2,cannot")
    asked = (*GROUPS, *VIEWS, "--conflicts", "refuse")
    message = refused("cluster", views, *asked, "--links", file)
    assert "0 - 1 - 2" in message
    assert "give them confidences below 1" in message
    unsure = [f"{a},{b},{kind},0.5" for a, b, kind in ((0, 1, "must"), (0, 1, "cannot"))]
    file = links(*unsure, header="a,b,kind,confidence")
    result = run("cluster", views, *GROUPS, *VIEWS, "--links", file)
    assert "Links kept: " in result.stderr


def test_without_matplotlib(refused, views, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    message = refused("cluster", views, *GROUPS, *VIEWS, "--plot", "p.png")
    assert 'pip install "linkshift[plot]"' in message
