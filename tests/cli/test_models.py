"""`linkshift cluster --save`, then `predict` and `explain`: same answers in another process."""

import contextlib
import ctypes
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import linkshift
from linkshift import Links, MeanShift, model_files, plot
from linkshift.cli import talking
from linkshift.cli.app import app
from linkshift.cli.reading import models

COMMAND = Path(sys.executable).with_name("linkshift")
OLD = b"these bytes were here before\n"
MUST = [(0, 1), (2, 3), (4, 5), (20, 21), (40, 41), (42, 43)]
CANNOT = [(0, 20), (1, 21), (2, 22), (4, 44), (21, 41), (7, 47)]
GROUPS = ("--view", "wide=x", "--view", "high=y", "--clusters", 3, "--max-iter", 3)

# Name, options, and how the library is asked for the same.
CASES = {
    "mean-shift": (("--scale", "standard"), {"method": "mean-shift"}),
    "refined": (("--scale", "minmax", "--links", "both.csv"), {"method": "mean-shift"}),
    "space": (
        ("--scale", "standard", "--links", "both.csv", "--space", "kernel", "--n-neighbors", 8),
        {"method": "mean-shift", "space": "kernel", "n_neighbors": 8},
    ),
    "cms": (("--scale", "standard", "--links", "both.csv"), {"method": "cms"}),
    "cosine": (
        ("--scale", "standard", "--links", "both.csv", "--metric", "cosine"),
        {"method": "cms", "metric": "cosine"},
    ),
    "cosine, refined": (
        ("--links", "both.csv", "--metric", "cosine"),
        {"method": "mean-shift", "metric": "cosine"},
    ),
    "kernel": (
        ("--scale", "standard", "--links", "must.csv", "--n-neighbors", 8),
        {"method": "kernel", "n_neighbors": 8},
    ),
    "kmeans": (("--scale", "standard", "--clusters", 3), {"method": "kmeans", "n_clusters": 3}),
    "kmeans, cosine": (
        ("--clusters", 3, "--metric", "cosine", "--init", "greedy"),
        {"method": "kmeans", "n_clusters": 3, "metric": "cosine", "init": "greedy"},
    ),
    "skms": (("--scale", "minmax", "--links", "both.csv"), {"method": "skms"}),
    "metric": (("--links", "both.csv"), {"method": "metric"}),
    "groups": (
        ("--scale", "standard", *GROUPS),
        {"method": "groups", "n_clusters": 3, "max_iter": 3},
    ),
}


def invoke(folder, *args, code=0):
    """Call the command in this process."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        result = CliRunner().invoke(app, [str(arg) for arg in args])
    finally:
        os.chdir(before)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result


def start(folder, *args):
    """Start the installed command."""
    return subprocess.Popen(
        [COMMAND, *map(str, args)],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Whoever started the tests in the background has Ctrl-C ignored, for all below.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def scaled(X, by, kind):
    """The scaling, from its words in the help."""
    if kind == "standard":
        return (X - by.mean(axis=0)) / by.std(axis=0)
    if kind == "minmax":
        return (X - by.min(axis=0)) / (by.max(axis=0) - by.min(axis=0))
    return X


def labels_of(text):
    return pd.read_csv(io.StringIO(text), dtype={"name": str})


def write_links(path, must=(), cannot=()):
    lines = [f"s{a:02d},s{b:02d},must" for a, b in must]
    lines += [f"s{a:02d},s{b:02d},cannot" for a, b in cannot]
    path.write_text("\n".join(["a,b,kind", *lines]) + "\n")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Three groups that overlap, in unlike units; a model of each kind, its labels and JSON."""
    folder = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(3)
    centres = np.array([(0.0, 0.0), (4.0, 0.0), (0.0, 4.0)])
    X = (np.repeat(centres, 20, axis=0) + rng.normal(size=(60, 2))) * (1, 50) + (10, -300)
    new = (np.repeat(centres, 10, axis=0) + rng.normal(size=(30, 2))) * (1, 50) + (10, -300)
    frame = pd.DataFrame(X, columns=["x", "y"])
    frame.insert(0, "name", [f"s{i:02d}" for i in range(60)])
    frame.to_csv(folder / "data.csv", index=False)
    write_links(folder / "both.csv", MUST, CANNOT)
    write_links(folder / "must.csv", MUST)
    answers = {}
    for name, (options, params) in CASES.items():
        args = ("cluster", "data.csv", "--id-column", "name", "--method", params["method"])
        result = invoke(folder, *args, *options, "--save", f"{name}.npz", "--json", "--seed", 5)
        assert f"Written: {name}.npz." in result.stderr
        answers[name] = json.loads(result.stdout)
    # New rows and old ones; columns in another order, and some that nobody asked for.
    both = pd.concat([frame, pd.DataFrame(new, columns=["x", "y"])], ignore_index=True)
    both["name"] = [*frame["name"], *(f"n{i}" for i in range(30))]
    both = both.sample(frac=1, random_state=0)[["y", "name", "x"]]
    both.insert(0, "weight", 1e6)
    both["remark"] = "new, or not"
    both.to_csv(folder / "other.csv", index=False)
    return SimpleNamespace(folder=folder, X=X, new=new, answers=answers, frame=frame, both=both)


