"""Sections of a report's page that are words and tables, and how text gets into HTML."""

from __future__ import annotations

import html
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from linkshift._core.text import counted
from linkshift._drawing import PALETTE, cluster_name
from linkshift.metrics import LinkReport, link_satisfaction

if TYPE_CHECKING:
    from linkshift.bandwidth.path import BandwidthPath
    from linkshift.links import Links
    from linkshift.report._page import Report

_FULL = ' class="full"'
MINUS = "\N{MINUS SIGN}"
MOST_CLUSTERS = 50
MOST_VIOLATED = 200
_MOST_HIGHLIGHTS = 3
_LEAST_HIGHLIGHT = 0.1
_LONGEST = 120

# Controls, halves of surrogate pairs and code points that are no characters: not valid in HTML.
_NO_TEXT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")


# --- text ---------------------------------------------------------------------------------------


def plain(value: object, longest: int | None = _LONGEST) -> str:
    """Text that any encoding of HTML or JSON may hold, shortened."""
    words = _NO_TEXT.sub("\N{REPLACEMENT CHARACTER}", str(value))
    return words if longest is None or len(words) <= longest else words[: longest - 1] + "…"


def text(value: object, longest: int | None = _LONGEST) -> str:
    """Text as HTML, with nothing in it that means something there."""
    return html.escape(plain(value, longest))


def name(value: object) -> str:
    """Give a user's word as HTML; its direction of writing does not reach what follows."""
    return f"<bdi>{text(value)}</bdi>"


def section(title: str, content: str, ident: str) -> str:
    return f'<section id="{ident}">\n<h2>{title}</h2>\n{content}\n</section>'


def table(head: Sequence[str], rows: Iterable[str], attrs: str = "") -> str:
    """Join cells of a head and whole rows to a table that scrolls where the page is narrow."""
    cells = "".join(head)
    body = "\n".join(rows)
    start = f"<thead><tr>{cells}</tr></thead>" if cells else ""
    return f'<div class="wide"><table{attrs}>{start}<tbody>\n{body}\n</tbody></table></div>'


def _row(first: str, *cells: str) -> str:
    return f'<tr><th scope="row">{first}</th>{"".join(cells)}</tr>'


def _number(value: str) -> str:
    return f'<td class="right">{value}</td>'


def _head(*names: str) -> list[str]:
    """Name columns; those that begin with > hold numbers."""
    return [
        f'<th scope="col" class="right">{n[1:]}</th>'
        if n[:1] == ">"
        else f'<th scope="col">{n}</th>'
        for n in names
    ]


# --- what the sections are about ----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Clusters:
    """The different labels in their order, noise (-1) among them.

    Attributes
    ----------
    titles : list of str
        ``cluster 3``, ``noise``, or the name of a cluster that has one.
    position : ndarray of shape (n,)
        Which of them each row has.
    sizes : ndarray
    is_noise : ndarray of bool
    by_size : ndarray
        Positions without noise, the largest cluster first.
    """

    titles: list[str]
    position: NDArray[np.int64]
    sizes: NDArray[np.int64]
    is_noise: NDArray[np.bool_]
    by_size: NDArray[np.int64]

    @classmethod
    def of(cls, labels: NDArray[np.generic]) -> Clusters:
        found, position, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        numbers = found.dtype.kind in "iuf"
        is_noise = found == -1 if numbers else np.zeros(len(found), dtype=bool)
        titles = [
            "noise" if noise else cluster_name(label)
            for label, noise in zip(found.tolist(), is_noise, strict=True)
        ]
        order = np.argsort(-sizes, kind="stable")
        return cls(titles, position, sizes, is_noise, order[~is_noise[order]])

    @property
    def n_clusters(self) -> int:
        return len(self.by_size)

    @property
    def n_noise(self) -> int:
        return int(self.sizes[self.is_noise].sum())

    def colour(self, c: int) -> str:
        """Give the same colour as `linkshift.plot`."""
        if self.is_noise[c]:
            return "var(--noise)"
        return f"var(--c{int((~self.is_noise[:c]).sum()) % len(PALETTE)})"

    def key(self, c: int) -> str:
        return f'<i class="key" style="background:{self.colour(c)}"></i>'

    def name(self, c: int) -> str:
        return name(self.titles[c])


