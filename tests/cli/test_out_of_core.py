"""`linkshift cluster` of tables in parts: by flag or by size, with options honoured or refused."""

import contextlib
import signal

import numpy as np
import pandas as pd
import pytest

from linkshift import scale
from linkshift.cli import out_of_core
from linkshift.cli.out_of_core import numbers_in
from linkshift.scale import running


@pytest.fixture
def parquet(here, frame):
    frame.to_parquet("data.parquet", index=False)
    return "data.parquet"


def labels(path="l.parquet"):
    return pd.read_parquet(path)


def test_the_flag(run, parquet, groups):
    result = run("cluster", parquet, "--out-of-core", "-o", "l.parquet")
    assert result.stdout == ""
    told = " ".join(result.stderr.split())
    assert "Out of core: --out-of-core; the table is read in parts, three times." in told
    assert "data.parquet: 60 rows in chunks of 60, 2 columns used: x, y; left out: name" in told
    assert "Scale: none (no column varies 10 times as much as another)." in told
    assert "Mean shift with the gaussian kernel on 60 landmarks." in told
    assert "3 clusters, sizes 20, 20, 20." in told
    assert "Written: l.parquet." in told
    found = labels()
    assert list(found.columns) == ["row", "label"]
    model = scale.fit(scale.summarise(groups, 8000))
    assert np.array_equal(found["label"], scale.predict(model, groups))
    assert run("cluster", parquet, "--out-of-core", "-o", "l.parquet", "--quiet").stderr == ""


def test_a_large_table_goes_by_parts(run, parquet, monkeypatch):
    monkeypatch.setattr(out_of_core, "SHARE", 1e-8)
    told = run("cluster", parquet, "-o", "l.parquet", "--id-column", "name").stderr
    assert "more than an eighth of 4 GB (LINKSHIFT_MEMORY_GB)" in told
    assert list(labels().columns) == ["name", "label"]
    monkeypatch.setenv("LINKSHIFT_MEMORY_GB", "400")
    assert "Out of core" not in run("cluster", parquet, "-o", "l.parquet").stderr


def test_in_memory_whatever_its_size(run, parquet, monkeypatch):
    monkeypatch.setattr(out_of_core, "SHARE", 0.0)
    assert "Out of core" not in run("cluster", parquet, "--in-memory").stderr


def test_a_folder(run, here, frame):
    (here / "data").mkdir()
    for i in range(3):
        frame[20 * i : 20 * i + 20].to_parquet(here / "data" / f"{i}.parquet", index=False)
    told = run("cluster", "data", "-o", "l.parquet").stderr
    assert "Out of core: data is a folder" in told
    assert len(labels()) == 60


def test_options_have_their_effect(run, parquet):
    given = ("cluster", parquet, "--out-of-core", "-o", "l.parquet")
    told = run(*given, "--columns", "y", "--kernel", "flat", "--bandwidth", 1, "--scale", "minmax")
    assert "1 column used: y" in told.stderr
    assert "Scale: minmax. Mean shift with the flat kernel" in told.stderr
    assert "1 cluster, size 60." in told.stderr
    assert "were still moving after 1 step" in run(*given, "--max-iter", 1).stderr


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--method", "kmeans"),
        ("--bandwidth", "links"),
        ("--clusters", 3),
        ("--max-clusters", 3),
        ("--n-neighbors", 5),
        ("--space", "graph"),
        ("--metric", "cosine"),
        ("--init", "greedy"),
        ("--conflicts", "refuse"),
        ("--held-out", 5),
        ("--labels-like", "old.csv"),
        ("--view", "a=x"),
        ("--labels-column", "name"),
        ("--apart-within", "name"),
        ("--together-within", "name"),
        ("--pca", 2),
        ("--plot", "p.png"),
        ("--report", "r.html"),
        ("--show", "name"),
        ("--save", "m.npz"),
        ("--prepare", None),
        ("--json", None),
        ("--no-header", None),
    ],
)
def test_other_options_are_refused_by_name(refused, parquet, option, value):
    given = [option] if value is None else [option, value]
    told = refused("cluster", parquet, "--out-of-core", "-o", "l.parquet", *given)
    assert option in told
    assert "does not work on parts" in told
    assert "Leave it out" in told