@pytest.fixture(scope="module")
def predicted(made):
    """Predictions for old rows and new ones, all in another process than the models were made in.

    One by the installed command, the others in one process to save time.
    """
    calls = [["predict", f"{name}.npz", "other.csv", "-o", f"{name}.csv"] for name in CASES]
    code = (
        "from linkshift.cli.app import app\n"
        f"for args in {calls!r}:\n    app(args, standalone_mode=False)\n"
    )
    others = subprocess.Popen([sys.executable, "-c", code], cwd=made.folder)
    process = start(made.folder, "predict", "cms.npz", "other.csv")
    explaining = start(made.folder, "explain", "cms.npz", "s00", "--json")
    out, err = process.communicate()
    assert process.returncode == 0, err
    explanation = explaining.communicate()
    assert explaining.returncode == 0, explanation
    assert others.wait() == 0
    found = {name: (made.folder / f"{name}.csv").read_text() for name in CASES}
    assert found["cms"] == out
    return SimpleNamespace(out=out, err=err, text=found, explained=explanation)


# --- predict ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CASES)
def test_a_new_process_gives_the_same_labels(made, predicted, name):
    found = labels_of(predicted.text[name])
    assert found["name"].tolist() == made.both["name"].tolist()
    found = found.set_index("name")["label"]
    answer = made.answers[name]
    assert found[made.frame["name"]].tolist() == answer["labels"]
    assert answer["n_clusters"] > 1  # or nothing would be compared

    options, params = CASES[name]
    kind = options[1] if "--scale" in options else "none"
    X, new = (scaled(data, made.X, kind) for data in (made.X, made.new))
    links = Links(must=MUST, cannot=CANNOT if "both.csv" in options else None)
    if name == "groups":
        X, new = ({"wide": data[:, :1], "high": data[:, 1:]} for data in (X, new))
    given = links if "--links" in options else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of links that do not hold
        twin = linkshift.cluster(X, given, random_state=5, **params)
    assert twin.labels.tolist() == answer["labels"]
    assert found[[f"n{i}" for i in range(30)]].tolist() == twin.predict(new).tolist()


def test_predict_tells_what_it_did_on_stderr_only(predicted):
    out, err = predicted.out, predicted.err
    assert out.startswith("name,label\n")
    assert len(out.splitlines()) == 91
    assert "cms.npz: cms, made from data.csv." in err
    assert "90 rows, 2 columns used: x, y. Left out: weight (number)" in err
    assert re.search(r"\d clusters, sizes ", err)


def test_predict_json(made, predicted):
    result = invoke(made.folder, "predict", "cms.npz", "other.csv", "--json", "-q")
    assert result.stderr == ""
    found = json.loads(result.stdout)
    assert found["model"] == "cms.npz"
    assert found["method"] == "cms"
    assert found["n_samples"] == 90
    assert "linkshift" in found["versions"]
    told = labels_of(predicted.out)
    assert found["ids"] == told["name"].tolist()
    assert found["labels"] == told["label"].tolist()


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet", "npy", "npz"])
def test_predict_writes_every_kind(made, tmp_path, kind):
    out = tmp_path / f"labels.{kind}"
    result = invoke(made.folder, "predict", "cms.npz", "data.csv", "-o", out)
    assert result.stdout == ""
    assert f"Written: {out}." in result.stderr
    if kind in ("csv", "tsv"):
        found = pd.read_csv(out, sep="," if kind == "csv" else "\t")
    elif kind == "parquet":
        found = pd.read_parquet(out)
    elif kind == "npy":
        found = {"label": np.load(out)}
    else:
        found = dict(np.load(out))
    assert list(found["label"]) == made.answers["cms"]["labels"]
    if kind != "npy":
        assert list(found["id" if kind == "npz" else "name"]) == made.frame["name"].tolist()
    assert [path.name for path in tmp_path.iterdir()] == [out.name]


@pytest.mark.parametrize("kind", ["tsv", "parquet"])
def test_predict_reads_other_kinds(made, tmp_path, kind):
    file = tmp_path / f"data.{kind}"
    if kind == "tsv":
        made.frame.to_csv(file, sep="\t", index=False)
    else:
        made.frame.to_parquet(file)
    result = invoke(made.folder, "predict", "refined.npz", file)
    assert labels_of(result.stdout)["label"].tolist() == made.answers["refined"]["labels"]


