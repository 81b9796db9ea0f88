"""Disks that are full, read-only or not ours: said in words, and nothing is lost."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest
from tests.web.test_store import answer, name, run

from linkshift.web.fingerprint import Fingerprint
from linkshift.web.store import Store, StoreError

NOBODY = 65534


@pytest.fixture
def path(tmp_path):
    return tmp_path / "people.linkshift"


@pytest.fixture
def store(path):
    with Store(path) as found:
        yield found


def fill(store, who="Anna"):
    """Append until nothing more goes in; give the number of entries that were acknowledged."""
    n = 0
    while n < 100_000:
        try:
            n += len(store.append([name("x" * 9_000), answer()], who=who))
        except StoreError as error:
            return n, error
    raise AssertionError("the disk has no end")


def test_no_room_in_the_file(path, store):
    store.append([answer()])
    store._connection.execute("PRAGMA max_page_count = 40")
    n, error = fill(store)
    assert "disk is full" in str(error)
    assert "Make room" in str(error)
    assert len(store.entries()) == 1 + n
    store._connection.execute("PRAGMA max_page_count = 1000000")
    assert store.append([answer()])[0].seq == 2 + n


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such limit")
def test_no_room_for_files_of_this_process(path):
    code = """
        import resource
        from tests.web.test_store_disks import fill
        def limit(n):
            resource.setrlimit(resource.RLIMIT_FSIZE, (n, resource.RLIM_INFINITY))
        store = Store(sys.argv[1])
        store.append([answer()])
        limit(200_000)
        n, error = fill(store)
        print(n, len(store.entries()), error)
        limit(resource.RLIM_INFINITY)
        print(store.append([answer()])[0].seq, flush=True)
        os._exit(1)  # without a word to SQLite
    """
    process = run(code, path)
    told, seq = process.communicate()[0].splitlines()
    n, there, error = told.split(" ", 2)
    assert int(n) > 0
    assert int(there) == int(n) + 1
    assert "cannot be written" in error
    assert int(seq) == int(n) + 2
    with Store(path) as store:
        entries = store.entries()
    assert [entry.seq for entry in entries] == [*range(1, int(seq) + 1)]


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 300 kB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    command = [str(mount), "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(disk)]
    if mount is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("a disk can be mounted by root alone")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def test_a_full_disk(small_disk):
    path = small_disk / "people.linkshift"
    store = Store(path)
    n, error = fill(store)
    assert n > 4
    assert "cannot be written: the disk" in str(error)
    assert len(store.entries()) == n
    with Store(path, read_only=True) as other:
        assert len(other.entries()) == n
    store.close()  # the log cannot be moved into the file, and stays
    with Store(path) as again:
        assert len(again.entries()) == n
    subprocess.run(["mount", "-o", "remount,size=10m", str(small_disk)], check=True)
    with Store(path) as again:
        assert again.append([answer()])[0].seq == n + 1


def test_a_full_disk_and_the_page_that_stays_open(small_disk):
    path = small_disk / "people.linkshift"
    with Store(path) as store:
        n, _ = fill(store)
        for _ in range(3):
            with pytest.raises(StoreError):
                store.append([name("x" * 9_000), name("y" * 9_000)])
        subprocess.run(["mount", "-o", "remount,size=10m", str(small_disk)], check=True)
        assert store.append([answer()])[0].seq == n + 1
        assert len(store.entries()) == n + 1


def test_nothing_is_left_where_there_is_no_room_to_begin(small_disk):
    (small_disk / "filler").write_bytes(b"x" * 295_000)
    path = small_disk / "people.linkshift"
    with pytest.raises(StoreError, match="cannot be made"):
        Store(path)
    assert not path.exists() or not path.stat().st_size
    (small_disk / "filler").unlink()
    with Store(path) as store:
        store.append([answer()])


def test_a_store_on_a_full_disk_is_shown(small_disk):
    path = small_disk / "people.linkshift"
    with Store(path) as store:
        store.append([answer()])
    filler = small_disk / "filler"
    with filler.open("wb", buffering=0) as file:
        while file.write(b"x" * 4096) == 4096 and shutil.disk_usage(small_disk).free:
            pass
    with Store(path) as store:
        assert len(store.entries()) == 1
        fill(store)
        filler.unlink()
        assert store.append([answer()])[0].seq >= 2
        assert store.read_only is None


def test_a_disk_that_is_read_only(small_disk):
    path = small_disk / "people.linkshift"
    with Store(path) as store:
        store.append([answer()])
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with Store(path) as store:
        assert "read-only" in store.read_only
        assert len(store.entries()) == 1
        with pytest.raises(StoreError, match="Make both writable"):
            store.append([answer()])
        with pytest.raises(StoreError):
            store.keep_data(Fingerprint.of(np.eye(2)))
        subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
        assert store.append([answer()])[0].seq == 2  # as soon as it can
        assert store.read_only is None
        assert len(store.entries()) == 2


@pytest.fixture
def anyone():
    """A folder that others can look into, and a way to be one of them."""
    if not hasattr(os, "seteuid"):
        pytest.skip("there are no such rights")
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o755)
    me = os.geteuid()
    if me == 0:
        os.seteuid(NOBODY)
        os.seteuid(0)

    class As:
        def __enter__(self):
            folder.chmod(0o555 if me else 0o755)
            if me == 0:
                os.seteuid(NOBODY)

        def __exit__(self, *_):
            if me == 0:
                os.seteuid(0)
            folder.chmod(0o755)

    yield folder, As()
    shutil.rmtree(folder)


def test_a_folder_that_is_read_only(anyone):
    folder, another = anyone
    path = folder / "people.linkshift"
    with another, pytest.raises(StoreError, match="Make the folder writable"):
        Store(path)
    with Store(path) as store:
        store.append([answer()])
    path.chmod(0o444)
    with another, Store(path) as shown:
        assert "read-only" in shown.read_only
        assert len(shown.entries()) == 1
        assert not shown.changed()
        with pytest.raises(StoreError, match="read-only"):
            shown.append([answer()])
    assert [file.name for file in folder.iterdir()] == [path.name]


def test_the_newest_answers_are_shown_from_a_log_that_cannot_be_taken_in(anyone, tmp_path):
    folder, another = anyone
    store = Store(tmp_path / "people.linkshift")
    store.append([answer()])
    for suffix in ("", "-wal"):  # as after a crash, or in a copy
        shutil.copy(tmp_path / f"people.linkshift{suffix}", folder)
    store.close()
    for file in folder.iterdir():
        file.chmod(0o444)
    with another, Store(folder / "people.linkshift") as shown:
        assert len(shown.entries()) == 1
        assert shown.read_only is not None


def test_a_file_that_is_not_yours_to_read(anyone):
    folder, another = anyone
    path = folder / "people.linkshift"
    Store(path).close()
    path.chmod(0)
    with another, pytest.raises(StoreError, match="not yours to read"):
        Store(path)
    path.chmod(0o600)


@pytest.mark.skipif(sys.platform == "win32", reason="there, open files stay where they are")
@pytest.mark.parametrize("what", ["deleted", "moved", "replaced"])
def test_a_file_that_is_taken_away_while_it_is_open(path, store, tmp_path, what):
    store.append([answer()])
    kept = tmp_path / "kept.linkshift"
    if what == "deleted":
        path.unlink()
    else:
        path.rename(kept)
    if what == "replaced":
        path.write_bytes(b"")
    with pytest.raises(StoreError, match="was moved, deleted or replaced"):
        store.append([answer(0, 1)])
    assert len(store.entries()) == 1
    if what == "moved":
        kept.rename(path)
        assert store.append([answer(0, 1)])[0].seq == 2


def test_opened_to_be_read(path, store):
    store.append([answer()])
    with Store(path, read_only=True) as reader:
        assert "to be read" in reader.read_only
        assert len(reader.entries()) == 1
        with pytest.raises(StoreError, match="to be read"):
            reader.append([answer()])
        store.append([answer(0, 1)])
        assert reader.changed()
        assert len(reader.entries(after=1)) == 1
