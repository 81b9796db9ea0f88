"""What a person has chosen for the page: in the log, as a page has another port each time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from linkshift.web.replies import Asked, Refused
from linkshift.web.store import Event

if TYPE_CHECKING:
    from linkshift.web.desk import Desk

__all__ = ["change", "settings_of"]

_PLACE = "page."  # before the names, in the log
_VALUES: dict[str, tuple[Any, ...]] = {
    "theme": ("auto", "light", "dark"),
    "blind": (True, False),
    "keys": (True, False),
}


def settings_of(desk: Desk) -> dict[str, Any]:
    """Give what whoever answers here has chosen; nothing of what was never changed."""
    chosen = desk.ledger.record.personal.get(desk.who, {})
    return {
        name: chosen[_PLACE + name]
        for name, values in _VALUES.items()
        if _is_one(chosen.get(_PLACE + name), values)
    }


async def change(desk: Desk, asked: Asked) -> dict[str, Any]:
    """Keep some settings."""
    for name, value in asked.body.items():
        if name not in _VALUES:
            raise Refused(400, f"There is no setting of that name; there are {', '.join(_VALUES)}.")
        if not _is_one(value, _VALUES[name]):
            words = ", ".join(str(one).lower() for one in _VALUES[name])
            raise Refused(400, f"{name} is none of {words}.")
    before = settings_of(desk)
    events = [
        Event("setting", {"key": _PLACE + name, "value": value})
        for name, value in asked.body.items()
        if name not in before or before[name] != value
    ]
    if events:
        await desk.ledger.append(events, desk.who)
    return {"settings": settings_of(desk)}


def _is_one(value: Any, values: tuple[Any, ...]) -> bool:
    # 1 is no True here.
    return any(type(value) is type(one) and value == one for one in values)
