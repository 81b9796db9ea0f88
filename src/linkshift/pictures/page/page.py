"""What a report holds, and the page that it becomes."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np

from linkshift._core.labels import NOISE
from linkshift._core.markup import joined, plain, section
from linkshift.links import Links
from linkshift.memberships import Membership, is_quick, membership
from linkshift.metrics import HeldOut
from linkshift.pictures.charts import HeatMap, check_count
from linkshift.pictures.colours import CANNOT, MUST, NOISE_GREY, PALETTE, lightened
from linkshift.pictures.page import sections
from linkshift.pictures.page.rows import are_images, rows_section, texts_of
from linkshift.pictures.page.svg import Paper, scatter
from linkshift.pictures.scene import Clusters, check_labels, check_points, same_width

if TYPE_CHECKING:
    from linkshift.bandwidth.path import BandwidthPath

_PANEL_DARK = "#1b1e23"  # as in page.html


@dataclass(frozen=True, eq=False, kw_only=True)
class Report:
    """Everything that the page tells.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The data as they were clustered, scaled or not.
    labels : array-like of shape (n,)
        Cluster of each row, -1 for noise.
    title : str
        Title of the page, such as the name of the data.
    links : Links or None
        The links asked for, by row.
    ids, names : sequences of lengths n and d, or None
        Names of the rows and of the columns; None numbers them.
    method, why, done : str
        Name of the method; a line that says why this one, and a line that says what was done.
    parameters : mapping of str to plain values
        What the method was told.
    path, level : BandwidthPath and int, or None
        What :func:`linkshift.bandwidth_path` gives, and the level of it that was chosen.
    modes : array-like of shape (m, d) or None
        Where the modes are.
    view_importances : array-like of shape (n_clusters, n_views) or None
        What each view has to say on each cluster; rows sum to one.
    view_names : sequence of str of length n_views or None
        Names of the views; None numbers them.
    seconds, seed : float and int, or None
        How long the clustering took, and the seed of chance.
    versions : mapping of str to str or None
        Versions of software; None takes those in use.
    command : sequence of str
        The command line, word by word, that makes this report again.
    n_conflicts : int
        Conflicts among the links.
    held_out : HeldOut, default=None
        How well links hold that were kept from the clustering.
    show : sequence of length n or None
        What rows are, to be shown beside them: text, or paths of images.
    folder, folders : path or None, and sequence of paths
        Where the page will be, for links to images; where else images are looked for, and first.
    original : array-like of shape (n, d) or None
        Rows in units of their columns, for words; None where there are none to name.
    membership : Membership or None
        What :func:`linkshift.membership` gives; None works it out from ``X``, where that does not
        take long.

    Examples
    --------
    >>> from linkshift import Links, report
    >>> three = report.Report(
    ...     X=[[0, 0], [0, 1], [9, 9]],
    ...     labels=[0, 0, 1],
    ...     title="three rows",
    ...     links=Links(must=[(0, 1)]),
    ...     names=["width", "height"],
    ...     command=["linkshift", "cluster", "three rows.csv"],
    ... )
    >>> page = report.render(three)
    >>> page.startswith("<!DOCTYPE html>")
    True
    >>> "3 rows → 2 clusters" in page
    True
    """

    X: Any
    labels: Any
    title: str = "Clusters"
    links: Links | None = None
    ids: Sequence[Any] | None = None
    names: Sequence[str] | None = None
    method: str = ""
    why: str = ""
    done: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    path: BandwidthPath | None = None
    level: int | None = None
    modes: Any = None
    view_importances: Any = None
    view_names: Sequence[str] | None = None
    seconds: float | None = None
    seed: int | None = None
    versions: Mapping[str, str] | None = None
    command: Sequence[str] = ()
    n_conflicts: int = 0
    held_out: HeldOut | None = None
    show: Sequence[Any] | None = None
    folder: Path | None = None
    folders: Sequence[Path] = ()
    original: Any = None
    membership: Membership | None = None
    texts: list[str] | None = field(init=False, default=None)
    images: list[str] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        X = check_points(self.X)
        if not np.isfinite(X).all():
            raise ValueError("X has missing or infinite values; give it as it was clustered")
        n, d = X.shape
        checked: dict[str, Any] = {"X": X, "labels": check_labels(self.labels, X)}
        checked["links"] = Links.coerce(self.links).check(n)
        if self.ids is not None:
            checked["ids"] = check_count(self.ids, n, "ids", "row of X")
        if self.names is not None:
            checked["names"] = check_count(self.names, d, "names", "column of X")
        if self.show is not None:
            shown = check_count(self.show, n, "show", "row of X")
            checked["images" if are_images(shown) else "texts"] = texts_of(shown)
        if self.original is not None:
            checked["original"] = same_width(self.original, X, "original")
        if self.modes is not None:
            checked["modes"] = same_width(self.modes, X, "modes")
        if self.view_importances is not None:
            heat = HeatMap.of(self.view_importances, self.view_names)
            checked |= {"view_importances": heat.shares, "view_names": heat.columns}
        elif self.view_names is not None:
            raise ValueError("view_names without view_importances; give both or none")
        if isinstance(self.command, str):
            raise TypeError("command must be a list of words, not one text: shlex.split parts it")
        if self.n_conflicts and not checked["links"]:
            raise ValueError(f"{self.n_conflicts} conflicts without links; give links as well")
        if self.why and not self.method:
            raise ValueError("why says why a method was taken; give method as well")
        if self.level is not None:
            n_levels = 0 if self.path is None else len(self.path.bandwidths)
            if not 0 <= self.level < n_levels:
                raise ValueError(
                    f"level {self.level} is not on the path: it has {n_levels} levels; "
                    "give path=bandwidth_path(X, links) and level=path.best()"
                )
        for key, value in checked.items():
            object.__setattr__(self, key, value)

    @property
    def shows_rows(self) -> bool:
        """Whether there is a section of rows: where neighbours are known, or soon found."""
        return self.membership is not None or is_quick(*self.X.shape)

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, their numbers where they have none."""
        if self.names is None:
            return [f"column {j}" for j in range(self.X.shape[1])]
        return [str(given) for given in self.names]