@dataclass(frozen=True, eq=False)
class LinkTable:
    """All links, must before cannot: pairs of rows, kinds, confidences, and which are kept."""

    pairs: NDArray[np.int64]
    kind: NDArray[np.str_]
    confidence: NDArray[np.float64]
    kept: NDArray[np.bool_]
    report: LinkReport

    @classmethod
    def of(cls, labels: NDArray[np.generic], links: Links) -> LinkTable:
        kind = np.repeat(["must", "cannot"], [len(links.must), len(links.cannot)])
        pairs = np.concatenate([links.must, links.cannot])
        confidence = np.concatenate([links.must_confidence, links.cannot_confidence])
        report = link_satisfaction(labels, links)
        broken = {("must", *pair) for pair in map(tuple, report.violated_must.tolist())} | {
            ("cannot", *pair) for pair in map(tuple, report.violated_cannot.tolist())
        }
        kept = np.array(
            [
                (k, a, b) not in broken
                for k, (a, b) in zip(kind.tolist(), pairs.tolist(), strict=True)
            ],
            dtype=bool,
        )
        return cls(pairs, kind, confidence, kept, report)

    def __len__(self) -> int:
        return len(self.pairs)

    @property
    def n_kept(self) -> int:
        return self.report.must_kept + self.report.cannot_kept


# --- sections -----------------------------------------------------------------------------------


def head(report: Report, clusters: Clusters, links: LinkTable) -> str:
    n = len(clusters.position)
    noise = f", {clusters.n_noise:,} noise" if clusters.n_noise else ""
    words = [f"<h1>{name(report.title)}</h1>"]
    answer = (
        f"<strong>{counted(n, 'row')} → {counted(clusters.n_clusters, 'cluster')}</strong>{noise}"
    )
    if len(links):
        answer += f", {links.n_kept:,} of {counted(len(links), 'link')} kept"
    words.append(f'<p class="answer">{answer}.</p>')
    if report.method:
        why = f": {text(report.why.rstrip('.'), None)}" if report.why else ""
        words.append(f"<p>Method <code>{text(report.method)}</code>{why}.</p>")
    if report.done:
        words.append(f'<p class="note">{text(report.done, None)}</p>')
    tiles = [
        ("rows", f"{n:,}"),
        ("columns", f"{report.X.shape[1]:,}"),
        ("clusters", f"{clusters.n_clusters:,}"),
    ]
    if clusters.n_noise:
        tiles.append(("noise", f"{clusters.n_noise:,} <small>{clusters.n_noise / n:.1%}</small>"))
    if len(links):
        tiles.append(("links kept", f"{links.n_kept:,} <small>of {len(links):,}</small>"))
    if report.seconds is not None:
        tiles.append(("time", _seconds(report.seconds)))
    listed = "".join(f"<div><dt>{term}</dt><dd>{value}</dd></div>" for term, value in tiles)
    return f'<header>\n{"".join(words)}\n<dl class="tiles">{listed}</dl>\n</header>'


def _seconds(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:,.0f} s"


