"""The log of a labelling page: one SQLite file, to which events are appended and nothing else.

What is acknowledged is on the disk. Nothing is ever changed or deleted, so that undo is an event as
well, and the state of the page is the replay of the log (:mod:`linkshift.web.record`).
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from linkshift._core.messages import Refusal
from linkshift.web.events import Entry, Event, as_text, checked_event, checked_who, now
from linkshift.web.storing import Opened, StoreError, in_words, opened, transaction

if TYPE_CHECKING:
    from linkshift.web.fingerprint import Fingerprint

__all__ = ["Entry", "Event", "Store", "StoreError"]

UNDOABLE = ("answer", "link", "name")
_FIELDS = "seq, action, at, who, kind, body, data"
T = TypeVar("T")


class Store:
    """Events in one file, beside the data they are about.

    Parameters
    ----------
    path : path
        ``NAME.linkshift``. Made where there is none.
    read_only : bool, default=False
        Open it to be read.

    Attributes
    ----------
    read_only : str or None
        Why nothing can be written: as asked, or as the disk has it.
    data : int
        Which data the rows of what is appended are of; `keep_data` sets it.

    Notes
    -----
    Several processes may have one file open: each looks whether another one has written (`changed`)
    and takes that in. A file that is something else, of a newer version, cut short or not
    to be made is refused by a `StoreError` that says the remedy.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from linkshift.web.store import Event, Store
    >>> body = {"a": "r1", "b": "r5", "word": "same", "confidence": 1.0}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Store(Path(folder) / "people.linkshift") as store:
    ...         answer = Event("answer", body | {"purpose": "learn", "by": "question"})
    ...         entry, = store.append([answer], who="Anna")
    ...         undo, = store.append([Event("undo", {"action": entry.action})], who="Ben")
    ...         [(one.seq, one.who, one.kind) for one in store.entries()]
    [(1, 'Anna', 'answer'), (2, 'Ben', 'undo')]
    """

    def __init__(self, path: str | os.PathLike[str], *, read_only: bool = False) -> None:
        self.path = Path(path)
        self.data = 0
        self._asked_to_read = read_only
        self._lock = threading.RLock()
        self._seen: int | None = None  # the state of the file that was read last
        self._prints: dict[int, Fingerprint] = {}
        self._file: Opened | None = opened(self.path, read_only=read_only)
        self._inode = _inode(self.path)

    # Writing -------------------------------------------------------------------------------------

    def append(self, events: Sequence[Event], who: str = "") -> list[Entry]:
        """Write events as one action, which is taken back as one; on the disk when this returns.

        Raises `StoreError` where that cannot be: then nothing of it is written. What no store
        should hold is refused, such as undo of what was taken back.
        """
        checked, who = [checked_event(event) for event in events], checked_who(who)
        if not checked:
            return []
        if len(checked) > 1 and any(event.kind == "undo" for event in checked):
            raise Refusal("An undo is an action of its own.", "Append it alone.")
        with self._writing() as connection:
            return self._append(connection, checked, who)

    def _append(
        self, connection: sqlite3.Connection, events: Sequence[Event], who: str
    ) -> list[Entry]:
        _check_actions(connection, events)
        row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'events'").fetchone()
        first, at = (row[0] if row else 0) + 1, now()
        entries = [
            Entry(first + i, first, at, who if by is None else by, kind, body, self.data)
            for i, (kind, body, by) in enumerate(events)
        ]
        connection.executemany(
            f"INSERT INTO events ({_FIELDS}, undoes) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (*one[:5], as_text(one.body), one.data, _undoes(one.kind, one.body))
                for one in entries
            ],
        )
        return entries

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self.read_only is not None and not self._asked_to_read:
                self._open_again()  # the folder may be writable by now
            connection = self._connection
            if self._file is not None and (why := self._file.why) is not None:
                raise StoreError(why.problem, why.remedies["python"])
            if _inode(self.path) != self._inode:  # or it would be written where nobody looks
                raise StoreError(
                    f"{self.path} was moved, deleted or replaced while it was open.",
                    "Put it back, and open it again; all that was acknowledged is in it.",
                )
            try:
                with transaction(connection):
                    yield connection
            except (sqlite3.Error, OSError) as error:
                if connection.in_transaction:  # it could not even be rolled back
                    self._open_again()
                raise in_words(self.path, error, "written") from error

    def _open_again(self) -> None:
        with suppress(StoreError):
            other = opened(self.path)
            self._close()
            self._file, self._seen, self._inode = other, None, _inode(self.path)

    # Reading -------------------------------------------------------------------------------------

    @property
    def read_only(self) -> str | None:
        """Why nothing can be written; None where it can."""
        why = None if self._file is None else self._file.why
        return None if why is None else why.problem

    def entries(self, after: int = 0) -> list[Entry]:
        """Give what stands there, in order, from behind a seq."""

        def read(connection: sqlite3.Connection) -> list[Entry]:
            seen = self._version(connection)
            rows = connection.execute(
                f"SELECT {_FIELDS} FROM events WHERE seq > ? ORDER BY seq", (after,)
            )
            found = [Entry._make((*row[:5], json.loads(row[5]), row[6])) for row in rows]
            self._seen = seen
            return found

        return self._reading(read)

    def changed(self) -> bool:
        """Whether another process has written since `entries` was read."""
        return self._reading(lambda connection: self._version(connection) != self._seen)

    @staticmethod
    def _version(connection: sqlite3.Connection) -> int:
        return int(connection.execute("PRAGMA data_version").fetchone()[0])

    def _reading(self, read: Callable[[sqlite3.Connection], T]) -> T:
        with self._lock:
            try:
                return read(self._connection)
            except (sqlite3.Error, OSError) as error:
                raise in_words(self.path, error, "read") from error
            except (json.JSONDecodeError, TypeError) as error:
                raise StoreError(
                    f"{self.path} holds an event that is no JSON: {error}.",
                    "Put a copy of the file in its place.",
                ) from error

    # Data ----------------------------------------------------------------------------------------

    def keep_data(self, fingerprint: Fingerprint, who: str = "") -> list[Entry]:
        """Note which data the store is opened with; from here on rows are of these.

        Gives the entry that says so; none where they are those of the last time.
        """
        from linkshift.web.fingerprint import difference

        who = checked_who(who)
        with self._writing() as connection:
            last, seq = self._last(connection), self._known(connection, fingerprint)
            if seq is not None and last is not None and last[0] == seq:
                self.data = seq
                return []
            before = None if last is None else last[1]
            found = difference(before, fingerprint)
            body = {"n_rows": fingerprint.n_rows, "n_columns": fingerprint.n_columns}
            body |= {"new": len(found.new), "gone": len(found.gone)}
            body |= {"changed": len(found.changed)} | ({} if seq is None else {"print": seq})
            entry = self._append(connection, [Event("data", body)], who)
            if seq is None:
                seq = entry[0].seq
                connection.execute(
                    "INSERT INTO data (seq, digest, ids, hashes, columns) VALUES (?, ?, ?, ?, ?)",
                    (seq, fingerprint.digest, *fingerprint.to_blobs()),
                )
        self.data, self._prints[seq] = seq, fingerprint
        return entry

    def last_data(self) -> Fingerprint | None:
        """Give the fingerprint of the data that the store was opened with last."""
        found = self._reading(self._last)
        return None if found is None else found[1]

    def last_data_seq(self) -> int:
        """Give the number of these data, as in `Entry.data`; 0 where there are none."""
        found = self._reading(self._last)
        return 0 if found is None else found[0]

    def history(self) -> dict[int, Fingerprint]:
        """Give the fingerprints of all data there were, by their numbers in `Entry.data`."""

        def read(connection: sqlite3.Connection) -> dict[int, Fingerprint]:
            rows = connection.execute("SELECT seq FROM data ORDER BY seq").fetchall()
            return {seq: self._print(connection, seq) for (seq,) in rows}

        return self._reading(read)

    @property
    def prints(self) -> Mapping[int, Fingerprint]:
        """Give the same as `history`, each of them read when it is asked for, also later ones."""
        return _Prints(self)

    def _last(self, connection: sqlite3.Connection) -> tuple[int, Fingerprint] | None:
        row = connection.execute(
            "SELECT seq, body FROM events WHERE kind = 'data' ORDER BY seq DESC LIMIT 1"
        ).fetchone()
        if row is None:
            return None
        seq = json.loads(row[1]).get("print", row[0])
        return seq, self._print(connection, seq)

    def _known(self, connection: sqlite3.Connection, fingerprint: Fingerprint) -> int | None:
        """Give the number of the same data, where the store was opened with them before."""
        row = connection.execute(
            "SELECT seq FROM data WHERE digest = ?", (fingerprint.digest,)
        ).fetchone()
        return None if row is None else int(row[0])

    def _print(self, connection: sqlite3.Connection, seq: int) -> Fingerprint:
        from linkshift.web.fingerprint import Fingerprint

        if seq not in self._prints:
            row = connection.execute(
                "SELECT ids, hashes, columns FROM data WHERE seq = ?", (seq,)
            ).fetchone()
            if row is None:
                raise KeyError(seq)
            self._prints[seq] = Fingerprint.from_blobs(*row)
        return self._prints[seq]

    # Closing -------------------------------------------------------------------------------------

    @property
    def _connection(self) -> sqlite3.Connection:
        if self._file is None:
            raise StoreError(f"{self.path} was closed.", "Open it again.")
        return self._file.connection

    def close(self) -> None:
        """Close the file; all is in it already."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._file is not None:
            with suppress(sqlite3.Error):  # such as no room to move the log into the file
                self._file.connection.close()
            if self._file.folder is not None:
                self._file.folder.cleanup()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Prints(Mapping[int, "Fingerprint"]):
    """Fingerprints of data by their numbers, read one by one."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __getitem__(self, seq: int) -> Fingerprint:
        known = self._store._prints.get(seq)
        return known or self._store._reading(lambda connection: self._store._print(connection, seq))

    def __iter__(self) -> Iterator[int]:
        return iter(self._store.history())

    def __len__(self) -> int:
        return len(self._store.history())


def _inode(path: Path) -> tuple[int, int] | None:
    """Give what tells a file from another one that has its name later."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _undoes(kind: str, body: dict[str, Any]) -> int | None:
    return int(body["action"]) if kind == "undo" else None


