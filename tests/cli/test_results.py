"""`--show` and `--labels-like`: rows on the page, and numbers that stay."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import linkshift
from linkshift.cli.writing.tables import write_labels

METHOD = ("--method", "mean-shift", "--bandwidth", 2, "-q")


@pytest.fixture
def told(frame, here):
    """told.csv: name, x, y, and what rows are."""
    texts = ["a red <apple>"] * 20 + ["one blue whale"] * 20 + ["the green leaf"] * 20
    frame.assign(what=[f"{text} {i}" for i, text in enumerate(texts)]).to_csv(
        "told.csv", index=False
    )
    return "told.csv"


def labels(file):
    return pd.read_csv(file).label.to_numpy()


def test_a_column_is_shown(run, told):
    run("cluster", told, "--report", "r.html", "--show", "what", "--id-column", "name", "-q")
    page = Path("r.html").read_text(encoding="utf-8")
    assert "<bdi>apple</bdi>" in page
    assert "a red &lt;apple&gt;" in page
    assert "--show what" in page
    assert "mean" in page


def test_a_shown_text_is_not_clustered(run, told):
    run(
        *("cluster", told, "--prepare", "--columns", "x,y", "--report", "r.html", "--show", "what"),
        *("-o", "a.csv"),
    )
    result = run(
        "cluster",
        told,
        "--prepare",
        "--report",
        "r.html",
        "--show",
        "what",
        "--id-column",
        "name",
        "-o",
        "b.csv",
    )
    assert "what" not in " ".join(
        line for line in result.stderr.splitlines() if line.startswith("Prepared")
    )
    np.testing.assert_array_equal(labels("a.csv"), labels("b.csv"))


def test_images_beside_the_table_are_shown(run, frame, here):
    from PIL import Image

    (here / "folder").mkdir()
    for i in range(60):
        Image.new("RGB", (8, 8), (4 * i, 0, 0)).save(here / "folder" / f"{i}.png")
    frame.assign(photo=[f"{i}.png" for i in range(60)]).to_csv("folder/data.csv", index=False)
    run("cluster", "folder/data.csv", "--report", "r.html", "--show", "photo", "-q")
    page = (here / "r.html").read_text(encoding="utf-8")
    assert page.count('<img src="data:image/png;base64,') >= 9
    assert "could not be found" not in page


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--show", "name"), "--show is for the page of --report"),
        (("--show", "nane", "--report", "r.html"), "--show: data.csv has no column 'nane'"),
        (("--labels-like", "none.csv"), "none.csv does not exist"),
        (("--labels-like", "data.csv"), "no column 'label'"),
        (("--labels-like", "more.csv"), "names row 60, and here are 60 rows"),
        (("--labels-like", "ids.csv"), "--id-column"),
        (("--labels-like", "names.csv"), "names rows by 'name'. Say which column of the table"),
        (("--labels-like", "other.csv", "--id-column", "name"), "none of the ids"),
        (("--labels-like", "rows.csv", "--id-column", "name"), "names rows by number"),
        (("--labels-like", "half.csv"), "no whole number"),
        (("--labels-like", "few.npy"), "2 labels, and here are 60 rows"),
        (("--labels-like", "bad.npy"), "cannot be read"),
    ],
)
def test_mistakes(refused, data, here, args, words):
    for name, text in {
        "more.csv": "row,label\n60,1\n",
        "ids.csv": "id,label\ns00,1\n",
        "names.csv": "name,label\n" + "".join(f"s{i:02d},1\n" for i in range(60)),
        "other.csv": "id,label\nz,1\n",
        "rows.csv": "row,label\n0,1\n",
        "half.csv": "row,label\n0,0.5\n",
    }.items():
        (here / name).write_text(text)
    np.save("few.npy", np.array([0, 1]))
    (here / "bad.npy").write_bytes(b"no array")
    assert words in refused("cluster", data, *args)


@pytest.mark.parametrize("file", ["old.csv", "old.tsv", "old.parquet", "old.npz", "old.npy"])
@pytest.mark.parametrize("ids", [(), ("--id-column", "name")])
def test_clusters_keep_their_numbers(run, data, file, ids):
    """Written, given other numbers, read: the numbers are those of the file."""
    run("cluster", data, *METHOD, "-o", "first.csv")
    other = np.array([4, 9, 1])[labels("first.csv")]
    names = pd.read_csv(data).name.tolist() if ids else None
    write_labels(Path(file), other, names, ids[1] if ids else None)
    run(
        "cluster", data, *METHOD, *ids, "--labels-like", file, "-o", "second.csv", "--save", "m.npz"
    )
    np.testing.assert_array_equal(labels("second.csv"), other)
    run("predict", "m.npz", data, "-o", "third.csv", "-q")
    np.testing.assert_array_equal(labels("third.csv"), other)
    told = run("explain", "m.npz", "s00" if ids else 0, "-q").stdout
    assert f"is in cluster {other[0]}" in told
    np.testing.assert_array_equal(linkshift.load("m.npz").labels, other)


def test_rows_that_come_and_go_are_found_by_id(run, data, frame):
    run("cluster", data, *METHOD, "--id-column", "name", "-o", "old.csv")
    old = pd.read_csv("old.csv").set_index("name").label
    later = frame.iloc[::-1].iloc[:45]
    later.to_csv("later.csv", index=False)
    args = ("--id-column", "name", "--labels-like", "old.csv", "-o", "new.csv")
    run("cluster", "later.csv", *METHOD, *args)
    new = pd.read_csv("new.csv").set_index("name").label
    assert (new == old[new.index]).all()


@pytest.mark.parametrize("called", ["person", "row", "label", "id", "file"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".npz"])
def test_earlier_labels_are_found_whatever_ids_are_called(run, here, frame, called, suffix):
    """In another order, with ids that look like numbers, after the column was renamed."""
    frame = frame.assign(name=[f"{7 * i:03d}" for i in range(60)])
    frame.rename(columns={"name": called}).to_csv("first.csv", index=False)
    for output in (f"old{suffix}", "first_labels.csv"):
        run("cluster", "first.csv", *METHOD, "--id-column", called, "-o", output)
    for name in (called, "other"):
        frame[::-1].rename(columns={"name": name}).to_csv("second.csv", index=False)
        args = ("--id-column", name, "--labels-like", f"old{suffix}", "-o", "new.csv")
        run("cluster", "second.csv", *METHOD, *args)
        np.testing.assert_array_equal(labels("new.csv"), labels("first_labels.csv")[::-1])


def test_what_python_saves_the_command_reads(run, data, frame):
    table = frame.set_index("name")
    found = linkshift.cluster(table * [1.0, 1000.0])
    found.save("m.npz")
    frame.assign(y=frame.y * 1000).to_csv("large.csv", index=False)
    run("predict", "m.npz", "large.csv", "-o", "p.csv", "-q")
    np.testing.assert_array_equal(labels("p.csv"), found.labels)
    assert "s07" in run("explain", "m.npz", "s07", "-q").stdout