def test_ids_of_new_rows(made, tmp_path):
    """The model's column where it is there, another one when named, else row numbers."""
    made.frame.drop(columns="name").to_csv(tmp_path / "bare.csv", index=False)
    made.frame.rename(columns={"name": "key"}).to_csv(tmp_path / "key.csv", index=False)

    def found(*args):
        return labels_of(invoke(tmp_path, "predict", made.folder / "cms.npz", *args).stdout)

    assert list(found("bare.csv").columns) == ["row", "label"]
    assert list(found("key.csv").columns) == ["row", "label"]
    keyed = found("key.csv", "--id-column", "key")
    assert keyed["key"].tolist() == made.frame["name"].tolist()
    told = invoke(
        tmp_path, "predict", made.folder / "cms.npz", "key.csv", "--id-column", "keys", code=2
    )
    assert "Did you mean 'key'?" in told.stderr
    told = invoke(
        tmp_path, "predict", made.folder / "cms.npz", "key.csv", "--id-column", "x", code=2
    )
    assert "takes 'x' as values to go by, not as names of rows" in told.stderr


def test_threads_do_not_matter(made):
    one = invoke(made.folder, "predict", "mean-shift.npz", "other.csv", "--threads", 1, "-q")
    two = invoke(made.folder, "predict", "mean-shift.npz", "other.csv", "--threads", 2, "-q")
    assert one.stdout == two.stdout
    model = model_files.load(made.folder / "refined.npz")
    models.set_threads(model, 3)
    assert (model.estimator.n_jobs, model.estimator_.n_jobs) == (3, 3)


@pytest.mark.parametrize("kind", ["npy", "npz", "csv"])
def test_single_precision_stays(run, here, groups, kind):
    """Of a model in float32, and of data in float32 for a model in float64."""
    X = (groups * (1, 1000)).astype(np.float32)
    file = f"data.{kind}"
    if kind == "npy":
        np.save(file, X)
    elif kind == "npz":
        np.savez(file, X=X, name=[f"s{i}" for i in range(60)])
    else:
        pd.DataFrame(X, columns=["0", "1"]).to_csv(file, index=False)
    np.save("same.npy", X)
    header = ("--header",) if kind == "csv" else ()
    args = ("--scale", "standard", "--save", "m.npz", "--json", *header)
    answer = json.loads(run("cluster", file, *args).stdout)
    assert model_files.about("m.npz")["dtype"] == ("float64" if kind == "csv" else "float32")
    for name, options in ((file, header), ("same.npy", ())):
        found = json.loads(run("predict", "m.npz", name, "--json", *options).stdout)
        assert found["labels"] == answer["labels"]
    run("explain", "m.npz", 7, "--json")


def test_views_of_a_file(run, here, groups):
    np.savez("views.npz", shape=groups, colour=groups[:, ::-1] * 3)
    args = ("--clusters", 3, "--max-iter", 3, "--save", "m.npz", "--json")
    answer = json.loads(run("cluster", "views.npz", *args).stdout)
    assert answer["method"] == "groups"
    found = json.loads(run("predict", "m.npz", "views.npz", "--json").stdout)
    assert found["labels"] == answer["labels"]
    # The same columns from a table.
    names = ["colour_0", "colour_1", "shape_0", "shape_1"]
    table = np.hstack([groups[:, ::-1] * 3, groups])
    pd.DataFrame(table, columns=names).to_csv("views.csv", index=False)
    found = json.loads(run("predict", "m.npz", "views.csv", "--json").stdout)
    assert found["labels"] == answer["labels"]


def test_missing_columns_are_named(made, tmp_path):
    made.frame.rename(columns={"y": "Y"}).to_csv(tmp_path / "less.csv", index=False)
    model = made.folder / "cms.npz"
    told = invoke(tmp_path, "predict", model, "less.csv", code=2).stderr
    assert "Error: less.csv lacks 1 column of " in told
    assert ": y. Its columns: name, x, Y." in " ".join(told.split())
    np.save(tmp_path / "bare.npy", made.X)
    told = invoke(tmp_path, "predict", model, "bare.npy", code=2).stderr
    assert "bare.npy lacks 2 columns of" in told
    assert ": x, y." in told


def test_cells_without_numbers(made, tmp_path):
    frame = made.frame.copy()
    frame.loc[7, "x"] = np.nan
    frame.to_csv(tmp_path / "gap.csv", index=False)
    told = invoke(tmp_path, "predict", made.folder / "cms.npz", "gap.csv", code=2).stderr
    assert "x: missing in row 7" in told
    assert "--prepare fills them itself" in " ".join(told.split())
    frame["x"] = frame["x"].astype(object)
    frame.loc[7, "x"] = "wide"
    frame.to_csv(tmp_path / "text.csv", index=False)
    told = invoke(tmp_path, "predict", made.folder / "cms.npz", "text.csv", code=2).stderr
    assert "column 'x' is not numeric: row 7 has 'wide'" in told


