"""How a store is opened, and what goes wrong with files, in words."""

from __future__ import annotations

import errno
import os
import shlex
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from linkshift import __version__
from linkshift._core.files import is_device
from linkshift._core.messages import Refusal
from linkshift.web.events import now

__all__ = ["Opened", "StoreError", "in_words", "opened", "transaction"]

APPLICATION = 0x4C4B5348  # "LKSH", at its place in the header of an SQLite file
VERSION = 1
_LEAST = 512  # bytes of an SQLite file
_PATIENCE = 2.0  # seconds that another process may be writing for

# Nothing is changed or deleted, whoever writes; and no action is taken back twice, by two servers
# at a time.
_TABLES = """
CREATE TABLE events (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, action INTEGER NOT NULL, at TEXT NOT NULL,
    who TEXT NOT NULL, kind TEXT NOT NULL, body TEXT NOT NULL, data INTEGER NOT NULL,
    undoes INTEGER);
CREATE INDEX actions ON events (action);
CREATE UNIQUE INDEX once ON events (undoes) WHERE undoes IS NOT NULL;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE data (
    seq INTEGER PRIMARY KEY, digest TEXT NOT NULL, ids BLOB, hashes BLOB NOT NULL,
    columns BLOB NOT NULL);
CREATE TRIGGER no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'only appended to'); END;
CREATE TRIGGER no_replace BEFORE INSERT ON events
    WHEN NEW.seq > 0 AND EXISTS (SELECT 1 FROM events WHERE seq = NEW.seq)
    BEGIN SELECT RAISE(ABORT, 'only appended to'); END;
CREATE TRIGGER no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'only appended to'); END;
"""


class StoreError(Refusal):
    """A store that cannot be read or written now: what is wrong with its file, and the remedy."""


class Opened(NamedTuple):
    """A connection, and why it only reads; None where it writes."""

    connection: sqlite3.Connection
    why: StoreError | None
    folder: tempfile.TemporaryDirectory[str] | None = None  # of a copy


def opened(path: Path, *, read_only: bool = False) -> Opened:
    """Open a store, making it where there is none; what cannot be written is opened to be read."""
    _check_place(path, read_only=read_only)
    new = not path.exists()
    if read_only:
        why = StoreError(f"{path} was opened to be read.", "Open it without read_only.")
        return _to_read(path, why)
    connection = None
    try:
        connection = _connect(path, "rwc" if new else "rw")
        _prepare(connection, path)
    except sqlite3.Error as error:
        if connection is not None:
            connection.close()
        if not _holds_something(path):
            raise in_words(path, error, "made") from error
        if _is_damage(error):
            raise in_words(path, error, "opened") from error
        return _to_read(path, in_words(path, error, "written"))
    except BaseException:
        if connection is not None:
            connection.close()
        raise
    return Opened(connection, None)


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Write all that is within, or nothing; it is on the disk at the end."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            with suppress(sqlite3.Error):  # that of the writing is the one to tell
                connection.execute("ROLLBACK")
        raise


def in_words(path: Path, error: Exception, done: str) -> StoreError:
    """Say what went wrong with a file."""
    for names, problem, remedy in _CAUSES:
        if _name_of(error).startswith(names):
            if done == "made" and remedy == _NOT_YOURS:
                remedy = "Make the folder writable, or name a file in another."
            return StoreError(f"{path} cannot be {done}: {problem}.", remedy)
    return StoreError(f"{path} cannot be {done}: {error}.", "Look at the disk, and try again.")


