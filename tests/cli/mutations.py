"""Files and options changed at random, through the commands, in one process.

``python -m tests.cli.mutations 1000 --first 0`` makes a thousand trials and tells of each that ends
in a traceback. A trial is its number: ``trial(folder, 17)`` is the same everywhere.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import json
import signal
import sys
import tempfile
import traceback
import typing
import warnings
from contextlib import chdir
from functools import cache
from pathlib import Path

import numpy as np
import typer.testing
from tests.cli.broken_files import GOOD, GOOD_CSV, GOOD_LINKS, GOOD_NPY
from tests.models.cases import packed, unpacked
from tests.models.changes import EVERY, changed, with_other_field, without_field
from typer.main import get_command
from typer.testing import CliRunner

from linkshift.cli.app import app

SECONDS = 600  # of which a dozen rows take one, and compiling takes the rest

# Methods and what they need, for a dozen rows of two columns.
METHODS = {
    "mean-shift": ["--bandwidth", "1"],
    "cms": ["--links", "good.csv"],
    "consensus": [],
    "kernel": ["--n-neighbors", "4"],
    "skms": ["--links", "good.csv", "--n-neighbors", "4"],
    "metric": ["--links", "good.csv", "--n-neighbors", "4"],
    "groups": ["--clusters", "2", "--view", "a=x", "--view", "b=y"],
}
OPTIONS = (
    *(("--scale", scale) for scale in ("none", "standard", "minmax")),
    *(("--bandwidth", text) for text in ("1e-300", "1e300", "0.5", "links", "nan", "-1", "x")),
    *(("--kernel", name) for name in ("flat", "gaussian", "epanechnikov", "truncated_gaussian")),
    *(("--n-neighbors", k) for k in ("1", "3", "11", "12", "0")),
    *(("--clusters", k) for k in ("1", "2", "11", "12", "13", "999999999999")),
    *(("--max-clusters", k) for k in ("1", "3", "12")),
    *(("--space", space) for space in ("kernel", "graph")),
    *(("--max-iter", n) for n in ("1", "2", "300")),
    ("--metric", "cosine"),
    ("--conflicts", "refuse"),
    ("--id-column", "name"),
    ("--id-column", "x"),
    ("--labels-column", "y"),
    ("--labels-column", "name"),
    ("--weights", "x"),
    ("--weights", "name"),
    ("--columns", "x"),
    ("--columns", "x,y,name"),
    ("--no-header",),
    ("--view", "a=x"),
    ("--seed", "4294967295"),
    ("--json",),
    ("--save", "saved.npz"),
    ("--report", "page.html"),
)
CELLS = (
    *("", "nan", "inf", "-inf", "1e308", "-1e308", "1e200", "1e-320", "1e-33", "-0.0", "0", "007"),
    *(
        "9" * 40,
        "1e999",
        "0x10",
        "1_000",
        "1,5",
        "True",
        "None",
        "s0",
        "\N{GRINNING FACE}",
        "a\u0308",
    ),
    *(
        '"',
        "''",
        "\t",
        "\0",
        "=1+1",
        "2024-01-01",
        " ",
        "must",
        "cannot",
        "0.5",
        "468.0",
        "-1",
        "12",
    ),
)
AWKWARD = (
    *(cell.encode() for cell in CELLS),
    *(b"\r", b"\n", b",", b";", b"\xef\xbb\xbf", b"\xff"),
)


def bytes_changed(rng: np.random.Generator, content: bytes) -> bytes:
    """Flip bits, cut, insert, delete, repeat or put in awkward pieces."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(len(data) + 1))
        match rng.integers(6):
            case 0 if at < len(data):
                data[at] ^= 1 << int(rng.integers(8))
            case 1:
                del data[at:]
            case 2:
                data[at:at] = rng.bytes(int(rng.integers(1, 9)))
            case 3:
                del data[at : at + int(rng.integers(1, 20))]
            case 4:
                data[at:at] = data[at : at + int(rng.integers(1, 60))]
            case _:
                data[at:at] = AWKWARD[rng.integers(len(AWKWARD))]
    return bytes(data)