@pytest.mark.parametrize("cell", [np.nan, "wide"])
def test_the_remedy_for_a_cell_can_be_followed(made, tmp_path, cell):
    frame = made.frame.astype({"x": object})
    frame.loc[7, "x"] = cell
    frame.to_csv(tmp_path / "bad.csv", index=False)
    told = invoke(tmp_path, "predict", made.folder / "cms.npz", "bad.csv", code=2).stderr
    assert "--columns" not in told


def test_progress_is_no_part_of_a_model(run, data, links, monkeypatch):
    """A bar is a function, which a model file does not hold; a terminal has one."""

    @contextlib.contextmanager
    def bar(_self, _title):
        yield lambda _done, _total: None

    monkeypatch.setattr(talking.Console, "progress", bar)
    file = links(*(f"{i},{i + 20},cannot" for i in range(10)), "0,1,must")
    for method in ("mean-shift", "cms", "skms", "metric"):
        run("cluster", data, "--links", file, "--method", method, "--save", "m.npz", "-q")
        run("explain", "m.npz", 0, "--counterfactuals", 1, "-q")
    for args in (("--method", "mean-shift"), ("--method", "kernel"), GROUPS):
        run("cluster", data, "--save", "m.npz", "-q", *args)
        run("predict", "m.npz", data)


def test_the_same_model_has_the_same_bytes(run, data):
    for name in ("a.npz", "b.npz"):
        run("cluster", data, "--method", "kernel", "--seed", 3, "--save", name, "-q")
    assert Path("a.npz").read_bytes() == Path("b.npz").read_bytes()


# --- files that are no models, and targets --------------------------------------------------------


def not_models():
    def truncated(good):
        return good[: len(good) // 2]

    def flipped(good):
        place = len(good) // 2
        return good[:place] + bytes([good[place] ^ 255]) + good[place + 1 :]

    def other(_good):
        file = io.BytesIO()
        np.savez(file, X=np.eye(3))
        return file.getvalue()

    return {
        "empty": lambda _good: b"",
        "random": lambda _good: np.random.default_rng(0).bytes(5000),
        "zip_start": lambda _good: b"PK\x03\x04" + np.random.default_rng(0).bytes(500),
        "text": lambda _good: b"x,y\n1,2\n",
        "truncated": truncated,
        "flipped": flipped,
        "other npz": other,
    }


@pytest.mark.parametrize("kind", not_models())
def test_files_that_are_no_models(made, tmp_path, kind):
    bad = not_models()[kind]((made.folder / "cms.npz").read_bytes())
    (tmp_path / "bad.npz").write_bytes(bad)
    (tmp_path / "out.csv").write_bytes(OLD)
    data = made.folder / "data.csv"
    for args in (("predict", "bad.npz", data, "-o", "out.csv"), ("explain", "bad.npz", "0")):
        result = invoke(tmp_path, *args, code=2)
        assert result.stdout == ""
        assert result.stderr.startswith("Error: ")
        assert "bad.npz" in result.stderr
        assert "or cluster and save again" in result.stderr
    assert (tmp_path / "out.csv").read_bytes() == OLD
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.npz", "out.csv"]


@pytest.mark.parametrize("about", [None, {"columns": ["x", "y"]}, {"columns": ["x"], "scale": 2.5}])
def test_a_model_saved_from_python(refused, data, groups, about):
    model_files.save(MeanShift().fit(groups), "m.npz", about=about)
    for args in (("predict", "m.npz", data), ("explain", "m.npz", 0)):
        told = refused(*args)
        assert "m.npz holds a model, but not which columns it was made from" in told
        assert "linkshift.model_files.load" in told


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("columns", wrong) for wrong in (None, [], ["x"], ["x", "x"], ["x", 1], {"x": "y"})),
        *(("views", wrong) for wrong in ([], {}, {"a": ["x"]}, {"a": ["x", "y"]}, {"a": 1})),
        *(("ids", wrong) for wrong in ([], ["a"], "text", [None] * 60)),
        *(("id_column", wrong) for wrong in (1, ["x"])),
        *(("dtype", wrong) for wrong in ("int8", None, [], "object")),
        *((key, wrong) for key in ("shift", "spread") for wrong in (None, [0.0], ["a", "b"])),
        *(("spread", wrong) for wrong in ([0.0, 1.0], [1.0, -1.0])),
        *((key, wrong) for key in ("data", "method", "scale") for wrong in (None, 1, [])),
    ],
)
def test_what_a_file_tells_of_itself_must_fit_its_model(refused, run, data, key, value):
    """Somebody may write a file on purpose: the digest is then as it should be."""
    run("cluster", data, "--method", "mean-shift", "--save", "m.npz", "-o", "out.csv")
    about = model_files.about("m.npz") | {key: value}
    model_files.save(model_files.load("m.npz"), "m.npz", about=about)
    for args in (("predict", "m.npz", data), ("explain", "m.npz", 0)):
        told = refused(*args)
        assert "m.npz cannot be used: what it says of its" in told
        assert "Cluster and save it again" in told