def test_links_hold(run, parquet, here):
    (here / "links.csv").write_text("a,b,kind\n0,1,must\n0,2,cannot\n5,59,cannot\n")
    given = ("cluster", parquet, "--out-of-core", "-o", "l.parquet", "--links", "links.csv")
    for method in ((), ("--method", "cms")):
        told = run(*given, *method).stderr
        assert "Constrained mean shift with 3 links on" in told
        assert "Links kept: 1 of 1 must, 2 of 2 cannot." in told
        found = labels()["label"]
        assert found[0] == found[1]
        assert found[0] != found[2]
        assert found[5] != found[59]


def test_links_that_cannot_be_used(refused, parquet, here):
    (here / "links.csv").write_text("a,b,kind\n0,1,must\n0,2,cannot\n")
    given = ("cluster", parquet, "--out-of-core", "-o", "l.parquet", "--links", "links.csv")
    assert "Leave it or --links out." in refused(*given, "--method", "mean-shift")
    assert "Leave out --bandwidth, or --links." in refused(*given, "--bandwidth", 1)
    assert "Leave out --kernel, or --links." in refused(*given, "--kernel", "flat")
    without = given[:-2]
    assert "give --links FILE" in refused(*without, "--method", "cms")
    (here / "links.csv").write_text("a,b,kind\n0,1,must\n0,1,cannot\n")
    assert "contradict" in refused(*given)


def test_every_option_is_honoured_or_refused():
    from typer.main import get_command

    from linkshift.cli.app import app

    params = {option.name for option in get_command(app).commands["cluster"].params}
    assert params >= out_of_core._OPTIONS


def test_where_labels_go(refused, parquet):
    told = refused("cluster", parquet, "--out-of-core")
    assert "Name it: -o labels.parquet" in told
    told = refused("cluster", parquet, "--out-of-core", "-o", "l.csv")
    assert "unknown suffix '.csv'. Use one of .parquet" in told
    assert "would overwrite" in refused("cluster", parquet, "--out-of-core", "-o", parquet)
    assert "Add --out-of-core" in refused("cluster", parquet, "--resume")


def test_what_is_wrong_is_told(refused, here, frame):
    frame.loc[7, "x"] = np.nan
    frame.to_parquet("data.parquet", index=False)
    given = ("cluster", "data.parquet", "--out-of-core", "-o", "l.parquet")
    told = refused(*given)
    assert "'x' is missing in row 7" in told
    assert "with --columns" in told
    assert "no column 'z'" in refused(*given, "--columns", "z")
    assert sorted(file.name for file in here.iterdir()) == ["data.parquet"]


def test_links_are_passed_on(run, refused, parquet, links, monkeypatch):
    seen = []
    fit = running.fit
    monkeypatch.setattr(running, "fit", lambda s, given, **o: seen.append(given) or fit(s, **o))
    given = ("cluster", parquet, "--out-of-core", "-o", "l.parquet", "--links")
    run(*given, links("0,1,must"))
    run(*given, links("s00,s01,must"), "--id-column", "name")
    assert [one.must.tolist() for one in seen] == [[[0, 1]], [[0, 1]]]
    assert "--id-column" in refused(*given, links("s00,s01,must"))
    assert "out of range" in refused(*given, links("0,99,must"))


def test_interrupted_and_resumed(run, parquet, monkeypatch):
    given = ("cluster", parquet, "--out-of-core", "-o", "l.parquet")
    run(*given)
    wanted = labels()
    predict = running.predict

    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "predict", interrupted)
    told = run(*given, code=130).stderr
    assert "--resume goes on" in told
    assert "No file was left half-written" in told
    monkeypatch.setattr(running, "predict", predict)
    run(*given, "--resume")
    assert labels().equals(wanted)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("stage", ["summarise", "fit", "predict"])
def test_a_ctrl_c_that_is_swallowed_counts(run, parquet, here, monkeypatch, stage):
    """What is finished is kept, and the file is not written."""
    work = getattr(running, stage)

    def swallowed(*args, **options):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return work(*args, **options)

    monkeypatch.setattr(running, stage, swallowed)
    told = run("cluster", parquet, "--out-of-core", "-o", "l.parquet", code=130).stderr
    assert "--resume goes on" in told
    assert not (here / "l.parquet").exists()


def test_numbers_in_files(here, frame, groups):
    frame.to_parquet("x.parquet", index=False)
    pd.DataFrame({"e": list(groups.astype(np.float32))}).to_parquet("lists.parquet")
    np.save("x.npy", groups)
    frame.to_csv("x.csv", index=False)
    assert [numbers_in(here / f) for f in ("x.parquet", "lists.parquet", "x.npy")] == [120.0] * 3
    assert numbers_in(here / "x.csv") == (here / "x.csv").stat().st_size / 8
    assert numbers_in(here / "none.parquet") == 0.0