def cells_changed(rng: np.random.Generator, content: bytes) -> bytes:
    """Change cells, rows and columns of a table of text, which then often is a table still."""
    rows = [line.split(",") for line in content.decode().splitlines()]
    for _ in range(rng.integers(1, 4)):
        i, j = int(rng.integers(len(rows))), int(rng.integers(len(rows[0])))
        cell = CELLS[rng.integers(len(CELLS))]
        match rng.integers(7):
            case 0:  # a column of one value
                rows[1:] = [[*row[:j], cell, *row[j + 1 :]] for row in rows[1:]]
            case 1:
                rows.insert(i, list(rows[i]))
            case 2 if len(rows) > 1:
                del rows[i]
            case 3:
                rows[1:] = [rows[1] if len(rows) > 1 else rows[0]] * len(rows[1:])
            case 4:
                rows[i].append(cell)
            case _:
                rows[i][min(j, len(rows[i]) - 1)] = cell
    return "\n".join(",".join(row) for row in [*rows, []]).encode()


def numbers_changed(rng: np.random.Generator) -> bytes:
    """A table of numbers that a method may find hard: large, small, equal, far."""
    X = rng.normal(size=(int(rng.integers(1, 14)), int(rng.integers(1, 4))))
    for _ in range(rng.integers(1, 4)):
        i, j = rng.integers(X.shape[0]), rng.integers(X.shape[1])
        match rng.integers(6):
            case 0:
                X = np.clip(X, -1e140, 1e140) * 10.0 ** rng.integers(-320, 160)
            case 1:
                X[i, j] = 10.0 ** rng.integers(-320, 308)
            case 2:
                X[:] = X[i]
            case 3:
                X[:, j] = X[i, j]
            case 4:
                X = np.repeat(X, 2, axis=0)
            case _:
                X = np.round(X)
    lines = [",".join("xyz"[: X.shape[1]]), *(",".join(map(repr, row)) for row in X.tolist())]
    return "\n".join([*lines, ""]).encode()


def model_changed(rng: np.random.Generator, path: Path) -> None:
    """Change a model file on purpose: its arrays or its header, with a digest that fits."""

    def choose(options: typing.Sequence[typing.Any]) -> typing.Any:
        return options[int(rng.integers(len(options)))]

    header, arrays = unpacked(path)
    match rng.integers(5):
        case 0 | 1:
            name = choose(sorted(arrays))
            other = changed(arrays[name], choose(sorted(EVERY)))
            arrays |= {} if other is None else {name: other}
        case 2:
            header = choose([without_field, with_other_field])(header, choose)
        case _:  # what the command tells of the model
            about = dict(header["about"])
            for _ in range(rng.integers(1, 3)):
                simple = [None, True, -1, 2**70, 1.5, 0.0, "text", "", [], {}, [[]], [None], ["x"]]
                values = [*simple, *header["about"].values()]
                key, value = choose(sorted(about)), choose(values)
                held = about[key]
                if isinstance(held, list) and held and rng.integers(2):
                    held = list(held)
                    held[int(rng.integers(len(held)))] = value
                    value = held
                about[key] = value
            header = header | {"about": about}
    packed(path, header, arrays)


def call(*args: str) -> None:
    """Run a command: success, conflicts, or exit code 2 with a message; anything else raises."""
    result = CliRunner().invoke(app, list(args))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code == 2:
        assert "Error: " in result.stderr, args
        assert result.stdout == "", args
        assert len(result.stderr) < 3000, result.stderr
    else:
        assert result.exit_code in ((0, 1) if args[0] == "links" else (0,)), args
        if result.exit_code == 0 and "--json" in args:
            json.loads(result.stdout)
    left = [item.name for item in Path().iterdir() if ".tmp" in item.name]
    assert not left, left


def models(folder: Path) -> dict[str, Path]:
    """A model file of each method, made where there is none yet."""
    found = {method: folder / f"{method}.npz" for method in METHODS}
    with tempfile.TemporaryDirectory() as work, chdir(work):
        Path("good.csv").write_bytes(GOOD_LINKS)
        Path("t.csv").write_bytes(GOOD_CSV)
        for method, path in found.items():
            if not path.exists():
                by_row = "--links" in METHODS[method]
                ids = ["--scale", "standard"] if by_row else ["--id-column", "name"]
                save = ["-q", "-o", "out.csv", "--save", str(path)]
                call("cluster", "t.csv", "--method", method, *METHODS[method], *ids, *save)
    return found


