"""What the desk is asked and what it says, whoever carries it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from linkshift._core.messages import Refusal

if TYPE_CHECKING:
    from linkshift.web.desk import Desk

__all__ = ["Asked", "Refused", "Reply", "row_of", "rows_of", "whole"]

_MOST_ROWS = 500  # at a time


class Refused(Exception):
    """A request that is not served: with which status, why, and what would help."""

    def __init__(
        self, status: int, error: str, remedy: str = "", *more: tuple[bytes, bytes]
    ) -> None:
        super().__init__(error)
        self.status, self.error, self.remedy, self.headers = status, error, remedy, more

    @property
    def words(self) -> dict[str, str]:
        """What is said of it."""
        return {"error": self.error, "remedy": self.remedy}

    @property
    def body(self) -> bytes:
        """The words as JSON."""
        return json.dumps(self.words).encode()


class Reply(NamedTuple):
    """An answer: a dict for JSON, or bytes of some kind."""

    status: int
    content: dict[str, Any] | bytes
    media_type: str = "application/json"
    headers: Mapping[str, str] = {}


class Asked(NamedTuple):
    """A request: what stood in its address, and its body."""

    args: tuple[str, ...]
    query: Mapping[str, str]
    body: dict[str, Any]
    span: str | None = None  # the part of the bytes that is wanted, as in HTTP's Range


def refused(refusal: Refusal) -> Refused:
    """Say what the library refused; a store that cannot be written is not the asker's fault."""
    from linkshift.web.store import StoreError

    status = 409
    if isinstance(refusal, StoreError):
        cause = getattr(refusal.__cause__, "sqlite_errorname", "")
        status = 507 if cause == "SQLITE_FULL" else 503
    return Refused(status, refusal.problem, refusal.remedies["command"])


def whole(value: Any, name: str, least: int = 0, below: int | None = None) -> int:
    """Read a whole number from an address or a body."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 16:
        value = int(value)
    fine = isinstance(value, int) and not isinstance(value, bool) and value >= least
    if not fine or (below is not None and value >= below):
        upto = "" if below is None else f" to {below - 1:,}"
        raise Refused(400, f"{name} is no whole number from {least}{upto}.")
    return int(value)


def row_of(desk: Desk, value: Any, name: str = "row") -> int:
    """Read the number of a row."""
    return whole(value, name, 0, desk.material.n_rows)


def rows_of(desk: Desk, values: Any, name: str = "rows") -> list[int]:
    """Read the numbers of rows."""
    if not isinstance(values, list) or len(values) > _MOST_ROWS:
        raise Refused(400, f"{name} is no list of at most {_MOST_ROWS} rows.")
    return [row_of(desk, value, name) for value in values]
