"""Sections of a report's page that are words and tables."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkshift._core.markup import Html, head, plain, row, section, table, tag, word
from linkshift._core.text import counted
from linkshift.pictures.charts import HeatMap, PathChart
from linkshift.pictures.colours import PALETTE, rgb
from linkshift.pictures.page.svg import cluster_key, css, path_chart
from linkshift.pictures.page.words import apart, note_on
from linkshift.pictures.scene import Clusters, LinkTable

if TYPE_CHECKING:
    from linkshift.bandwidth.path import BandwidthPath
    from linkshift.pictures.page.page import Report

MOST_CLUSTERS = 50
MOST_VIOLATED = 200


def summary(report: Report, clusters: Clusters, links: LinkTable) -> Html:
    """Write the title, the answer in a line, and the numbers as tiles."""
    n, k, noise = len(clusters.position), clusters.n_clusters, clusters.n_noise
    tiles: dict[str, list[str]] = {"rows": [f"{n:,}"], "columns": [f"{report.X.shape[1]:,}"]}
    tiles["clusters"] = [f"{k:,}"]
    also = ""
    if noise:
        also += f", {noise:,} noise"
        tiles["noise"] = [f"{noise:,} ", tag.small(f"{noise / n:.1%}")]
    if len(links):
        kept = int(links.kept.sum())
        also += f", {kept:,} of {counted(len(links), 'link')} kept"
        tiles["links kept"] = [f"{kept:,} ", tag.small(f"of {len(links):,}")]
    if groups := links.report.n_apart:
        also += f", {links.report.apart_kept:,} of {counted(groups, 'group')} apart"
    if (seconds := report.seconds) is not None:
        tiles["time"] = [f"{seconds:.2f} s" if seconds < 10 else f"{seconds:,.0f} s"]
    answer = tag.strong(f"{counted(n, 'row')} → {counted(k, 'cluster')}")
    words = [tag.h1(word(report.title)), tag.p(answer, f"{also}.", class_="answer")]
    if report.method:
        why = f": {report.why.rstrip('.')}." if report.why else "."
        words.append(tag.p("Method ", tag.code(plain(report.method)), why))
    if report.done:
        words.append(tag.p(report.done, class_="note"))
    listed = (tag.div(tag.dt(term), tag.dd(*value)) for term, value in tiles.items())
    return tag.header("\n", *words, "\n", tag.dl(*listed, class_="tiles"), "\n")


def cluster_table(report: Report, clusters: Clusters) -> Html:
    """List the clusters by size, with what sets each apart."""
    n, widest = len(clusters.position), int(clusters.sizes.max())
    listed = clusters.by_size[:MOST_CLUSTERS]

    def line(name: object, size: int, note: object, *bar: Html) -> Html:
        cells = tag.td(*bar, class_="bar"), tag.td(note)
        return row(f"{size:,}", f"{size / n:.1%}", *cells, name=name)

    def of(c: int, note: object) -> Html:
        size = int(clusters.sizes[c])
        bar = tag.i(style=f"width:{100 * size / widest:.1f}%;background:{css(clusters.hues[c])}")
        return line(cluster_key(clusters, c), size, note, bar)

    rows = [of(c, note) for c, note in apart(report, clusters, listed).items()]
    rest = clusters.sizes[clusters.by_size[MOST_CLUSTERS:]]
    if len(rest):
        low, high = int(rest.min()), int(rest.max())
        each = f"{counted(low, 'row')} each" if low == high else f"{low:,} to {high:,} rows each"
        rows.append(line(f"{len(rest):,} more", int(rest.sum()), each))
    rows += [of(c, "in no cluster") for c in np.flatnonzero(clusters.is_noise).tolist()]
    bar = tag.td(class_="bar")
    columns = [*head("cluster", ">rows", ">share"), bar, *head("what sets it apart")]
    listing = table(columns, rows, "full")
    return section("Clusters", "clusters", listing, tag.p(note_on(report), class_="note"))


def link_section(report: Report, clusters: Clusters, links: LinkTable) -> Html:
    """Count what is kept, and list what is violated."""
    found = links.report
    rows = [
        row(f"{n:,}", f"{kept:,}", f"{n - kept:,}", _kept_share(share), name=kind)
        for kind, n, kept, share in (
            ("must-links", found.n_must, found.must_kept, found.must_share),
            ("cannot-links", found.n_cannot, found.cannot_kept, found.cannot_share),
            ("groups apart", found.n_apart, found.apart_kept, found.apart_share),
        )
        if n
    ]
    words = [table(head("", ">given", ">kept", ">violated", ">share kept"), rows)]
    if (links.confidence < 1).any():
        words.append(tag.p(f"By confidence, {_kept_share(found.weighted_share)} is kept."))
    if report.held_out is not None:
        by = tag.p(f"{str(report.held_out).capitalize()}: clustered again without them. ")
        words.append(by)
    broken = np.flatnonzero(~links.kept)
    file = shlex.quote(_word_after(report.command, "--links"))
    check = tag.code(f"linkshift links check {file}")
    if report.n_conflicts:
        conflicts = counted(report.n_conflicts, "conflict")
        bad = tag.span(f"The links contradict each other: {conflicts}.", class_="bad")
        what = " lists the chains behind each conflict and the fewest answers to drop."
        words.append(tag.p(bad, " No clustering can keep them all. ", check, what))
    elif len(broken):
        why = "A violated link is an answer to look at again, or one that the data speak against. "
        what = " finds contradictions among the links; "
        explain = tag.code("linkshift explain MODEL ROW")
        words.append(tag.p(why, check, what, explain, " says why a row is where it is."))
    listed = broken[:MOST_VIOLATED]
    kept = tag.p("All links are kept.")
    words.append(_violated(report, clusters, links, listed) if len(listed) else kept)
    if len(broken) > MOST_VIOLATED:
        words.append(tag.p(f"And {len(broken) - MOST_VIOLATED:,} more.", class_="note"))
    return section("Links", "links", *words)


def _kept_share(share: float) -> str:
    """Give a share in per cent; only what is whole reads 100."""
    return f"{share if share == 1 else min(share, 0.999):.1%}"


def _word_after(command: Sequence[str], option: str) -> str:
    """Give the value of an option on a command line."""
    for i, given in enumerate(command):
        if given.startswith(option + "="):
            return given[len(option) + 1 :]
        if given == option and i + 1 < len(command):
            return command[i + 1]
    return "LINKS"


def _violated(
    report: Report, clusters: Clusters, links: LinkTable, listed: NDArray[np.int64]
) -> Html:
    def end(i: int) -> Html:
        if report.ids is None:
            return tag.td(i)
        return tag.td(word(report.ids[i]), " ", tag.span(f"row {i}", class_="note"))

    def held(i: int) -> Html:
        return tag.td(cluster_key(clusters, int(clusters.position[i])), class_="held")

    rows = []
    for i in listed.tolist():
        a, b = links.pairs[i].tolist()
        confidence = f"{links.confidence[i]:g}"
        rows.append(row(tag.td(links.kind[i]), end(a), end(b), confidence, held(a), held(b)))
    ends = ("a", "b") if report.ids is not None else ("row a", "row b")
    columns = head("violated", *ends, ">confidence", "cluster of a", "cluster of b")
    return tag.div(table(columns, rows, "full"), class_="scroll")


def path_section(path: BandwidthPath, level: int | None) -> Html:
    """Draw the bandwidth path, and give it as numbers."""
    values = {
        ">bandwidth": [f"{h:.4g}" for h in path.bandwidths],
        ">clusters": [f"{k:,}" for k in path.n_clusters],
        ">stability": [f"{s:.3f}" for s in path.stability],
    }
    words = "Mean shift over growing bandwidths. A stable clustering stays over many of them"
    if path.links:
        values[">violated must-links"] = [f"{v:,}" for v in path.violated_must]
        values[">violated cannot-links"] = [f"{v:,}" for v in path.violated_cannot]
        words += "; the links show which merges go too far"
    rows = [
        row(*cells, class_="chosen" if i == level else "level")
        for i, cells in enumerate(zip(*values.values(), strict=True))
    ]
    chart = path_chart(PathChart.of(path, level))
    levels = tag.summary(f"All {len(rows)} levels as numbers")
    details = tag.details(levels, table(head(*values), rows))
    return section("Bandwidths", "bandwidths", tag.p(f"{words}."), chart, details)


def view_section(heat: HeatMap) -> Html:
    """Write shares as a table whose cells are coloured."""
    colour = " ".join(f"{255 * part:.0f}" for part in rgb(PALETTE[0]))
    leads, most = heat.leads, heat.shares.max()

    def cell(c: int, v: int, share: float) -> Html:
        look = "top" if leads[c, v] else "share"
        back = f"background:rgb({colour} / {0.6 * share / most:.2f})"
        return tag.td(f"{share:.2f}", class_=look, style=back)

    rows = [
        row(*(cell(c, v, share) for v, share in enumerate(shares)), name=heat.rows[c])
        for c, shares in enumerate(heat.shares[:MOST_CLUSTERS])
    ]
    words = (
        "How much each view has to say on each cluster. Rows sum to one; the highest of a row "
        "is in bold."
    )
    parts = [tag.p(words), table(head("", *map(word, heat.columns)), rows, "heat")]
    if (rest := len(heat.rows) - MOST_CLUSTERS) > 0:
        parts.append(tag.p(f"And {rest:,} more clusters.", class_="note"))
    return section("Views", "views", *parts)


def reproduction(report: Report) -> Html:
    """Tell parameters, command, versions, seed and time."""
    words = []
    if report.command:
        command = shlex.join(map(str, report.command))
        words = [tag.p("This command makes this page again:"), tag.pre(command)]
    facts = {"method": report.method} if report.method else {}
    facts |= {str(key): _shown(value) for key, value in report.parameters.items()}
    if report.seed is not None:
        facts["seed"] = str(report.seed)
    if report.seconds is not None:
        facts["seconds"] = f"{report.seconds:.3g}"
    versions = report.versions
    if versions is None:
        packages = ("linkshift", "numpy", "scipy", "scikit-learn", "numba")
        versions = {"Python": platform.python_version()} | {p: version(p) for p in packages}
    tables = []
    for title, values in (("Parameters", facts), ("Versions", versions)):
        codes = {key: tag.td(tag.code(plain(value, 1000))) for key, value in values.items()}
        if codes:
            rows = [row(code, name=word(key)) for key, code in codes.items()]
            tables.append(tag.div(tag.h3(title), table([], rows)))
    return section("How to reproduce it", "reproduce", *words, tag.div(*tables, class_="pair"))


def _shown(value: Any) -> str:
    """Give a plain value in words."""
    if value is None:
        return "not given"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, np.ndarray) and value.size > 8 and value.dtype.kind in "iuf":
        return f"{value.min():.6g} to {value.max():.6g} ({value.size:,} values)"
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_shown(item)}" for key, item in value.items())
    if isinstance(value, list | tuple | np.ndarray):
        return ", ".join(map(_shown, value))
    return str(value)