_NOT_YOURS = "Make both writable, or copy the file to a folder of yours and open it there."
_CAUSES: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (
        ("SQLITE_FULL", "ENOSPC", "EDQUOT"),
        "the disk is full",
        "Make room, and try again; all that was acknowledged is in the file.",
    ),
    (
        ("SQLITE_BUSY", "SQLITE_LOCKED"),
        "another program is writing to it",
        "Try again in a moment; if it stays so, look which program has the file open.",
    ),
    (
        ("SQLITE_READONLY", "SQLITE_PERM", "SQLITE_CANTOPEN", "EACCES", "EPERM", "EROFS"),
        "the file or its folder is read-only, or not yours to write to",
        _NOT_YOURS,
    ),
    (
        ("SQLITE_CORRUPT", "SQLITE_NOTADB"),
        "it is damaged, or was cut short",
        "Put a copy of it in its place; or save what is left of it with: sqlite3 FILE .recover",
    ),
    (
        ("SQLITE_IOERR", "EFBIG", "EIO"),
        "the disk does not take it (it may be full, over a limit, or gone)",
        "Look at the disk, and try again; all that was acknowledged is in the file.",
    ),
)


def _name_of(error: Exception) -> str:
    """Give the name of what went wrong, as SQLite or the system calls it."""
    if isinstance(error, OSError):
        return errno.errorcode.get(error.errno or 0, "")
    return str(getattr(error, "sqlite_errorname", "") or "")


def _is_damage(error: Exception) -> bool:
    return _name_of(error).startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB"))


def _check_place(path: Path, *, read_only: bool) -> None:
    """Refuse, before SQLite touches it, what is no store."""
    if path.is_dir():
        raise StoreError(
            f"{path} is a folder.", f"Name a file, such as {path / 'answers.linkshift'}."
        )
    if is_device(path):
        raise StoreError(f"{path} is no ordinary file.", "Name one, to keep answers in.")
    try:
        size = path.stat().st_size
    except FileNotFoundError:
        size = 0
        _check_folder(path, read_only=read_only)
    except OSError as error:
        raise in_words(path, error, "opened") from error
    allowed = os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids)
    if path.exists() and not allowed:
        raise StoreError(
            f"{path} is not yours to read.", "Make it so, or copy it and name the copy."
        )
    log = path.with_name(f"{path.name}-wal")
    if not size and log.exists() and log.stat().st_size:
        raise StoreError(
            f"{path} is empty or gone, and the newest answers that were in it are in {log}.",
            f"Put {path.name} back beside it; to begin anew, move {log.name} away first.",
        )


def _check_folder(path: Path, *, read_only: bool) -> None:
    if path.is_symlink():
        raise StoreError(f"{path} is a link that leads nowhere.", "Mend it, or name another file.")
    if not path.parent.is_dir():
        raise StoreError(
            f"{path}: the folder {path.parent} does not exist.",
            f"Create it first: mkdir -p {shlex.quote(str(path.parent))}",
        )
    if read_only:
        raise StoreError(f"There is no file {path}.", "Name a file that linkshift label has made.")


