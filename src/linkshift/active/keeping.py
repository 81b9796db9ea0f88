"""Going on with what a session was kept as, and the rows that people name in it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from linkshift._core.messages import Refusal
from linkshift.active.known import Told
from linkshift.active.log import link_in_words, read_answer

if TYPE_CHECKING:
    from linkshift.active.session import Session

__all__ = ["check_version", "place_of", "read_back"]


def check_version(kept: Mapping[str, Any]) -> None:
    """Refuse what another version has kept."""
    if kept.get("version") != 1:
        raise Refusal(
            f"This session is of version {kept.get('version')!r}, and version 1 is read here.",
            "Give what Session.to_dict() gave, or a newer linkshift.",
            parameter="kept",
        )


def read_back(session: Session, kept: Mapping[str, Any]) -> None:
    """Give a new session the links and answers that were kept of another."""
    if kept["n_rows"] != len(session._X):
        raise Refusal(
            f"The session was of {kept['n_rows']} rows, and X has {len(session._X)}.",
            "Give the data that it was of; for other rows with the same ids begin a new one "
            "with its links.",
            parameter="X",
        )
    for a, b, same, sure in kept["links"]:
        one, other = session._pair((a, b))
        name = link_in_words(one, other, bool(same), session.ids)
        session._given.append(Told(one, other, bool(same), float(sure), name, True))
    for one in kept["log"]:
        a, b = session._pair((one["a"], one["b"]))
        session._answers.append(read_answer(a, b, one["word"], one["confidence"], one["purpose"]))


def place_of(row: Any, ids: Sequence[Any] | None, position: Mapping[Any, int], n: int) -> int:
    """Give the number of a row that is named by its id, or by its number where there are none."""
    if ids is not None:
        if isinstance(row, Hashable) and row in position:
            return position[row]
        raise Refusal(
            f"No row has the id {row!r}.",
            f"Rows are called by their ids here, such as {ids[0]!r}.",
            parameter="pair",
        )
    whole = isinstance(row, (int, np.integer)) and not isinstance(row, bool)
    if not whole or not 0 <= row < n:
        raise Refusal(
            f"There is no row {row!r}.",
            f"Rows have numbers from 0 to {n - 1} here; give ids= for names.",
            parameter="pair",
        )
    return int(row)