def _check_actions(connection: sqlite3.Connection, events: Sequence[Event]) -> None:
    """Refuse to take back or to replace what is not there, seen by all who write."""
    for event in events:
        if event.kind == "undo":
            action = event.body["action"]
            kinds = _kinds(connection, action)
            if not kinds & {*UNDOABLE}:
                raise Refusal(
                    f"There is no action {action} that can be taken back.",
                    "Answers, links and names are taken back by the number of their action.",
                    parameter="action",
                )
            twice = "SELECT who, at FROM events WHERE undoes = ?"
            if (row := connection.execute(twice, (action,)).fetchone()) is not None:
                by = f" by {row[0]}" if row[0] else ""
                raise Refusal(
                    f"Action {action} was taken back already{by}, {row[1]}.",
                    "Look at what stands there now.",
                    parameter="action",
                )
        replaced = event.body["replaces"] if event.kind == "name" else None
        if replaced is not None and "name" not in _kinds(connection, replaced):
            raise Refusal(
                f"Action {replaced} gave no name that could be replaced.",
                "Give the action of a name, or None.",
                parameter="replaces",
            )


def _kinds(connection: sqlite3.Connection, action: int) -> set[str]:
    return {
        kind
        for (kind,) in connection.execute("SELECT kind FROM events WHERE action = ?", (action,))
    }