def test_no_model(refused, data, here):
    Path("model.npz").write_bytes(b"")
    assert "modle.npz does not exist. Did you mean 'model.npz'?" in refused(
        "predict", "modle.npz", data
    )
    assert "is a folder" in refused("explain", here, 0)
    assert "0 does not exist. MODEL comes first" in refused("explain", 0, "model.npz")


def test_targets_of_predict(made, refused, here):
    model = (made.folder / "cms.npz").read_bytes()
    Path("m.npz").write_bytes(model)
    np.savez("data.npz", X=made.X)
    Path("data.csv").write_bytes((made.folder / "data.csv").read_bytes())
    Path("also.npz").symlink_to("m.npz")
    kept = {path: path.read_bytes() for path in here.iterdir()}
    for out in ("m.npz", "./m.npz", "also.npz"):
        assert "would overwrite m.npz" in refused("predict", "m.npz", "data.csv", "-o", out)
    assert "would overwrite data.csv" in refused("predict", "m.npz", "data.csv", "-o", "data.csv")
    assert "unknown suffix '.txt'" in refused("predict", "m.npz", "data.csv", "-o", "a.txt")
    assert "mkdir -p no" in refused("predict", "m.npz", "data.csv", "-o", "no/a.csv")
    assert {path: path.read_bytes() for path in here.iterdir()} == kept


def test_targets_of_cluster(refused, data, here, groups):
    np.savez("data.npz", X=groups)
    Path("m.npz").write_bytes(OLD)
    kept = {path: path.read_bytes() for path in here.iterdir()}
    assert "--output and --save are both m.npz; name two files" in refused(
        "cluster", data, "-o", "m.npz", "--save", "m.npz"
    )
    assert "--save are both" in refused("cluster", data, "-o", "m.npz", "--save", here / "m.npz")
    assert "would overwrite data.npz" in refused("cluster", "data.npz", "--save", "data.npz")
    assert "Use one of .npz" in refused("cluster", data, "--save", "m.pkl")
    (here / "folder.npz").mkdir()
    assert "is a folder" in refused("cluster", data, "--save", "folder.npz")
    (here / "folder.npz").rmdir()
    assert {path: path.read_bytes() for path in here.iterdir()} == kept


def test_a_refused_run_keeps_the_old_files(refused, here, frame):
    frame["x"] = frame["x"].astype(object)
    frame.loc[3, "x"] = np.nan
    frame.to_csv("data.csv", index=False)
    names = ("o.csv", "p.png", "r.html", "m.npz")
    for name in names:
        Path(name).write_bytes(OLD)
    options = zip(("-o", "--plot", "--report", "--save"), names, strict=True)
    told = refused("cluster", "data.csv", *(word for pair in options for word in pair))
    assert "x: missing in row 3" in told
    assert all(Path(name).read_bytes() == OLD for name in names)
    assert sorted(path.name for path in here.iterdir()) == sorted(["data.csv", *names])


@pytest.mark.parametrize("length", [245, 300])
def test_a_name_that_no_disk_takes(refused, data, here, length):
    """Too long for the temporary name beside it, or by itself."""
    name = "m" * (length - 4) + ".npz"
    for option, suffix in (("--save", ".npz"), ("-o", ".csv"), ("--report", ".html")):
        told = refused("cluster", data, option, name.replace(".npz", suffix))
        assert "File name too long" in told
    assert [path.name for path in here.iterdir()] == ["data.csv"]


# --- Ctrl-C ---------------------------------------------------------------------------------------


def test_interrupted_while_clustering(run, data, here, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    for name in ("o.csv", "m.npz", "r.html"):
        Path(name).write_bytes(OLD)
    monkeypatch.setattr(MeanShift, "fit", interrupted)
    args = ("-o", "o.csv", "--save", "m.npz", "--report", "r.html", "--method", "mean-shift")
    result = run("cluster", data, *args, code=130)
    assert result.stdout == ""
    assert result.stderr.endswith("Interrupted. No file was left half-written.\n")
    assert sorted(path.name for path in here.iterdir()) == ["data.csv", "m.npz", "o.csv", "r.html"]
    assert all(Path(name).read_bytes() == OLD for name in ("o.csv", "m.npz", "r.html"))


def test_interrupted_while_saving(run, data, here, monkeypatch):
    """The archive is half full when it happens."""

    def interrupted(archive, name, array):
        if name != "header":
            raise KeyboardInterrupt
        write(archive, name, array)

    write = model_files._write
    Path("m.npz").write_bytes(OLD)
    monkeypatch.setattr(model_files, "_write", interrupted)
    run("cluster", data, "--save", "m.npz", code=130)
    assert Path("m.npz").read_bytes() == OLD
    assert sorted(path.name for path in here.iterdir()) == ["data.csv", "m.npz"]


def test_interrupted_while_explaining(made, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(linkshift.ConstrainedMeanShift, "explain", interrupted)
    result = invoke(made.folder, "explain", "cms.npz", "s00", code=130)
    assert result.stdout == ""


def pressed_in_a_callback():
    """Ctrl-C while C calls back, as LLVM does when numba compiles: Python drops it."""
    ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))()