def cluster_table(report: Report, clusters: Clusters) -> str:
    n = len(clusters.position)
    listed = clusters.by_size[:MOST_CLUSTERS]
    highlights = _highlights(report, clusters, listed)
    widest = int(clusters.sizes.max())

    def line(c: int, note: str) -> str:
        size = int(clusters.sizes[c])
        bar = f'<i style="width:{100 * size / widest:.1f}%;background:{clusters.colour(c)}"></i>'
        return _row(
            clusters.key(c) + clusters.name(c),
            _number(f"{size:,}"),
            _number(f"{size / n:.1%}"),
            f'<td class="bar">{bar}</td>',
            f"<td>{note}</td>",
        )

    rows = [line(c, highlights[i]) for i, c in enumerate(listed.tolist())]
    rest = clusters.sizes[clusters.by_size[MOST_CLUSTERS:]]
    if len(rest):
        low, high = int(rest.min()), int(rest.max())
        each = f"{counted(low, 'row')} each" if low == high else f"{low:,} to {high:,} rows each"
        total = int(rest.sum())
        rows.append(
            _row(
                f"{len(rest):,} more",
                _number(f"{total:,}"),
                _number(f"{total / n:.1%}"),
                '<td class="bar"></td>',
                f"<td>{each}</td>",
            )
        )
    rows += [line(c, "in no cluster") for c in np.flatnonzero(clusters.is_noise).tolist()]
    columns = _head("cluster", ">rows", ">share", "", "stands out in")
    columns[3] = '<td class="bar"></td>'
    note = (
        '<p class="note">A cluster stands out in the columns where its mean is farthest from that '
        "of all rows, here in standard deviations of all rows.</p>"
    )
    return section("Clusters", table(columns, rows, _FULL) + note, "clusters")


def _highlights(report: Report, clusters: Clusters, listed: NDArray[np.int64]) -> list[str]:
    """Name, for each cluster listed, the columns in which its mean is farthest from all rows'."""
    # Sums of very large numbers would overflow.
    largest = np.abs(report.X).max(axis=0)
    scaled = report.X / np.where(largest > 0, largest, 1.0)
    mean, spread = scaled.mean(axis=0), scaled.std(axis=0)
    varies = spread > 1e-12  # less is rounding
    order = np.argsort(clusters.position, kind="stable")
    last = np.cumsum(clusters.sizes)
    found = []
    for c in listed.tolist():
        members = scaled[order[last[c] - clusters.sizes[c] : last[c]]]
        away = np.where(varies, (members.mean(axis=0) - mean) / np.where(varies, spread, 1.0), 0.0)
        top = np.argsort(-np.abs(away), kind="stable")[:_MOST_HIGHLIGHTS]
        shown = [j for j in top.tolist() if abs(away[j]) >= _LEAST_HIGHLIGHT]
        words = [
            f'<span class="high">{name(report.column_names[j])} {_signed(away[j])}</span>'
            for j in shown
        ]
        found.append(" ".join(words) or "nothing")
    return found


def _signed(value: float) -> str:
    return f"{value:+.1f}".replace("-", MINUS)


def link_section(report: Report, clusters: Clusters, links: LinkTable) -> str:
    found = links.report
    kinds = [
        ("must", found.n_must, found.must_kept, found.must_share),
        ("cannot", found.n_cannot, found.cannot_kept, found.cannot_share),
    ]
    rows = [
        _row(
            f"{kind}-links",
            *map(_number, (f"{n:,}", f"{kept:,}", f"{n - kept:,}", _kept_share(share))),
        )
        for kind, n, kept, share in kinds
        if n
    ]
    words = table(_head("", ">given", ">kept", ">violated", ">share kept"), rows)
    if (links.confidence < 1).any():
        words += f"<p>By confidence, {_kept_share(found.weighted_share)} is kept.</p>"
    broken = np.flatnonzero(~links.kept)
    check = f"linkshift links check {shlex.quote(_word_after(report.command, '--links'))}"
    if report.n_conflicts:
        words += (
            f'<p><span class="bad">The links contradict each other: '
            f"{counted(report.n_conflicts, 'conflict')}.</span> No clustering can keep them all. "
            f"<code>{text(check, None)}</code> lists the chains behind each conflict and the "
            "fewest answers to drop.</p>"
        )
    if not len(broken):
        return section("Links", words + "<p>All links are kept.</p>", "links")
    if not report.n_conflicts:
        words += (
            "<p>A violated link is an answer to look at again, or one that the data speak against. "
            f"<code>{text(check, None)}</code> finds contradictions among the links; "
            f"<code>linkshift explain MODEL ROW</code> says why a row is where it is.</p>"
        )
    words += _violated(report, clusters, links, broken[:MOST_VIOLATED])
    if len(broken) > MOST_VIOLATED:
        words += f'<p class="note">And {len(broken) - MOST_VIOLATED:,} more.</p>'
    return section("Links", words, "links")


