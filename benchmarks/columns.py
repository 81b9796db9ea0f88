"""What the columns of result files mean: which ones name a row, and which can be compared.

Compared are ratios of processor time, both sides of which were measured in one run, and scores.
Never seconds: they tell of the machine. A column that no rule knows is not compared, and
`compare_runs` says so: a new suite's ratios and scores get a rule here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

Cells = Mapping[str, Any]


class Measure(NamedTuple):
    """A figure that is compared: of which kind, whether more of it is good, and what is whole."""

    kind: Literal["ratio", "score", "truth"]
    more_is_good: bool = True
    whole: float = 1.0


RATIO, COST = Measure("ratio"), Measure("ratio", more_is_good=False)
SCORE, LOSS = Measure("score"), Measure("score", more_is_good=False)
PERCENT, PERCENT_WRONG = Measure("score", whole=100.0), Measure("score", False, 100.0)
TRUTH = Measure("truth")

#: Numbers that say which row it is. Texts do, too, but for `_TOLD`.
_KEYS = re.compile(
    r"n|d|rows|columns|links|landmarks|answers|people|questions|classes|bases|strokes|size"
    r"|draws?|sets|runs|repeats|splits|before|path_merge|bin_size|n exact"
)
_TOLD = re.compile(r"why|worst set|there|told k|refused|perfect|parameters|estimate at .*|wanted")
#: Never compared, also where every number of a table is a score.
_NEVER = re.compile(r"± .*|.*(refused|broken|needed|wanted|paper|thesis).*|.*\b(m?s|CPU|MB)\b")
#: Tables with a column for each method or number of questions: all of them are scores.
_SCORES = re.compile(
    r"by set|ARI|ARI by columns|ARI by scale|ARI with wrong answers|ARI by set|named sets"
    r"|published links|mean ARI|mean NMI|what can be reached(, mean)?"
)
_RULES = {  # the first that fits
    r"ratio of CPU|times less CPU|times faster(, one start)?": RATIO,
    r"ours/(C|NumPy|yardstick)|CPU to out of core": COST,
    r"(labelled |raw |new )?(ARI|NMI)( ours| to .*)?|ours(, one start)?, ARI": SCORE,
    r"precision|recall|least|fidelity|AUC told|(covering|PRI)(, others)?": SCORE,
    r"share that differs|unexplained|VI(, others)?": LOSS,
    r"ACC %": PERCENT,
    r"error %|ours %": PERCENT_WRONG,
    r"same .*|the same labels .*|ok": TRUTH,
}


def key(cells: Cells) -> tuple[tuple[str, Any], ...]:
    """Give what names a row, by its columns."""
    return tuple(sorted((name, value) for name, value in cells.items() if names_row(name, value)))


def names_row(name: str, value: Any) -> bool:
    if isinstance(value, bool) or value is None or _measured(name, {}):
        return False
    if isinstance(value, str):
        return not _TOLD.fullmatch(name)
    return bool(_KEYS.fullmatch(name)) and math.isfinite(value)


def measures(cells: Cells) -> dict[str, Measure]:
    """Give what can be compared of a row."""
    found = {}
    for name, value in cells.items():
        measure = None if names_row(name, value) else _measured(name, cells)
        if measure and (measure is TRUTH) == isinstance(value, bool) and _counts(value):
            found[name] = measure
    return found


def left_alone(cells: Cells) -> list[str]:
    """Name the columns that are neither of the two."""
    compared = measures(cells)
    return [
        name
        for name, value in cells.items()
        if name not in compared and not names_row(name, value) and value is not None
    ]


def _measured(name: str, cells: Cells) -> Measure | None:
    for pattern, measure in _RULES.items():
        if re.fullmatch(pattern, name):
            return measure
    table = str(cells.get("table", ""))
    if _NEVER.fullmatch(name):
        return None
    if table == "share of certain links broken":
        return LOSS
    if _SCORES.fullmatch(table) or (table == "scores" and name.isdecimal()):
        return SCORE
    return None


def _counts(value: Any) -> bool:
    return isinstance(value, bool | int | float)
