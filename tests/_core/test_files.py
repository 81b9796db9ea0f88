"""A file is replaced whole or not at all."""

import os
from pathlib import Path

import pytest

from linkshift._core.files import replacing
from linkshift._core.messages import Refusal


def names(folder):
    return sorted(file.name for file in folder.iterdir())


@pytest.mark.parametrize("name", ["out", "out.csv", "out.tar.gz", ".hidden", "ü x.npz", "a" * 241])
@pytest.mark.parametrize("kind", [Path, str])
def test_a_file_takes_the_place_of_the_old_one(tmp_path, name, kind):
    target = tmp_path / name
    target.write_text("old")
    with replacing(kind(target)) as temporary:
        temporary.write_text("new")
        assert temporary.parent == tmp_path
        assert temporary.name.startswith(".")
        assert temporary.suffix == (target.suffix or ".tmp")
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert names(tmp_path) == [name]


class Halt(Exception):
    pass


@pytest.mark.parametrize("error", [Halt, KeyboardInterrupt, SystemExit, MemoryError, OSError])
def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path, error):
    target = tmp_path / "out.csv"
    target.write_text("old")

    def fail():
        with replacing(target) as temporary:
            temporary.write_text("half")
            raise error

    with pytest.raises(error):
        fail()
    assert target.read_text() == "old"
    assert names(tmp_path) == ["out.csv"]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_failure_at_the_end_leaves_the_old_file_too(tmp_path, monkeypatch, call):
    target = tmp_path / "out.csv"
    target.write_text("old")

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(*((os, call) if call == "fsync" else (Path, call)), fail)
    with pytest.raises(KeyboardInterrupt), replacing(target) as temporary:
        temporary.write_text("half")
    assert target.read_text() == "old"
    assert names(tmp_path) == ["out.csv"]


def test_what_is_written_reaches_the_disk_before_it_is_renamed(tmp_path, monkeypatch):
    target, order = tmp_path / "out.csv", []
    fsync, rename = os.fsync, Path.replace

    def synced(descriptor):
        order.append(("synced", os.fstat(descriptor).st_ino))
        fsync(descriptor)

    def renamed(self, other):
        order.append(("renamed", self.stat().st_ino))
        return rename(self, other)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(Path, "replace", renamed)
    with replacing(target) as temporary:
        temporary.write_text("new")
    number = target.stat().st_ino
    assert order == [("synced", number), ("renamed", number)]


def test_of_a_symbolic_link_the_link_is_replaced(tmp_path):
    (tmp_path / "far").write_text("old")
    (tmp_path / "out").symlink_to(tmp_path / "far")
    with replacing(tmp_path / "out") as temporary:
        temporary.write_text("new")
    assert not (tmp_path / "out").is_symlink()
    assert (tmp_path / "out").read_text() == "new"
    assert (tmp_path / "far").read_text() == "old"


def test_nothing_written_raises_as_usual(tmp_path):
    with pytest.raises(FileNotFoundError), replacing(tmp_path / "out"):
        pass
    assert names(tmp_path) == []


def test_no_folder_and_a_folder_are_refused(tmp_path):
    with (
        pytest.raises(Refusal, match=r"no folder .*none\. Make the folder first"),
        replacing(tmp_path / "none" / "out"),
    ):
        pass
    (tmp_path / "there").mkdir()
    with pytest.raises(Refusal, match=r"is a folder\. Name a file"), replacing(tmp_path / "there"):
        pass
