"""A store and the rows at hand: which rows its keys name, and what has changed since."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from linkshift.web.events import checked_who
from linkshift.web.fingerprint import Fingerprint, Places, difference
from linkshift.web.material import Material
from linkshift.web.store import Store, StoreError

__all__ = ["Opened", "open_store"]


class Opened(NamedTuple):
    """A store that is open, for rows."""

    store: Store
    rows: Places
    notes: Sequence[str] = ()


def open_store(path: str | os.PathLike[str], material: Material, who: str = "") -> Opened:
    """Open a store, or make one, and say what is other than the last time.

    Parameters
    ----------
    path : path
        Of the store.
    material : Material
        The rows at hand.
    who : str
        Who opens it.
    """
    # Before the file is made: names and ids that it could not keep are refused.
    who = checked_who(who)
    now = Fingerprint.of(material.read, material.ids)
    store = Store(path)
    try:
        before = store.last_data()
        told = str(difference(before, now))
        try:
            store.keep_data(now, who)
        except StoreError:
            if store.read_only is None:
                raise
        return Opened(store, Places(now, store.prints), (told,) if told else ())
    except BaseException:
        store.close()
        raise