def pressed_and_caught():
    with contextlib.suppress(BaseException):
        signal.raise_signal(signal.SIGINT)


# What is raised again may fall between the opening of a file and the block that closes it.
@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("swallowed", [pressed_in_a_callback, pressed_and_caught])
@pytest.mark.parametrize("what", ["labels", "model", "picture", "page", "stdout", "refusal"])
def test_a_ctrl_c_that_is_swallowed_counts(run, data, here, monkeypatch, swallowed, what):
    """The work goes on to its end, and nothing comes of it."""
    fit = MeanShift.fit

    def interrupted(self, *args, **options):
        swallowed()
        if what == "refusal":
            raise ValueError("half compiled")
        return fit(self, *args, **options)

    monkeypatch.setattr(MeanShift, "fit", interrupted)
    options = {"labels": ("-o", "o.csv"), "model": ("--save", "m.npz")}
    options |= {"picture": ("--plot", "p.png"), "page": ("--report", "r.html")}
    result = run("cluster", data, "--method", "mean-shift", *options.get(what, ()), code=130)
    assert result.stdout == ""
    assert result.stderr.endswith("Interrupted. No file was left half-written.\n")
    assert "Error" not in result.stderr
    assert [path.name for path in here.iterdir()] == ["data.csv"]


def test_nothing_is_tidied_up_after_ctrl_c(here, data):
    """A compiler that was interrupted may crash when its parts are freed, as the process ends."""
    code = """
import atexit, os
from linkshift import MeanShift
from linkshift.cli import main
def interrupted(*_, **__):
    raise KeyboardInterrupt
MeanShift.fit = interrupted
atexit.register(os.abort)
main()
"""
    words = [sys.executable, "-c", code, "cluster", data, "--method", "mean-shift"]
    left = subprocess.run(words, capture_output=True, text=True, check=False)
    assert left.returncode == 130, left.stderr
    assert left.stdout == ""
    assert left.stderr.endswith("Interrupted. No file was left half-written.\n")


def test_ctrl_c_in_a_process(here):
    """While it clusters, or compiles for it: 130, and nothing is left behind."""
    rng = np.random.default_rng(0)
    np.save("large.npy", rng.normal(size=(15_000, 6)))
    Path("o.npy").write_bytes(OLD)
    args = ("--kernel", "gaussian", "--bandwidth", "0.5", "--threads", "1")
    process = start(here, "cluster", "large.npy", *args, "--save", "m.npz", "-o", "o.npy")
    told = ""
    while "Scale: " not in told:  # the last line before the work
        line = process.stderr.readline()
        assert line, told
        told += line
    time.sleep(0.5)
    assert process.poll() is None, "it was too fast to be interrupted"
    process.send_signal(signal.SIGINT)
    try:
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 130
    assert out == ""
    assert "Interrupted. No file was left half-written." in err
    assert "Traceback" not in err
    assert sorted(path.name for path in here.iterdir()) == ["large.npy", "o.npy"]
    assert Path("o.npy").read_bytes() == OLD


# --- explain --------------------------------------------------------------------------------------

MOVED = [name for name in CASES if name not in ("groups", "kmeans", "kmeans, cosine")]


def explained(made, name, row, *args):
    return json.loads(invoke(made.folder, "explain", f"{name}.npz", row, "--json", *args).stdout)


@pytest.mark.parametrize("name", MOVED)
def test_explain_as_text_and_as_json(made, name):
    result = invoke(made.folder, "explain", f"{name}.npz", "s07")
    answer = made.answers[name]
    label = answer["labels"][7]
    others = answer["labels"].count(label) - 1
    assert result.stdout.startswith(f"Row s07 is in cluster {label}, with {others} others.\n")
    found = explained(made, name, "s07")
    assert (found["row"], found["label"], found["size"]) == (7, label, others + 1)
    assert found["method"] == answer["method"]
    assert found["ids"]["7"] == "s07"
    if "--links" in CASES[name][0]:
        assert "What if:\n  without " in result.stdout
        assert 0 < len(found["counterfactuals"]) <= 5
        told = result.stdout.partition("What if:")[2]
        for case in found["counterfactuals"]:
            assert "{}-link (s{:02d}, s{:02d})".format(case["kind"], *case["pair"]) in told
    else:
        assert found["counterfactuals"] == []