def trial(folder: Path, number: int) -> None:
    """Change something, and use it in the commands that take it. Raises what they should not."""
    rng = np.random.default_rng([17, number])
    found = models(folder)
    methods = sorted(METHODS)
    method = methods[rng.integers(len(methods))]
    with tempfile.TemporaryDirectory() as work, chdir(work):
        Path("good.csv").write_bytes(GOOD_LINKS)
        Path("t.csv").write_bytes(GOOD_CSV)
        Path("t.npy").write_bytes(GOOD_NPY)
        model = Path("m.npz")
        model.write_bytes(found[method].read_bytes())
        some = [OPTIONS[i] for i in rng.integers(len(OPTIONS), size=rng.integers(3))]
        more = [word for option in some for word in option]
        names = sorted(GOOD)
        kind = ("bytes", "cells", "numbers", "links", "options", "model", "sealed")[number % 7]
        table = "t.csv"
        if kind == "bytes":
            table = names[rng.integers(len(names))]
            Path(table).write_bytes(bytes_changed(rng, GOOD[table]))
        elif kind == "cells":
            Path(table).write_bytes(cells_changed(rng, GOOD_CSV))
        elif kind == "numbers":
            Path(table).write_bytes(numbers_changed(rng))
        if kind in ("model", "sealed"):
            if kind == "model":
                model.write_bytes(bytes_changed(rng, model.read_bytes()))
            else:
                model_changed(rng, model)
            row = ("0", "11", "s3", "12", "-1", "")[rng.integers(6)]
            call("predict", "m.npz", "t.csv", "-q")
            call("explain", "m.npz", *(["--", row] if row.startswith("-") else [row]))
            return
        if kind == "links" or table.startswith("l"):
            file = table if table.startswith("l") else "l.csv"
            if kind == "links":
                Path(file).write_bytes(cells_changed(rng, GOOD_LINKS))
            call("links", "check", file)
            call("links", "check", file, "--data", "t.npy", "--json")
            needs = [file if word == "good.csv" else word for word in METHODS[method]]
            needs += [] if "--links" in needs else ["--links", file]
            call("cluster", "t.csv", "--method", method, *needs, "-q", *more)
            return
        call("links", "check", "good.csv", "--data", table)
        call("cluster", table, "--method", method, *METHODS[method], "-q", *more)
        if Path("saved.npz").exists():
            call("predict", "saved.npz", table, "-q")
            call("explain", "saved.npz", "0")
        if kind == "options":
            call("cluster", table, *more)
        else:
            call("predict", "m.npz", table, "-q")
            call("bandwidths", table, "-q", "--levels", "4")


def _late(*_: object) -> None:
    raise TimeoutError(f"more than {SECONDS} s")


def run(folder: Path, first: int, count: int) -> dict[str, list[int]]:
    """Make trials; return what went wrong, by what was raised where, with the numbers."""
    wrong: dict[str, list[int]] = {}
    models(folder)
    signal.signal(signal.SIGALRM, _late)
    # Typer builds all commands at each call, which takes longer than most refusals.
    built = typer.testing._get_command
    typer.testing._get_command = cache(get_command)
    try:
        for number in range(first, first + count):
            signal.alarm(SECONDS)
            faulthandler.dump_traceback_later(2 * SECONDS, exit=True)  # of a loop of C
            try:
                trial(folder, number)
            except Exception as error:
                ours = [
                    f for f in traceback.extract_tb(error.__traceback__) if "/src/" in f.filename
                ]
                place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno} " if ours else ""
                what = f"{place}{type(error).__name__}: {str(error)[:200]}"
                wrong.setdefault(what, []).append(number)
            finally:
                signal.alarm(0)
                faulthandler.cancel_dump_traceback_later()
    finally:
        typer.testing._get_command = built
    return wrong


def main() -> None:
    """Make trials from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    warnings.simplefilter("error")
    with tempfile.TemporaryDirectory() as folder:
        wrong = run(Path(folder), asked.first, asked.count)
    for what, numbers in sorted(wrong.items(), key=lambda item: -len(item[1])):
        print(f"{len(numbers):5}  {what}  (such as {numbers[0]})")
    print(f"{asked.count} trials, {sum(map(len, wrong.values()))} wrong")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        main()
