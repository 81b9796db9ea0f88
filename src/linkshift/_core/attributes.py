"""Attributes of an object that are all set, or none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["all_or_none"]


@contextmanager
def all_or_none(value: Any) -> Iterator[None]:
    """Put the attributes back as they were if the block raises, Ctrl-C included."""
    before = dict(value.__dict__)
    try:
        yield
    except BaseException:
        value.__dict__.clear()
        value.__dict__.update(before)
        raise