def places(made, name):
    """Where rows are told and drawn: in the units of the data, or as directions of length one."""
    if "cosine" not in name:
        return made.X
    scaled = made.X
    if "--scale" in CASES[name][0]:
        scaled = (made.X - made.X.mean(axis=0)) / made.X.std(axis=0)
    return scaled / np.linalg.norm(scaled, axis=1, keepdims=True)


@pytest.mark.parametrize("name", MOVED)
def test_positions_are_in_the_units_of_the_data(made, name):
    """Although the model saw scaled columns: the path starts at the row, the mode is among rows."""
    row = 31
    found = explained(made, name, f"s{row}", "--counterfactuals", 0)
    if found["space"] != "input":
        assert found["space"] == ("metric" if name == "metric" else "kernel")
        return
    assert name in ("mean-shift", "refined", "cms", "cosine", "cosine, refined")
    X = places(made, name)
    assert np.allclose(found["path"][0], X[row])
    assert len(found["mode"]) == 2
    assert (np.abs(found["mode"] - X.mean(axis=0)) <= np.ptp(X, axis=0)).all()
    text = invoke(made.folder, "explain", f"{name}.npz", f"s{row}", "--counterfactuals", 0).stdout
    shown = [float(part) for part in re.search(r"Mode: at \((.*?)\)", text)[1].split(", ")]
    assert np.allclose(shown, found["mode"], rtol=1e-3)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_number_of_counterfactuals(made, n):
    text = invoke(made.folder, "explain", "cms.npz", "s00", "--counterfactuals", n).stdout
    assert len(re.findall(r"^  without ", text, flags=re.MULTILINE)) == n
    assert ("What if:" in text) == (n > 0)
    assert len(explained(made, "cms", "s00", "--counterfactuals", n)["counterfactuals"]) == n


def test_how_to_name_a_row(made, refused, run, data, here):
    model = made.folder / "cms.npz"
    told = refused("explain", model, "s7")
    assert "no row has the id 's7'. Did you mean 's" in told
    assert "Ids are those of column 'name', such as 's00'." in told
    assert "no row has the id '3'" in refused("explain", model, 3)
    run("cluster", data, "--save", "m.npz")  # without ids
    assert run("explain", "m.npz", 59).stdout.startswith("Row 59 is in cluster")
    for row in (60, -1, 10**30):
        told = refused("explain", "m.npz", "--", row)
        assert f"was made from 60 rows: ROW goes from 0 to 59, and it is {row}." in told
    told = refused("explain", "m.npz", "s07")
    assert "ROW is the number of a row, from 0 to 59, not 's07'" in told
    assert "--id-column" in told
    told = run("explain", "m.npz", "-1", code=2)
    assert "No such option" in told.stderr
    assert "counterfactuals" in run("explain", "m.npz", 0, "--counterfactuals", -1, code=2).stderr


@pytest.mark.parametrize("ids", ["numbers", "floats", "unicode"])
def test_ids_of_all_kinds(run, here, frame, links, ids):
    names = {
        "numbers": list(range(1000, 1060)),
        "floats": [i + 0.5 for i in range(60)],
        "unicode": [f"Zeile „{i}“ ✓" for i in range(60)],
    }[ids]
    frame["name"] = names
    frame.to_parquet("data.parquet")
    file = links(f"{names[0]},{names[20]},must")
    args = ("--id-column", "name", "--links", file, "--save", "m.npz", "-q")
    run("cluster", "data.parquet", *args)
    text = run("explain", "m.npz", str(names[20])).stdout
    assert text.startswith(f"Row {names[20]} is in cluster")
    assert f"must-link ({names[0]}, {names[20]})" in text
    found = json.loads(run("explain", "m.npz", str(names[20]), "--json").stdout)
    assert found["row"] == 20


def where_rows_go(made, name, case):
    """Cluster again with the command, without a link and those that say the same."""
    options, params = CASES[name]
    gone = {(case["kind"], tuple(pair)) for pair in (case["pair"], *case["alike"])}
    must = [pair for pair in MUST if ("must", pair) not in gone]
    cannot = [pair for pair in CANNOT if ("cannot", pair) not in gone]
    assert len(must) + len(cannot) + len(gone) == len(MUST) + len(CANNOT)
    write_links(made.folder / "fewer.csv", must, cannot)
    options = ["fewer.csv" if word == "both.csv" else word for word in options]
    args = ("--id-column", "name", "--method", params["method"], *options, "--seed", 5, "--json")
    answer = json.loads(invoke(made.folder, "cluster", "data.csv", *args, "-q").stdout)
    return np.array(answer["labels"])


