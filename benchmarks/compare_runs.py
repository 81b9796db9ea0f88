"""Say what became slower or worse: ``python -m benchmarks.compare_runs OLD NEW``.

OLD and NEW are files as ``python -m benchmarks.run`` writes them, or a baseline. Rows are matched
by what names them; compared are ratios whose two sides were measured in one run, and scores
(`benchmarks.columns` tells which), never seconds. Ends with 0, or 1 where something became slower
or worse or is gone, or 2 where the files cannot be compared.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import columns
from benchmarks.columns import Measure

SCHEMA = 1
BAD = ("ended early", "slower", "worse", "gone")
Record = dict[str, Any]
Rows = dict[tuple[Any, ...], dict[str, Any]]


class Tolerance(NamedTuple):
    """What is still no finding: so many times as slow, so much less of a score from 0 to 1."""

    ratio: float
    score: float


#: Measured: see "Benchmarks that notice" in docs/performance.md.
SAME_MACHINE = Tolerance(1.25, 0.02)
OTHER_MACHINE = Tolerance(1.6, 0.05)


class NotComparable(Exception):
    """Why two files cannot be compared, and what to do."""


class Finding(NamedTuple):
    """A difference, in a word and in words; ``row`` as `named` gives it."""

    kind: str
    suite: str
    row: tuple[Any, ...]
    words: str

    @property
    def text(self) -> str:
        """A line."""
        where = ", ".join(_cell_text(*part) for part in self.row)
        return ": ".join(part for part in (self.kind, self.suite, where, self.words) if part)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare_runs",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("old", type=Path, metavar="OLD")
    parser.add_argument("new", type=Path, metavar="NEW")
    add_tolerances(parser)
    parsed = parser.parse_args(arguments)
    try:
        old, new = read(parsed.old), read(parsed.new)
        findings = compare(old, new, tolerance_of(parsed, old, new))
        if not bad(findings) and not _count(old, new):
            raise NotComparable(
                f"Of {_listed(names(old) & names(new))} nothing is compared: seconds never are. "
                "Say in benchmarks/columns.py which columns are ratios and scores."
            )
    except NotComparable as reason:
        print(reason, file=sys.stderr)
        return 2
    print(report(old, new, findings, tolerance_of(parsed, old, new)))
    return int(bad(findings))


def add_tolerances(parser: argparse.ArgumentParser) -> None:
    for name, kind, meaning in (
        ("tolerance", _at_least_one, "times as slow that a ratio may become"),
        ("score-tolerance", _share, "by how much a score of 0 to 1 may fall"),
    ):
        field = 0 if name == "tolerance" else 1
        near, far = SAME_MACHINE[field], OTHER_MACHINE[field]
        words = f"{meaning} (default: {near}; on another processor or with other versions {far})"
        parser.add_argument(f"--{name}", type=kind, metavar="T", help=words)


def tolerance_of(parsed: argparse.Namespace, old: Record, new: Record) -> Tolerance:
    """Take what is asked for, and otherwise what fits the two machines."""
    usual = OTHER_MACHINE if other_machine(old, new) else SAME_MACHINE
    return Tolerance(
        usual.ratio if parsed.tolerance is None else parsed.tolerance,
        usual.score if parsed.score_tolerance is None else parsed.score_tolerance,
    )


def _at_least_one(text: str) -> float:
    value = float(text)
    if not 1 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is no such factor: give 1 or more, as 1.25")
    return value


def _share(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"{text} is no such share: give 0 to 1, as 0.02")
    return value


# --- reading ------------------------------------------------------------------------------------


def read(path: Path) -> Record:
    """Read a result file; what is none is refused."""
    remedy = "Give a file that `python -m benchmarks.run` wrote, or benchmarks/baseline.json."
    try:
        record = json.loads(path.read_text())
    except OSError as error:
        raise NotComparable(f"{path} cannot be read: {error.strerror}. {remedy}") from error
    except ValueError as error:
        raise NotComparable(f"{path} is no JSON. {remedy}") from error
    if not isinstance(record, dict) or "schema" not in record:
        raise NotComparable(f"{path} is no result file. {remedy}")
    if record["schema"] != SCHEMA:
        raise NotComparable(
            f"{path} has format {record['schema']}, this program reads {SCHEMA}. Run it anew with "
            "the present sources, or compare with the sources that wrote it."
        )
    if missing := {"suites", "options", "environment"} - record.keys():
        raise NotComparable(f"{path} has no {', '.join(sorted(missing))}. {remedy}")
    return record


def check(old: Record, new: Record) -> None:
    """Refuse files that were not made alike."""
    again = f"Run it as the old one was: `{command(old)}`."
    for name in sorted(old["options"].keys() | new["options"].keys()):
        one, other = (record["options"].get(name) for record in (old, new))
        if one != other:
            raise NotComparable(f"The old file has {name} {one}, the new one {other}. {again}")
    one, other = (record.get("variables") for record in (old, new))
    if one is not None and other is not None and one != other:  # files of before do not tell
        raise NotComparable(
            f"The old file has {one or 'no variables'}, the new one {other}. {again}"
        )
    if not names(old) & names(new):
        raise NotComparable(
            f"The old file has {_listed(names(old))}, the new one {_listed(names(new))}: no suite "
            f"is in both. {again}"
        )


def command(record: Record) -> str:
    """How a file was made, as far as it tells."""
    options = record["options"]
    given = [f"{name}={value}" for name, value in (record.get("variables") or {}).items()]
    given += ["python -m benchmarks.run", *(suite["name"] for suite in record["suites"])]
    given.append(f"--{options['size']}")
    if options.get("asked"):
        given.append(f"--repeats {options['repeats']}")
    return " ".join([*given, f"--seed {options['seed']}"])


def names(record: Record) -> set[str]:
    """Suites of a file."""
    return {suite["name"] for suite in record["suites"]}


def named(rows: Sequence[Mapping[str, Any]]) -> Rows:
    """Cells of rows by what names them; those named alike are counted."""
    found: Rows = {}
    times: Counter[tuple[Any, ...]] = Counter()
    for row in rows:
        if row["cells"].get("table") == "left out":
            continue
        key = columns.key(row["cells"])
        times[key] += 1
        found[(*key, ("", times[key])) if times[key] > 1 else key] = row["cells"]
    return found


# --- comparing ----------------------------------------------------------------------------------


def compare(old: Record, new: Record, tolerance: Tolerance) -> list[Finding]:
    """Give all that differs by more than the tolerance, and what is new or gone."""
    check(old, new)
    now = {suite["name"]: suite for suite in new["suites"]}
    before = {suite["name"]: suite for suite in old["suites"]}
    found = [
        Finding("not run", name, (), "is in the old file only") for name in before.keys() - now
    ]
    found += [Finding("new", name, (), "is in the new file only") for name in now.keys() - before]
    for name in (name for name in before if name in now):
        found += compare_suites(before[name], now[name], tolerance)
    return found


def compare_suites(old: Record, new: Record, tolerance: Tolerance) -> Iterator[Finding]:
    suite = new["name"]
    if new.get("error") and not old.get("error"):
        yield Finding("ended early", suite, (), new["error"].strip().splitlines()[-1])
    before, now = named(old["rows"]), named(new["rows"])
    for row in (row for row in before if row not in now and columns.measures(before[row])):
        yield Finding("gone", suite, row, "no such row any more")
    for row in (row for row in now if row not in before and columns.measures(now[row])):
        yield Finding("new", suite, row, "no such row before")
    for row in (row for row in before if row in now):
        figures, fresh = columns.measures(before[row]), columns.measures(now[row])
        for name in figures | fresh:
            measure, pair = (
                figures.get(name) or fresh[name],
                (before[row].get(name), now[row].get(name)),
            )
            if said := difference(name, measure, *pair, tolerance):
                yield Finding(said[0], suite, row, said[1])


def difference(
    name: str, measure: Measure, old: Any, new: Any, tolerance: Tolerance
) -> tuple[str, str] | None:
    """Say what became of one figure, if that is more than may be."""
    had, has = (_is_number(value, measure) for value in (old, new))
    if not has:
        return ("gone", f"{name} was {old:.3g}, now there is none") if had else None
    if not had:
        return "new", f"{name} {new:.3g}, there was none"
    change = f"{name} {old:.3g} -> {new:.3g}"
    if measure.kind == "truth":
        return None if old == new else ("worse" if old else "better", f"{name}: {old} -> {new}")
    if measure.kind == "ratio":
        slower = old / new if measure.more_is_good else new / old
        if slower > tolerance.ratio:
            return "slower", f"{change}: {slower:.2f} times as slow, {tolerance.ratio:g} may be"
        faster = 1 / slower > tolerance.ratio
        return ("faster", f"{change}: {1 / slower:.2f} times as fast") if faster else None
    fall = (old - new if measure.more_is_good else new - old) / measure.whole
    if fall > tolerance.score + 1e-12:  # what is printed as equal to it is no finding
        return "worse", f"{change}: {fall:.3f} worse, {tolerance.score:g} may be"
    return ("better", f"{change}: {-fall:.3f} better") if -fall > tolerance.score else None


def _is_number(value: Any, measure: Measure) -> bool:
    if value is None or isinstance(value, str) or not math.isfinite(value):
        return False
    return measure.kind != "ratio" or value > 0


def bad(findings: Sequence[Finding]) -> bool:
    """Tell whether any of them is no good."""
    return any(finding.kind in BAD for finding in findings)


# --- saying -------------------------------------------------------------------------------------


def report(old: Record, new: Record, findings: Sequence[Finding], tolerance: Tolerance) -> str:
    """All of it in words, the worst first."""
    order = [*BAD, "not run", "better", "faster", "new"]
    lines = [
        finding.text for finding in sorted(findings, key=lambda f: (order.index(f.kind), f.text))
    ]
    if other := other_machine(old, new):
        lines.append(f"Another machine: {'; '.join(other)}.")
    lines += [f"Not compared in {name}: {'; '.join(some)}." for name, some in _left_alone(new)]
    lines += [
        _left_out(row) for suite in new["suites"] for row in suite["rows"] if _is_left_out(row)
    ]
    count = _count(old, new)
    counted = Counter(finding.kind for finding in findings)
    told = ", ".join(f"{counted[kind]} {kind}" for kind in order if counted[kind])
    lines.append(
        f"{count} figures compared, ratios within {tolerance.ratio:g} times, scores within "
        f"{tolerance.score:g}: {told or 'nothing to tell'}."
    )
    return "\n".join(lines)


def other_machine(old: Record, new: Record) -> list[str]:
    """Say what ratios hang on and differs; empty where both files are of one machine."""
    one, two = (_surroundings(record["environment"]) for record in (old, new))
    return [
        f"{name} {one.get(name, 'unknown')} -> {two.get(name, 'unknown')}"
        for name in dict.fromkeys([*one, *two])
        if one.get(name) != two.get(name)
    ]


def _surroundings(environment: Mapping[str, Any]) -> dict[str, Any]:
    machine = {name: environment.get(name) for name in ("cpu", "compiled for", "cores", "python")}
    versions = dict(environment.get("versions", {}))
    versions.pop("linkshift", None)  # what is looked at
    return {name: value for name, value in (machine | versions).items() if value is not None}


def _count(old: Record, new: Record) -> int:
    before = {suite["name"]: named(suite["rows"]) for suite in old["suites"]}
    return sum(
        len(columns.measures(cells))
        for suite in new["suites"]
        for row, cells in named(suite["rows"]).items()
        if row in before.get(suite["name"], ())
    )


def _left_alone(record: Record) -> Iterator[tuple[str, list[str]]]:
    for suite in record["suites"]:
        rows = [row["cells"] for row in suite["rows"] if not _is_left_out(row)]
        compared = {name for cells in rows for name in columns.measures(cells)}
        some = [name for cells in rows for name in columns.left_alone(cells)]
        if some := [name for name in dict.fromkeys(some) if name not in compared]:
            yield suite["name"], some


def _is_left_out(row: Mapping[str, Any]) -> bool:
    return bool(row["cells"].get("table") == "left out" or row["cells"].get("part") == "left out")


def _left_out(row: Mapping[str, Any]) -> str:
    cells = row["cells"]
    return (
        f"Left out of the new file: {cells.get('what') or cells.get('data')}: {cells.get('why')}."
    )


def _cell_text(name: str, value: Any) -> str:
    if not name:
        return f"no. {value}"
    return str(value) if isinstance(value, str) else f"{name} {value}"


def _listed(some: set[str]) -> str:
    return ", ".join(sorted(some)) or "none"


if __name__ == "__main__":
    sys.exit(main())
