"""What a report holds, and the page that it becomes."""

from __future__ import annotations

import base64
import hashlib
import json
import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from string import Template
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkshift import _charts, _drawing
from linkshift.links import Links
from linkshift.report import _parts
from linkshift.report._chart import path_chart
from linkshift.report._parts import Clusters, LinkTable, name, section, table, text
from linkshift.report._scatter import scatter

if TYPE_CHECKING:
    from linkshift.bandwidth.path import BandwidthPath

_PANEL_DARK = "#1b1e23"  # as in page.html
_LEAST_CONTRAST = 3.0


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
    ids : sequence of length n or None
        Names of the rows; None numbers them.
    names : sequence of str of length d or None
        Names of the columns; None numbers them.
    method : str
        Name of the method.
    why : str
        One line: why this method.
    done : str
        One line: what was done.
    parameters : mapping of str to plain values
        What the method was told.
    path : BandwidthPath or None
        Clusterings over growing bandwidths, from :func:`linkshift.bandwidth_path`.
    level : int or None
        The level of `path` that was chosen.
    modes : array-like of shape (m, d) or None
        Where the modes are.
    view_importances : array-like of shape (n_clusters, n_views) or None
        What each view has to say on each cluster; rows sum to one.
    view_names : sequence of str of length n_views or None
        Names of the views; None numbers them.
    seconds : float or None
        How long the clustering took.
    seed : int or None
        Seed of chance.
    versions : mapping of str to str or None
        Versions of software; None takes those in use.
    command : sequence of str
        The command line, word by word, that makes this report again.
    n_conflicts : int
        Conflicts among the links.

    Examples
    --------
    >>> from linkshift import Links
    >>> from linkshift.report import Report, render
    >>> report = Report(
    ...     X=[[0, 0], [0, 1], [9, 9]],
    ...     labels=[0, 0, 1],
    ...     title="three rows",
    ...     links=Links(must=[(0, 1)]),
    ...     names=["width", "height"],
    ...     command=["linkshift", "cluster", "three rows.csv"],
    ... )
    >>> page = render(report)
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

    def __post_init__(self) -> None:
        X = _drawing.check_points(self.X)
        if not np.isfinite(X).all():
            raise ValueError("X has missing or infinite values; give it as it was clustered")
        n, d = X.shape
        checked: dict[str, Any] = {"X": X, "labels": _drawing.check_labels(self.labels, X)}
        checked["links"] = Links.coerce(self.links).check(n)
        if self.ids is not None:
            checked["ids"] = _charts.check_count(self.ids, n, "ids", "row of X")
        if self.names is not None:
            checked["names"] = _charts.check_count(self.names, d, "names", "column of X")
        if self.modes is not None:
            checked["modes"] = _drawing.same_width(self.modes, X, "modes")
        checked |= self._checked_views()
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

    def _checked_views(self) -> dict[str, Any]:
        if self.view_importances is None:
            if self.view_names is not None:
                raise ValueError("view_names without view_importances; give both or none")
            return {}
        shares = _charts.check_shares(self.view_importances)
        m = shares.shape[1]
        given = [f"view {v}" for v in range(m)] if self.view_names is None else self.view_names
        names = _charts.check_count(given, m, "view_names", "column of view_importances")
        return {"view_importances": shares, "view_names": names}

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
    clusters = Clusters.of(report.labels)
    links = LinkTable.of(report.labels, Links.coerce(report.links))
    picture, data = scatter(report, clusters, links)
    body = [
        _parts.head(report, clusters, links),
        section("Picture", picture, "picture"),
        _parts.cluster_table(report, clusters),
    ]
    if len(links):
        body.append(_parts.link_section(report, clusters, links))
    if report.path is not None:
        body.append(_path_section(report.path, report.level))
    if report.view_importances is not None and report.view_names is not None:
        body.append(_parts.view_section(report.view_names, report.view_importances))
    body.append(_reproduction(report))
    page, script = _template()
    light, dark = _colours()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return page.substitute(
        title=text(report.title),
        script_hash=f"sha256-{digest}",
        colours=light,
        dark_colours=dark,
        body="\n".join(body),
        data=_json(data),
        script=script,
    )


def _json(data: dict[str, Any]) -> str:
    """Write JSON that cannot end the script element it stands in."""
    words = json.dumps(data, separators=(",", ":"))
    return words.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _path_section(path: BandwidthPath, level: int | None) -> str:
    words = "<p>Mean shift over growing bandwidths. A stable clustering stays over many of them"
    words += "; the links show which merges go too far.</p>" if path.links else ".</p>"
    words += path_chart(path, level) + _parts.path_table(path, level)
    return section("Bandwidths", words, "bandwidths")


def _reproduction(report: Report) -> str:
    """Tell parameters, command, versions, seed and time."""
    words = ""
    if report.command:
        command = shlex.join(str(word) for word in report.command)
        words += f"<p>This command makes this page again:</p><pre>{text(command, None)}</pre>"
    facts = {"method": report.method} if report.method else {}
    facts |= {str(key): _shown(value) for key, value in report.parameters.items()}
    if report.seed is not None:
        facts["seed"] = str(report.seed)
    if report.seconds is not None:
        facts["seconds"] = f"{report.seconds:.3g}"
    versions = _versions() if report.versions is None else report.versions
    words += '<div class="pair">'
    for title, values in (("Parameters", facts), ("Versions", versions)):
        rows = [
            f'<tr><th scope="row">{name(key)}</th><td><code>{text(value, 1000)}</code></td></tr>'
            for key, value in values.items()
        ]
        if rows:
            words += f"<div><h3>{title}</h3>{table([], rows)}</div>"
    return section("How to reproduce it", words + "</div>", "reproduce")


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


def _versions() -> dict[str, str]:
    packages = ("linkshift", "numpy", "scipy", "scikit-learn", "numba")
    return {"Python": platform.python_version()} | {p: version(p) for p in packages}


@cache
def _template() -> tuple[Template, str]:
    here = files("linkshift.report")
    page = here.joinpath("page.html").read_text(encoding="utf-8")
    return Template(page), here.joinpath("page.js").read_text(encoding="utf-8")


# --- colours ------------------------------------------------------------------------------------


@cache
def _colours() -> tuple[str, str]:
    """Colours as CSS variables, and those that have to be lighter on a dark page."""
    named = {f"c{i}": colour for i, colour in enumerate(_drawing.PALETTE)}
    named |= {"noise": _drawing.NOISE_GREY, "must": _drawing.MUST, "cannot": _drawing.CANNOT}
    dark = {key: _lightened(colour) for key, colour in named.items()}
    light, changed = (
        " ".join(f"--{key}: {colour};" for key, colour in colours.items())
        for colours in (named, {key: dark[key] for key in dark if dark[key] != named[key]})
    )
    return light, changed


def _lightened(colour: str) -> str:
    """Mix with white until it stands out from the dark panel (WCAG 2, contrast of graphics)."""
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    panel = np.array([int(_PANEL_DARK[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    share = 0.0
    while _contrast(rgb + share * (1 - rgb), panel) < _LEAST_CONTRAST:
        share += 0.05
    mixed = np.rint(255 * (rgb + share * (1 - rgb))).astype(int)
    return colour if share == 0 else "#{:02X}{:02X}{:02X}".format(*mixed)


def _contrast(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    one, two = sorted(
        float(
            np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
            @ (0.2126, 0.7152, 0.0722)
        )
        for c in (a, b)
    )
    return (two + 0.05) / (one + 0.05)
