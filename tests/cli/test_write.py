"""Every format reads back; a write that fails leaves nothing behind."""

import numpy as np
import pandas as pd
import pytest

from linkshift.cli.writing import tables, targets

LABELS = np.array([0, 1, -1, 0])
IDS = ["007", "a,b", "ü", "x y"]


def read(path):
    if path.suffix in (".csv", ".tsv"):
        separator = "," if path.suffix == ".csv" else "\t"
        return pd.read_csv(path, sep=separator, dtype={"id": str}).to_dict("list")
    if path.suffix == ".parquet":
        return pd.read_parquet(path).to_dict("list")
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name].tolist() for name in file.files}


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet", ".npz"])
@pytest.mark.parametrize("ids", [None, IDS, [5, 6, 7, 8]])
def test_round_trip(tmp_path, suffix, ids):
    path = tmp_path / f"out{suffix}"
    tables.write_labels(path, LABELS, ids)
    found = read(path)
    key, names = ("row", [0, 1, 2, 3]) if ids is None else ("id", ids)
    assert list(found) == [key, "label"]
    assert [str(name) for name in found[key]] == [str(name) for name in names]
    assert found["label"] == LABELS.tolist()
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("suffix", [".csv", ".tsv", ".parquet"])
def test_ids_are_called_as_their_column_is(tmp_path, suffix):
    path = tmp_path / f"out{suffix}"
    tables.write_labels(path, LABELS, IDS, "who, when")
    assert list(read(path)) == ["who, when", "label"]
    for taken in ("row", "label"):  # which say something else here
        tables.write_labels(path, LABELS, IDS, taken)
        assert list(read(path)) == ["id", "label"]
    assert tables.labels_text(LABELS, IDS, "who").startswith("who,label\n")


def test_npy_holds_the_labels(tmp_path):
    tables.write_labels(tmp_path / "out.npy", LABELS, IDS)
    assert np.array_equal(np.load(tmp_path / "out.npy"), LABELS)


@pytest.mark.parametrize("suffix", targets.LABEL_SUFFIXES)
def test_command_round_trip(run, data, here, suffix):
    expected = run("cluster", data).stdout
    result = run("cluster", data, "-o", f"out{suffix}")
    assert result.stdout == ""
    assert f"Written: out{suffix}." in result.stderr
    if suffix == ".npy":
        labels = np.load("out.npy").tolist()
    else:
        labels = read(here / f"out{suffix}")["label"]
    assert labels == [int(line.split(",")[1]) for line in expected.splitlines()[1:]]


class Halt(Exception):
    pass


@pytest.mark.parametrize("error", [Halt, KeyboardInterrupt, MemoryError])
def test_an_interrupted_write_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "out.csv"
    path.write_text("old")

    def fail():
        with targets.replacing(path) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert [file.name for file in tmp_path.iterdir()] == ["out.csv"]
    assert path.read_text() == "old"


@pytest.mark.parametrize("suffix", [".parquet", ".npz", ".npy"])
def test_ctrl_c_while_writing(run, data, here, monkeypatch, suffix):
    def half(target, *args, **kwargs):
        target.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(pd.DataFrame, "to_parquet", lambda _, target, **__: half(target))
    monkeypatch.setattr(tables.np, "savez", half)
    monkeypatch.setattr(tables.np, "save", half)
    result = run("cluster", data, "-o", f"out{suffix}", code=130)
    assert "Interrupted" in result.stderr
    assert [file.name for file in here.iterdir()] == ["data.csv"]


def test_a_full_disk_is_told(run, data, here, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tables.np, "save", full)
    result = run("cluster", data, "-o", "out.npy", code=2)
    assert "out.npy cannot be written: No space left on device." in result.stderr
    assert [file.name for file in here.iterdir()] == ["data.csv"]


def test_a_failed_picture_leaves_nothing(run, data, here, monkeypatch):
    from matplotlib.figure import Figure

    def half(self, target, **kwargs):
        target.write_bytes(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(Figure, "savefig", half)
    run("cluster", data, "--plot", "p.png", code=130)
    assert [file.name for file in here.iterdir()] == ["data.csv"]
