"""Rows themselves, on the page: typical and borderline ones of each cluster, as text or images."""

from __future__ import annotations

import base64
import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import numpy as np
from numpy.typing import NDArray

from linkshift._core.markup import Html, plain, section, tag, word
from linkshift.pictures.page.svg import cluster_key
from linkshift.pictures.scene import Clusters

if TYPE_CHECKING:
    from linkshift.memberships import Membership
    from linkshift.pictures.page.page import Report

MOST_CLUSTERS = 50
_MOST_ROWS = {"text": 3, "images": 6}
_SEVERAL = 5  # columns that are not all zero by chance
_LONGEST = 240  # characters of a text
_SUFFIXES = {
    ".png": ("image/png", b"\x89PNG"),
    ".jpg": ("image/jpeg", b"\xff\xd8\xff"),
    ".jpeg": ("image/jpeg", b"\xff\xd8\xff"),
    ".gif": ("image/gif", b"GIF8"),
    ".webp": ("image/webp", b"RIFF"),
}
_LARGEST_IMAGE = 60_000  # bytes of a file that is embedded as it is
_SIDE = 240  # pixels of what is made of a larger one
_LARGEST_PAGE = 6_000_000  # bytes of all images


def are_images(values: Sequence[Any]) -> bool:
    """Whether values are paths of images: most that are there end as such."""
    given = [str(value) for value in values if not _is_missing(value)]
    return 2 * sum(Path(text).suffix.lower() in _SUFFIXES for text in given) > len(given) > 0


def texts_of(values: Sequence[Any]) -> list[str]:
    """Values as text, empty where they are missing."""
    return ["" if _is_missing(value) else str(value) for value in values]


def _is_missing(value: Any) -> bool:
    return value is None or bool(value != value)


def _have_entries(report: Report) -> NDArray[np.bool_]:
    """Which rows are not zero in all of several columns: such rows are typical of nothing."""
    X = np.asarray(report.X if report.original is None else report.original)
    if X.shape[1] < _SEVERAL:
        return np.ones(len(X), dtype=bool)
    found: NDArray[np.bool_] = (np.abs(X) > 1e-12 * np.abs(X).max(initial=0.0)).any(axis=1)
    return found


def rows_section(report: Report, clusters: Clusters, held: Membership) -> Html:
    """Show some typical and some borderline rows of each cluster."""
    show, entries = _Show(report), _have_entries(report)
    order = np.argsort(clusters.position, kind="stable")
    last = np.cumsum(clusters.sizes)
    of_cluster = np.flatnonzero(~clusters.is_noise)  # in the order of held.clusters
    parts: list[Html] = []
    any_between = False
    for c in clusters.by_size[:MOST_CLUSTERS].tolist():
        members = order[last[c] - clusters.sizes[c] : last[c]]
        typical = held.typical(members, len(members))
        if not len(nearest := typical[entries[typical]]):
            nearest = typical
        typical = show.different(nearest, show.most)
        between = held.borderline(members, len(members))
        between = show.different(between[~np.isin(between, typical)], show.most)
        key = tag.span(cluster_key(clusters, c), class_="held")
        lists = [tag.div(tag.h4("typical"), show.listing(typical), class_="rows")]
        if len(between):
            any_between = True
            next_to = of_cluster[np.searchsorted(held.clusters, held.second[between])]
            notes = [
                tag.small(f"{held.probabilities[i]:.0%}; next to ", cluster_key(clusters, int(o)))
                for i, o in zip(between.tolist(), next_to.tolist(), strict=True)
            ]
            lists.append(tag.div(tag.h4("borderline"), show.listing(between, notes), class_="rows"))
        parts.append(tag.div(tag.h3(key), tag.div(*lists, class_="sides"), class_="member"))
    if (rest := clusters.n_clusters - MOST_CLUSTERS) > 0:
        parts.append(tag.p(f"And {rest:,} more clusters.", class_="note"))
    note = "Typical rows are nearest to the mean of their cluster."
    if any_between:
        note += (
            " Of the nearest neighbours of borderline rows, by the inverse square of distance, the "
            "cluster has the share that is said, and another one most of the rest."
        )
    if show.n_unread:
        note += f" {show.n_unread:,} images could not be found or read, and are named instead."
    return section("Rows", "rows", *parts, tag.p(note, class_="note"))


class _Show:
    """How rows are shown: as text or images, or by their names alone."""

    def __init__(self, report: Report) -> None:
        self.report = report
        self.kind = "images" if report.images is not None else "text"
        self.most = _MOST_ROWS[self.kind]
        self.n_unread, self.n_bytes = 0, 0

    def different(self, rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
        """Take the first rows that do not look the same."""
        values = self.report.texts or self.report.images
        found: dict[Any, int] = {}
        for i in rows.tolist():
            found.setdefault(i if values is None else values[i], i)
            if len(found) == most:
                break
        return np.array(list(found.values()), dtype=np.int64)

    def listing(self, rows: NDArray[np.int64], notes: Sequence[Html] | None = None) -> Html:
        """List rows, each with a note or without."""
        said: Sequence[Html | None] = notes or [None] * len(rows)
        items = (
            tag.li(*self._row(i), note or "") for i, note in zip(rows.tolist(), said, strict=True)
        )
        return tag.ul(*items, class_=f"shown {self.kind}")

    def _row(self, i: int) -> list[Any]:
        report = self.report
        name = tag.span(
            word(report.ids[i]) if report.ids is not None else f"row {i}", class_="note"
        )
        if report.texts is not None:
            return [tag.q(word_long(report.texts[i])), " ", name, " "]
        if report.images is not None:
            return [self._image(report.images[i]), " ", name, " "]
        return [name, " "]

    def _image(self, text: str) -> Html:
        """Embed an image that is small or can be made so; link to it, or name it, otherwise."""
        path = self._found(text)
        if path is None:
            self.n_unread += 1
            return word(text)
        data = _embedded(path) if self.n_bytes < _LARGEST_PAGE else None
        if data is not None:
            self.n_bytes += len(data)
            return tag.img(src=data, alt=plain(text), loading="lazy")
        try:
            near = Path(os.path.relpath(path, self.report.folder or Path()))
        except ValueError:  # on another drive
            return word(text)
        return tag.a(word(text), href=quote(near.as_posix()))

    def _found(self, text: str) -> Path | None:
        """Look for an image; one that has another content is none."""
        suffix = Path(text).suffix.lower()
        if suffix not in _SUFFIXES:
            return None
        for folder in (*self.report.folders, self.report.folder or Path()):
            path = folder / text
            try:
                if path.is_file():
                    with path.open("rb") as stream:
                        first = stream.read(8)
                    return path if first.startswith(_SUFFIXES[suffix][1]) else None
            except (OSError, ValueError):  # a name that no file can have
                continue
        return None


def word_long(text: str) -> Html:
    """Give a user's text, shortened to some lines."""
    return tag.bdi(plain(" ".join(text.split()), _LONGEST))


def _embedded(path: Path) -> str | None:
    """Give an image as it stands in a page; None where it is too large."""
    kind, data = _SUFFIXES[path.suffix.lower()][0], b""
    if path.stat().st_size <= _LARGEST_IMAGE:
        data = path.read_bytes()
    else:
        try:
            from PIL import Image
        except ImportError:
            return None
        try:
            with Image.open(path) as image:
                image.thumbnail((_SIDE, _SIDE))
                stream = io.BytesIO()
                image.convert("RGB").save(stream, format="JPEG", quality=80)
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
            return None
        kind, data = "image/jpeg", stream.getvalue()
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