def _kept_share(share: float) -> str:
    """Give a share in per cent; only what is whole reads 100."""
    return f"{share if share == 1 else min(share, 0.999):.1%}"


def _word_after(command: Sequence[str], option: str) -> str:
    """Give the value of an option on a command line."""
    for i, word in enumerate(command):
        if word.startswith(option + "="):
            return word[len(option) + 1 :]
        if word == option and i + 1 < len(command):
            return command[i + 1]
    return "LINKS"


def _violated(
    report: Report, clusters: Clusters, links: LinkTable, listed: NDArray[np.int64]
) -> str:
    def end(row: int) -> str:
        if report.ids is None:
            return f"<td>{row}</td>"
        return f'<td>{name(report.ids[row])} <span class="note">row {row}</span></td>'

    def cluster(row: int) -> str:
        c = int(clusters.position[row])
        return f'<td class="held">{clusters.key(c)}{clusters.name(c)}</td>'

    rows = [
        f"<tr><td>{links.kind[i]}</td>{end(a)}{end(b)}"
        f"{_number(f'{links.confidence[i]:g}')}{cluster(a)}{cluster(b)}</tr>"
        for i, (a, b) in zip(listed.tolist(), links.pairs[listed].tolist(), strict=True)
    ]
    a, b = ("a", "b") if report.ids is not None else ("row a", "row b")
    columns = _head("violated", a, b, ">confidence", "cluster of a", "cluster of b")
    return f'<div class="scroll">{table(columns, rows, _FULL)}</div>'


def path_table(path: BandwidthPath, level: int | None) -> str:
    columns = ["bandwidth", "clusters", "stability"]
    values = [
        [f"{h:.4g}" for h in path.bandwidths],
        [f"{k:,}" for k in path.n_clusters],
        [f"{s:.3f}" for s in path.stability],
    ]
    if path.links:
        columns += ["violated must-links", "violated cannot-links"]
        values += [[f"{v:,}" for v in path.violated_must], [f"{v:,}" for v in path.violated_cannot]]
    rows = [
        f'<tr class="{"chosen" if i == level else "level"}">{"".join(map(_number, cells))}</tr>'
        for i, cells in enumerate(zip(*values, strict=True))
    ]
    shown = table(_head(*(">" + column for column in columns)), rows)
    return f"<details><summary>All {len(rows)} levels as numbers</summary>{shown}</details>"


def view_section(names: Sequence[str], importances: NDArray[np.float64]) -> str:
    top = max(float(importances.max()), 1e-12)
    rows = []
    for c, shares in enumerate(importances[:MOST_CLUSTERS]):
        looks = ["top" if share == shares.max() else "share" for share in shares]
        cells = "".join(
            f'<td class="{look}" style="background:rgb(59 111 182 / {0.6 * share / top:.2f})">'
            f"{share:.2f}</td>"
            for share, look in zip(shares, looks, strict=True)
        )
        rows.append(_row(f"cluster {c}", cells))
    words = (
        "<p>How much each view has to say on each cluster. Rows sum to one; the highest of a row "
        "is in bold.</p>"
    )
    words += table(_head("", *map(name, names)), rows, ' class="heat"')
    if len(importances) > MOST_CLUSTERS:
        words += f'<p class="note">And {len(importances) - MOST_CLUSTERS:,} more clusters.</p>'
    return section("Views", words, "views")