@pytest.mark.parametrize("name", ["refined", "space", "cms", "skms", "metric"])
def test_counterfactuals_are_true(made, name):
    """Each says what the command does without the link."""
    now = np.array(made.answers[name]["labels"])
    outcomes = set()
    for row in (0, 7, 21):
        args = (f"s{row:02d}", "--counterfactuals", 2)
        found = explained(made, name, *args)
        text = invoke(made.folder, "explain", f"{name}.npz", *args).stdout
        for case in found["counterfactuals"]:
            a, b = case["pair"]
            then = where_rows_go(made, name, case)
            mates = then == then[row]
            assert case["size"] == mates.sum()
            assert case["n_clusters"] == len(set(then.tolist()))
            assert f"{case['kind']}-link (s{a:02d}, s{b:02d})" in text.partition("What if:")[2]
            outcomes.add(case["outcome"])
            match case["outcome"]:
                case "stays":
                    assert case["clusters"] == [now[row]]
                    assert (now[mates] == now[row]).mean() > 0.5
                case "joins":
                    (joined,) = case["clusters"]
                    assert joined != now[row]
                    assert f"it joins cluster {joined}" in text
                    assert (now[mates] == joined).sum() > (now[mates] == now[row]).sum()
                case "merged":
                    assert len(case["clusters"]) > 1
                    assert all((now[mates] == c).any() for c in case["clusters"])
                case "alone":
                    assert mates.sum() == 1
    if name in ("space", "cms"):
        assert outcomes != {"stays"}  # or little would be compared


def test_a_link_that_changes_everything(run, data, links):
    """Two groups are one because of a must-link, and the text says so."""
    file = links("0,20,must", "0,45,cannot")
    run("cluster", data, "--links", file, "--save", "m.npz", "-o", "now.csv")
    text = run("explain", "m.npz", 0).stdout
    assert "in cluster 0, with 39 others" in text
    run("cluster", data, "--links", links("0,45,cannot"), "-o", "then.csv")
    then = pd.read_csv("then.csv")["label"]
    assert (then == then[0]).sum() == 20
    # Neither half is the cluster of today.
    assert "without must-link (0, 20) it becomes part of a new cluster, with rows of" in text
    cases = json.loads(run("explain", "m.npz", 0, "--json").stdout)["counterfactuals"]
    case = next(case for case in cases if case["kind"] == "must")
    assert case["size"] == 20
    assert case["n_clusters"] == then.nunique() == 3


@pytest.mark.parametrize("name", MOVED)
def test_explain_draws(made, tmp_path, name, monkeypatch):
    drawn = []

    def spy(explanation, X, **options):
        drawn.append((explanation, X, options))
        return draw(explanation, X, **options)

    draw = plot.explanation
    monkeypatch.setattr(plot, "explanation", spy)
    picture = tmp_path / "why.png"
    result = invoke(made.folder, "explain", f"{name}.npz", "s00", "--plot", picture)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"Written: {picture}." in result.stderr
    assert result.stdout.startswith("Row s00 is in cluster")
    ((explanation, X, options),) = drawn
    assert np.allclose(X, places(made, name))  # as the path is
    assert options["labels"].tolist() == made.answers[name]["labels"]
    if explanation.space == "input" and explanation.path is not None:
        assert np.allclose(explanation.path[0], X[0])
    assert [path.name for path in tmp_path.iterdir()] == ["why.png"]


def test_targets_of_explain(made, refused, here):
    Path("m.npz").write_bytes((made.folder / "cms.npz").read_bytes())
    assert "Use one of .png, .svg, .pdf" in refused("explain", "m.npz", "s00", "--plot", "m.npz")
    assert "mkdir -p no" in refused("explain", "m.npz", "s00", "--plot", "no/a.png")


def test_groups_are_not_explained(made, refused):
    told = refused("explain", made.folder / "groups.npz", "s00")
    assert "was made by --method groups, in which nothing moves" in told
    assert "linkshift cluster --method groups --json" in told


def test_explain_is_quiet(made):
    result = invoke(made.folder, "explain", "skms.npz", "s00", "-q", "--counterfactuals", 0)
    assert result.stderr == ""


def test_explain_single_precision(run, here, groups, links):
    """Numbers of NumPy are no numbers of JSON."""
    np.save("data.npy", groups.astype(np.float32))
    file = links(*(f"{i},{i + 20},cannot" for i in range(10)), "0,1,must", "40,41,must")
    for method in ("mean-shift", "cms", "skms", "metric"):
        run("cluster", "data.npy", "--links", file, "--method", method, "--save", "m.npz", "-q")
        found = json.loads(run("explain", "m.npz", 3, "--json", "--counterfactuals", 1).stdout)
        assert found["row"] == 3


def test_explain_in_a_new_process(made, predicted):
    """In numbers and words what this process says."""
    out, err = predicted.explained
    assert err == ""
    assert json.loads(out) == explained(made, "cms", "s00")
