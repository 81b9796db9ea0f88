"""What sets a cluster apart, in words: terms of its rows, columns in which its mean is far out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from linkshift._core.markup import Html, joined, plain, tag, word
from linkshift.pictures.scene import Clusters

if TYPE_CHECKING:
    from linkshift.pictures.page.page import Report

_MOST_COLUMNS = 3
_MOST_TERMS = 6
_LEAST = 0.1  # standard deviations that are worth a word
_DEGREES = ((1.5, "very "), (0.5, ""), (0.0, "rather "))
_CERTAIN = 1.96  # standard errors by which a term is more frequent than elsewhere
_MOST_KNOWN = 20_000  # terms
_FEW = 12  # columns that can be told by number
_NUMBERED = re.compile(r"(.*?)[ _.\-\[]?\d+\]?")


def are_numbered(names: Sequence[str]) -> bool:
    """Whether columns are many and called by number (e0, e1, ...), as those of embeddings are."""
    stems = {found[1] if (found := _NUMBERED.fullmatch(name)) else name for name in names}
    return len(names) > _FEW and len(stems) == 1


def apart(report: Report, clusters: Clusters, listed: NDArray[np.int64]) -> dict[int, Html]:
    """Say for each cluster listed what sets it apart."""
    said: dict[int, list[Html]] = {c: [] for c in listed.tolist()}
    if report.texts is not None:
        for c, terms in terms_of(report.texts, clusters, listed).items():
            said[c] += [tag.span(word(term), class_="high") for term in terms]
    if not are_numbered(report.column_names):
        for c, highs in _columns(report, clusters, listed).items():
            said[c] += highs
    numbered = report.texts is None and are_numbered(report.column_names) and report.shows_rows
    none = joined("see its rows" if numbered else "nothing")
    return {c: joined(*words, by=" ") or none for c, words in said.items()}


def note_on(report: Report) -> str:
    """Say what the words mean."""
    notes = []
    if report.texts is not None:
        notes.append("Words are those that more of its rows have than others do.")
    if are_numbered(report.column_names):
        notes.append(
            "Columns are called by number, and say nothing in words."
            if report.show is not None
            else "Columns are called by number, and say nothing in words; a column of text or "
            "images that is shown beside the rows does (--show COLUMN; show= in Python)."
        )
    else:
        notes.append(
            "A cluster stands out in the columns where its mean is farthest from that of all rows: "
            "by a tenth of their standard deviation at least; very, by 1.5; rather, by less than a "
            "half."
        )
    return " ".join(notes)


def _columns(
    report: Report, clusters: Clusters, listed: NDArray[np.int64]
) -> dict[int, list[Html]]:
    """Say in which columns the mean of each cluster is farthest from that of all rows."""
    # Sums of very large numbers would overflow.
    largest = np.abs(report.X).max(axis=0)
    scaled = report.X / np.where(largest > 0, largest, 1.0)
    mean, spread = scaled.mean(axis=0), scaled.std(axis=0)
    varies = spread > 1e-12  # less is rounding
    order = np.argsort(clusters.position, kind="stable")
    last = np.cumsum(clusters.sizes)
    names = report.column_names
    found = {}
    for c in listed.tolist():
        members = order[last[c] - clusters.sizes[c] : last[c]]
        away = scaled[members].mean(axis=0) - mean
        away = np.where(varies, away / np.where(varies, spread, 1.0), 0.0)
        top = np.argsort(-np.abs(away), kind="stable")[:_MOST_COLUMNS]
        found[c] = [
            tag.span(
                *_said(names[j], float(away[j])), *_in_units(report, members, j), class_="high"
            )
            for j in top.tolist()
            if abs(away[j]) >= _LEAST
        ]
    return found


def _said(name: str, away: float) -> list[Any]:
    """Say how far a cluster is out in a column, as one would."""
    column, _, level = name.rpartition("=")
    if column and level:  # made of a word in a column
        return [word(f"{column} is {level}" if away > 0 else f"{column} is not {level}")]
    if name.endswith(" is missing"):
        return [word(name if away > 0 else f"{name.removesuffix(' is missing')} is there")]
    degree = next(said for least, said in _DEGREES if abs(away) >= least)
    return [word(name), f" {degree}{'high' if away > 0 else 'low'}"]


def _in_units(report: Report, members: NDArray[np.int64], j: int) -> list[Any]:
    """Give the mean in units of the column, beside that of all rows."""
    if report.original is None:
        return []
    values = report.original[:, j]
    with np.errstate(over="ignore", invalid="ignore"):
        here, everywhere = float(values[members].mean()), float(values.mean())
    if not np.isfinite([here, everywhere]).all():
        return []
    return [tag.small(f" (mean {here:.3g}, all rows {everywhere:.3g})")]


def terms_of(
    texts: Sequence[str], clusters: Clusters, listed: NDArray[np.int64]
) -> dict[int, list[str]]:
    r"""Words that more rows of a cluster have than other rows do, the surest first.

    With y rows of the cluster that have a word and y' others, of m and m', and as many counted in
    advance as all rows have, a word's log-odds ratio has the standard score

    .. math:: z = \left(\log\frac{y + a}{m + n - y - a} - \log\frac{y' + a}{m' + n - y' - a}\right)
       \Big/ \sqrt{\frac{1}{y + a} + \frac{1}{y' + a}}

    for a of n rows with the word (B. L. Monroe, M. P. Colaresi and K. M. Quinn, "Fightin' words",
    Political Analysis 16, 2008). Words that are everywhere, in any language, score nothing.
    """
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(
        binary=True, token_pattern=r"(?u)\b[^\W\d][\w'\u2019-]*\w\b", max_features=_MOST_KNOWN
    )
    try:
        has = counter.fit_transform([plain(text, None) for text in texts]).astype(np.float64)
    except ValueError:  # no words at all
        return {c: [] for c in listed.tolist()}
    names, n = counter.get_feature_names_out(), len(texts)
    prior = np.asarray(has.sum(axis=0)).ravel()
    found = {}
    for c in listed.tolist():
        members = np.flatnonzero(clusters.position == c)
        own, m = np.asarray(has[members].sum(axis=0)).ravel(), len(members)
        rest = prior - own
        # One more row of each kind: a word that all rows have is not infinitely probable.
        odds = np.log((own + prior + 1) / (m + n - own - prior + 1))
        odds -= np.log((rest + prior + 1) / (n - m + n - rest - prior + 1))
        score = odds / np.sqrt(1 / (own + prior + 1) + 1 / (rest + prior + 1))
        score[own < min(2, m)] = 0.0  # of one row alone
        top = np.argsort(-score, kind="stable")[:_MOST_TERMS]
        found[c] = [str(names[j]) for j in top.tolist() if score[j] > _CERTAIN]
    return found
