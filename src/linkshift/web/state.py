"""What the page shows of the whole: rows, answers, clusters, how good they are, what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from linkshift._core.text import counted
from linkshift.web.record import Disagreement, disagreements
from linkshift.web.replies import Asked
from linkshift.web.settings import settings_of

if TYPE_CHECKING:
    from linkshift.web.desk import Desk

__all__ = ["disagreeing", "names_of", "short_state", "versions", "whole_state"]

_WORDS = {"same": "the same", "different": "different", "unknown": "not known"}


def versions(desk: Desk) -> dict[str, Any]:
    """Say how far the log and the labels are."""
    return {"version": desk.ledger.version, "labels_version": desk.engine.labels.version}


def short_state(desk: Desk) -> dict[str, Any]:
    """Give what changes with each answer."""
    ledger, engine = desk.ledger, desk.engine
    return {
        **versions(desk),
        "phase": engine.phase,
        "remedy": engine.remedy,
        "refitting": refitting(desk),
        "n_clusters": engine.labels.n_clusters,
        "answers": len(ledger.answers),
        "implied": ledger.closing.n_implied,
        "unknown": ledger.n_unknown,
        "moved": engine.labels.moved,
        "contradictions": len(engine.contradictions),
        "disagreements": len(disagreeing(desk)),
        "undoable": undoable(desk),
        "read_only": ledger.store.read_only,
        "finished": finished(desk),
    }


async def whole_state(desk: Desk, _: Asked) -> dict[str, Any]:
    """Give all of it."""
    material, engine = desk.material, desk.engine
    return {
        **short_state(desk),
        "title": material.title,
        "n_rows": material.n_rows,
        "n_columns": material.X.shape[1],
        "kind": material.items.kind,
        "columns": list(material.items.columns),
        "media": media_of(desk),
        "who": desk.who,
        "clusters": clusters(desk),
        "progress": engine.progress,
        "estimate": engine.estimate,
        "notes": desk.all_notes(),
        "settings": settings_of(desk),
    }


def media_of(desk: Desk) -> list[int]:
    """Say which of the columns holds images or sounds, by its place; none in tables and texts."""
    items = desk.material.items
    return [] if items.media is None else [items.columns.index(items.media)]


def refitting(desk: Desk) -> bool:
    """Whether the clusters are still those of before the last answer, and others are on the way."""
    engine = desk.engine
    behind = engine.labels.version < desk.ledger.told
    return behind and not engine.phase.startswith("failed")


def clusters(desk: Desk) -> list[dict[str, Any]]:
    """Give the clusters, the largest first."""
    labels = desk.engine.labels
    if labels.version < 0:
        return []
    sizes = desk.once("sizes", labels.version, lambda: np.bincount(labels.labels))
    said = _said(desk)
    called, also, exemplars = names_of(desk), _also(desk), desk.engine.exemplars
    order = np.argsort(-sizes, kind="stable")
    return [
        {
            "k": k,
            "size": int(sizes[k]),
            "name": called.get(k),
            "also": also.get(k, []),
            "exemplars": exemplars.get(k, []),
            "said": int(said[k]) if k < len(said) else 0,
        }
        for k in order[: np.count_nonzero(sizes)].tolist()
    ]


def _said(desk: Desk) -> Any:
    """Count the answers between two rows of each cluster."""
    labels = desk.engine.labels

    def work() -> Any:
        pairs = [put.pair for put in desk.ledger.last.values() if put.word != "unknown"]
        if not pairs:
            return np.zeros(0, dtype=np.int64)
        one, other = labels.labels[np.array(pairs).T]
        return np.bincount(one[one == other])

    return desk.once("said", (desk.ledger.version, labels.version), work)


def names_of(desk: Desk) -> dict[int, str]:
    """Give the names of clusters."""
    from linkshift.web.mending import found_names

    return {k: name.name for k, name in found_names(desk).items()}


def _also(desk: Desk) -> dict[int, list[str]]:
    """Give further names, of clusters that became one."""
    from linkshift.web.mending import homes_of

    return homes_of(desk).also


def disagreeing(desk: Desk) -> list[Disagreement]:
    """Give the pairs of which two people said different things."""
    ledger = desk.ledger
    answers: Any = ledger  # of which the rows are those of the data at hand
    found: list[Disagreement] = desk.once(
        "disagreements", ledger.n_replays, lambda: disagreements(answers)
    )
    return found


def undoable(desk: Desk) -> dict[str, Any] | None:
    """Say what undo would take back."""
    action = desk.ledger.undoable
    return None if action is None else {"action": action, "text": in_words(desk, action)}


def in_words(desk: Desk, action: int) -> str:
    """Say what an action was."""
    head = desk.material.items.head
    answers, links, names = desk.ledger.record.parts_of(action)
    said: list[Any] = [*answers, *links]
    if len(said) == 1 and not names:
        rows = [desk.ledger.rows.row(key, said[0].data) for key in (said[0].a, said[0].b)]
        keys = (said[0].a, said[0].b)
        a, b = (str(k) if r is None else head(r) for r, k in zip(rows, keys, strict=True))
        return f"{a} and {b}: {_WORDS[said[0].word]}"
    if said:
        noun = "link" if hasattr(said[0], "source") else "answer"
        return f"{counted(len(said), noun)}{f', name {names[0].name!r}' if names else ''}"
    if names:
        return f"name {names[0].name!r}" if names[0].name else "a name that was taken away"
    return f"action {action}"


def finished(desk: Desk) -> bool:
    """Whether nothing is left to ask."""
    from linkshift.web.answering import questions

    engine, told = desk.engine, desk.ledger.told
    # The labels, too: with them comes which answers were set aside, and make nothing known.
    settled = min(engine.questions.version, engine.labels.version) >= told
    return settled and engine.phase == "ready" and not questions(desk)