def _check_identity(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse what another program, or a newer linkshift, has made.

    SQLite is asked, as all is that is in the file: where a process opens and closes a file by
    itself, the locks of its connections to that file are gone.
    """
    if _is_empty(connection, path):
        raise _no_store(path)
    found, version = (_pragma(connection, name) for name in ("application_id", "user_version"))
    if found != APPLICATION:
        raise StoreError(
            f"{path} is an SQLite file of another program.",
            "Name another file; a new one is made where there is none.",
        )
    if version > VERSION:
        raise StoreError(
            f"{path} was written by a newer linkshift: it is of format {version}, and this one "
            f"knows {VERSION}.",
            "Install that: pip install --upgrade linkshift",
        )


def _no_store(path: Path) -> StoreError:
    return StoreError(
        f"{path} is no file of answers: linkshift label did not make it, or its beginning is "
        "damaged.",
        "Name another file; a new one is made where there is none.",
    )


def _is_empty(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether nothing is there yet; SQLite has first taken away what a killed process began."""
    try:
        n_pages = _pragma(connection, "page_count")
    except sqlite3.DatabaseError as error:
        if not _name_of(error).startswith("SQLITE_NOTADB"):
            raise
        raise _no_store(path) from error
    if n_pages == 0 and 0 < path.stat().st_size < _LEAST:  # which SQLite takes for nothing
        raise _no_store(path)
    return n_pages == 0


def _check_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that is damaged; its good parts might be half of what was said."""
    if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
        raise _cut_short()
    log = path.with_name(f"{path.name}-wal")
    there = log.exists() and log.stat().st_size  # the page may be in it
    # Of a page that was cut SQLite reads the rest as zeros, without a word.
    if not there and path.stat().st_size % _pragma(connection, "page_size"):
        raise _cut_short()


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    return int(connection.execute(f"PRAGMA {name}").fetchone()[0])


def _cut_short() -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError("cut short")
    error.sqlite_errorname = "SQLITE_CORRUPT"
    return error


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    """Connect without making what is not asked for; ``mode`` is of SQLite's addresses of files."""
    return sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode if '=' in mode else f'mode={mode}'}",
        uri=True,
        timeout=_PATIENCE,
        isolation_level=None,  # transactions are ours
        check_same_thread=False,
    )


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make tables where there are none, and have every commit on the disk before it is told."""
    if _is_empty(connection, path):
        _make(connection)
    _check_identity(connection, path)
    _check_whole(connection, path)
    connection.execute("PRAGMA trusted_schema = OFF")
    # Where memory cannot be shared, as in folders of a network, this says "delete": a journal that
    # is rolled back, which is as safe.
    connection.execute("PRAGMA journal_mode = WAL").fetchone()
    connection.execute("PRAGMA synchronous = FULL")
    _try_to_write(connection)


def _try_to_write(connection: sqlite3.Connection) -> None:
    """Raise what a writing would; nothing is written."""
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO meta VALUES ('trial', '')")
    except sqlite3.OperationalError as error:
        if not _name_of(error).startswith("SQLITE_BUSY"):  # somebody writes: we may later
            raise
    finally:
        if connection.in_transaction:
            connection.execute("ROLLBACK")


def _has_tables(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def _make(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous = FULL")
    with transaction(connection):
        if _has_tables(connection):  # by another process, in the meantime
            return
        for statement in _statements():
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        about = {"format": str(VERSION), "made_by": f"linkshift {__version__}", "made_at": now()}
        connection.executemany("INSERT INTO meta VALUES (?, ?)", about.items())


def _statements() -> list[str]:
    """Part the text of the tables where its statements end."""
    found = [""]
    for line in _TABLES.strip().splitlines():
        found[-1] += line + "\n"
        if sqlite3.complete_statement(found[-1]):
            found.append("")
    return found[:-1]


def _holds_something(path: Path) -> bool:
    with suppress(OSError):
        return path.stat().st_size > 0
    return False


def _to_read(path: Path, why: StoreError) -> Opened:
    """Open a store that cannot be written, or is not to be."""
    for mode in ("rw", "ro"):  # the first takes its log away again, where it may
        try:
            return Opened(_looked_into(_connect(path, mode), path), why)
        except sqlite3.Error as error:
            if _is_damage(error):
                raise in_words(path, error, "opened") from error
    # A log beside the file needs one more file, which cannot be made here: both are read as copies.
    log = path.with_name(f"{path.name}-wal")
    try:
        if not (log.exists() and log.stat().st_size):
            return Opened(_looked_into(_connect(path, "immutable=1"), path), why)
        folder = tempfile.TemporaryDirectory(prefix="linkshift-")
        copy = Path(folder.name) / "copy.linkshift"
        for source, target in ((path, copy), (log, copy.with_name(f"{copy.name}-wal"))):
            shutil.copyfile(source, target)
        return Opened(_looked_into(_connect(copy, "rw"), copy), why, folder)
    except (sqlite3.Error, OSError) as error:
        raise in_words(path, error, "read") from error


def _looked_into(connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    try:
        _check_identity(connection, path)
        _check_whole(connection, path)
        connection.execute("SELECT count(*) FROM events").fetchone()
        connection.execute("PRAGMA query_only = ON")
    except BaseException:
        connection.close()
        raise
    return connection
