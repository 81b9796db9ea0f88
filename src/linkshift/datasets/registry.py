"""The public data sets that `linkshift.datasets` knows: what they are, where they come from."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class DataSource:
    """Where a named set comes from and how its file is laid out.

    Attributes
    ----------
    citation : str
        Who to cite.
    origin : str
        Where the public can get the data.
    arrays : str
        The arrays that ``<name>.npz`` holds.
    """

    citation: str
    origin: str
    arrays: str


@dataclass(frozen=True)
class TableSource(DataSource):
    """A named set of samples with features and classes, whether its file is here or not.

    Attributes
    ----------
    n_samples : int
    widths : tuple of int
        Number of features, of each view for a multi-view set.
    n_classes : int
    rows_of : str or None
        Name of a larger set of which the file lists rows, and whose file is needed too.
    """

    n_samples: int
    widths: tuple[int, ...]
    n_classes: int
    rows_of: str | None = None

    @property
    def n_features(self) -> int:
        """Number of features of all views together."""
        return sum(self.widths)


def _table(entry: Mapping[str, Any]) -> TableSource:
    n, width, rows_of = entry["samples"], entry["features"], entry.get("rows_of")
    widths = tuple(width) if isinstance(width, list) else (width,)
    if rows_of is not None:
        features = f"rows ({n},)"
    elif len(widths) > 1:
        features = f"X_view1 to X_view{len(widths)} ({n}, {' | '.join(map(str, widths))})"
    else:
        features = f"X ({n}, {width})"
    arrays = ", ".join(part for part in (features, entry.get("more"), "y (samples,)") if part)
    citation, origin, classes = entry["citation"], entry["origin"], entry["classes"]
    return TableSource(citation, origin, arrays, n, widths, classes, rows_of)


_FILE = tomllib.loads((files(__package__) / "registry.toml").read_text(encoding="utf-8"))

#: Every name that `load` knows.
REGISTRY = MappingProxyType({name: _table(entry) for name, entry in _FILE["tables"].items()})

#: Every name that `load_images` knows.
IMAGES = MappingProxyType({name: DataSource(**entry) for name, entry in _FILE["images"].items()})