def render(report: Report) -> str:
    """Write a report as HTML.

    The page is one file that needs no network. The same report gives the same bytes.

    Parameters
    ----------
    report : Report

    Returns
    -------
    str
        The page; write it with ``Path.write_text(page, encoding="utf-8")``.

    Examples
    --------
    >>> page = render(Report(X=[[1.0], [2.0], [8.0]], labels=[0, 0, 1], ids=["a", "b", "<c>"]))
    >>> "<c>" in page
    False
    """
    paper = Paper.of(report)
    clusters, links = paper.scene.clusters, paper.scene.table
    assert clusters is not None
    assert links is not None
    picture, data = scatter(report, paper, clusters)
    body = [sections.summary(report, clusters, links), section("Picture", "picture", picture)]
    body.append(sections.cluster_table(report, clusters))
    if report.shows_rows:
        held = _membership(report, clusters, paper.power)
        body.append(rows_section(report, clusters, held))
    if len(links) or links.report.n_apart:
        body.append(sections.link_section(report, clusters, links))
    if report.path is not None and max(report.path.n_clusters) > 1:  # else it shows nothing
        body.append(sections.path_section(report.path, report.level))
    if report.view_importances is not None:
        body.append(sections.view_section(HeatMap.of(report.view_importances, report.view_names)))
    body.append(sections.reproduction(report))
    page, script = (
        files("linkshift.pictures.page").joinpath(name).read_text(encoding="utf-8")
        for name in ("page.html", "page.js")
    )
    light, dark = _colours()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    words = json.dumps(data, separators=(",", ":"))  # must not end the element it stands in
    return Template(page).substitute(
        title=joined(plain(report.title)),
        script_hash=f"sha256-{digest}",
        colours=light,
        dark_colours=dark,
        body=joined(*body, by="\n"),
        data=words.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"),
        script=script,
    )


def _membership(report: Report, clusters: Clusters, power: int) -> Membership:
    """How rows stand in their clusters, as given or worked out."""
    if report.membership is not None:
        return report.membership
    labels = np.where(clusters.is_noise[clusters.position], NOISE, clusters.position)
    return membership(np.ldexp(report.X, -power), labels)


@cache
def _colours() -> tuple[str, str]:
    """Colours as CSS variables, and those that have to be lighter on a dark page."""
    named = {f"c{i}": colour for i, colour in enumerate(PALETTE)}
    named |= {"noise": NOISE_GREY, "must": MUST, "cannot": CANNOT}
    dark = {key: lightened(colour, _PANEL_DARK) for key, colour in named.items()}
    changed = {key: colour for key, colour in dark.items() if colour != named[key]}
    light, lighter = (
        " ".join(f"--{key}: {colour};" for key, colour in table.items())
        for table in (named, changed)
    )
    return light, lighter
