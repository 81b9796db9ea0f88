"""The parts of the benchmark: both halves, wrong answers, published links, scales, speed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks import report
from benchmarks.auto import tables
from benchmarks.auto.draws import KINDS, answered, draw_pairs
from benchmarks.auto.methods import METHODS, Bases, Score, automatic, constrained, score
from benchmarks.auto.sets import (
    HALVES,
    PCCC,
    QUICK,
    TINY,
    as_it_comes,
    embed,
    is_here,
    load,
    table,
)
from benchmarks.auto.tables import Case, Key
from benchmarks.harness import Cell, Options, Row, interleave, named
from linkshift import Links, datasets

NUMBERS = (10, 50, 200, 1_000)
SHARES = (0.0, 0.05, 0.1, 0.2)  # of wrong answers
WRONG_LINKS = 200
WRONG_METHODS = ("auto", "leiden")
PCCC_SIZES = ("05", "10", "15", "20")
PCCC_SIDES = {"auto": automatic, "cms": constrained}
SCALES = ("auto", "standard", "none", "minmax")
NOTHING = Case("none", 0)


def half(which: str, options: Options) -> Iterator[Row]:
    """Every method on every set of a half, for each kind and number of links."""
    numbers = options.pick(NUMBERS[:1], NUMBERS[:3], NUMBERS)
    cases = [NOTHING, *(Case(kind, m) for kind in KINDS for m in numbers)]
    methods = yield from _installed(tuple(METHODS))
    scores: dict[Key, Score] = {}
    widths = {}
    for name in (yield from _here(which, options)):
        bases = _bases(name, options)
        widths[name] = bases.X.shape[1]
        for case in cases:
            for draw in _draws(options) if case.n_links else range(1):
                near = bases.near if case.kind == "near" else None
                pairs = draw_pairs(len(bases.y), case.n_links, options.seed + draw, near)
                key = Key(name, case, draw, "")
                scores |= _scores(bases, answered(pairs, bases.y), key, methods)
            yield tables.set_row(which, name, scores, case, methods)
    if widths:
        yield from tables.summary(which, scores, cases, methods, widths)


def wrong(options: Options) -> Iterator[Row]:
    """Two hundred answers of which a share is wrong, all at confidence one."""
    n_links = options.pick(20, WRONG_LINKS, WRONG_LINKS)
    cases = {share: Case(f"random, {share:.0%} wrong", n_links) for share in SHARES}
    methods = yield from _installed(WRONG_METHODS)
    for which in HALVES:
        scores: dict[Key, Score] = {}
        names = yield from _here(which, options)
        for name in names:
            bases = _bases(name, options)
            for share, case in cases.items():
                for draw in _draws(options):
                    seed = options.seed + draw
                    pairs = draw_pairs(len(bases.y), n_links, seed)
                    links = answered(pairs, bases.y, wrong=share, seed=seed)
                    scores |= _scores(bases, links, Key(name, case, draw, ""), methods)
                yield tables.set_row(which, name, scores, case, methods)
        for case in cases.values() if names else ():
            cells = tables.mean_cells(scores, case, methods)
            refused = tables.refused_cells(scores, case, methods)
            cells = {"sets": len(names), **cells, **refused}
            yield tables.row("ARI with wrong answers", which, case, **cells)


def pccc(options: Options) -> Iterator[Row]:
    """Links as published by Baumann and Hochbaum (2024), told the number of classes and not.

    "P %" is all pairs among so many rows in a hundred. ARI, and certain links that are broken.
    """
    wanted = _named_sets(PCCC, options.pick(PCCC[-1:], PCCC, PCCC))
    methods = named("LINKSHIFT_AUTO_METHODS", [*METHODS], [*PCCC_SIDES])
    sides: dict[str, Callable[[Bases, Links], Score]] = {}
    for method in [method for method in methods if method in PCCC_SIDES]:
        sides |= {method: partial(_published, method), f"{method}, k": partial(_told, method)}
    found: dict[tuple[str, str], list[Score]] = {}
    for name in (yield from _skip_absent(wanted)):
        stored = datasets.load(name)
        bases = Bases(table(stored.X, stored.y), options.seed)
        for size in PCCC_SIZES[: options.pick(1, 2, None)]:
            given = Links(
                must=stored.extras[f"must_{size}"].astype(np.int64),
                cannot=stored.extras[f"cannot_{size}"].astype(np.int64),
                n_samples=len(bases.y),
            )
            scores = {side: run(bases, given) for side, run in sides.items()}
            for side, one in scores.items():
                found.setdefault((side, size), []).append(one)
            yield _pccc_row(name, size, {side: [one] for side, one in scores.items()})
    for size in PCCC_SIZES:
        mine = {side: found[side, size] for side in sides if (side, size) in found}
        if mine:
            yield _pccc_row("all", size, mine)


def _published(method: str, bases: Bases, links: Links) -> Score:
    return score(partial(PCCC_SIDES[method], bases, links), bases.y, links)


def _told(method: str, bases: Bases, links: Links) -> Score:
    run = partial(PCCC_SIDES[method], bases, links, n_clusters=bases.n_classes)
    return score(run, bases.y, links)


def _pccc_row(name: str, size: str, scores: dict[str, list[Score]]) -> Row:
    """Mean ARI and number of broken links; a method that is not served with k has no figure."""
    cells: dict[str, Cell] = {"table": "published links", "set": name, "size": f"{size} %"}
    for side, ones in scores.items():
        if any(one.refused for one in ones):
            cells[f"{side} refused"] = sum(one.refused for one in ones)
            continue
        aris = [one.ari for one in ones]
        cells[side] = float(np.mean(aris))
        if len(aris) > 1:
            cells[f"± {side}"] = tables.standard_error(aris)
        cells[f"{side} broken"] = sum(one.broken for one in ones)
    return Row(cells)


def scale(options: Options) -> Iterator[Row]:
    """Columns as they come, under each scale that `linkshift.cluster` has."""
    cases = [NOTHING, *(Case("random", m) for m in options.pick((), (50,), (50, 200)))]
    for which in HALVES:
        scores: dict[Key, Score] = {}
        names = yield from _here(which, options)
        for name in names:
            bases = Bases(as_it_comes(name, options.seed, options.pick(60, 300, None)))
            for case in cases:
                for draw in _draws(options) if case.n_links else range(1):
                    seed = options.seed + draw
                    pairs = draw_pairs(len(bases.y), case.n_links, seed)
                    links = answered(pairs, bases.y)
                    for kind in SCALES:
                        run = partial(automatic, bases, links, scale=kind)
                        scores[Key(name, case, draw, kind)] = score(run, bases.y, links)
                yield tables.set_row(which, name, scores, case, SCALES)
        for case in cases if names else ():
            cells = tables.mean_cells(scores, case, SCALES)
            yield tables.row("ARI by scale", which, case, sets=len(names), **cells)


def speed(options: Options) -> Iterator[Row]:
    """Seconds of auto on all cores, without links and with 200."""
    sizes = options.pick([(100, 8)], [(2_000, 384)], [(2_000, 384), (20_000, 384), (20_000, 10)])
    for n, n_columns in sizes:
        bases = Bases(table(*embed(n, options.seed, n_columns)), options.seed)
        for n_links in (0, options.pick(20, 200, 200)):
            links = answered(draw_pairs(n, n_links, options.seed), bases.y)
            first = Bases(table(bases.X[:200], bases.y[:200]))
            automatic(first, answered(draw_pairs(100, min(n_links, 50), 0), first.y))  # compiles
            sides = {"auto": partial(automatic, bases, links)}
            times, found = interleave(sides, options.repeats, budget=options.budget(60.0))
            cells: dict[str, Cell] = {
                "table": "seconds",
                "kind": "random" if n_links else "none",
                "links": n_links,
                "rows": n,
                "columns": n_columns,
                "wall s": round(times["auto"].best, 2),
                "CPU s": round(min(times["auto"].cpu), 2),
                "auto": float(adjusted_rand_score(bases.y, found["auto"])),
            }
            yield Row(cells, times)


PARTS: dict[str, Callable[[Options], Iterator[Row]]] = {
    "seen": partial(half, "seen"),
    "unseen": partial(half, "unseen"),
    "wrong": wrong,
    "pccc": pccc,
    "scale": scale,
    "speed": speed,
}


# --- what is measured ---------------------------------------------------------------------------


def _installed(methods: Sequence[str]) -> Generator[Row, None, list[str]]:
    """Those of the methods that are asked for and can run; a row for each that cannot."""
    asked = named("LINKSHIFT_AUTO_METHODS", [*METHODS], methods)
    asked = [method for method in asked if method in methods]
    for method in asked:
        if absent := METHODS[method].absent:
            why = f"no module {' or '.join(absent)}; pip install linkshift[rivals]"
            yield Row({"table": "left out", "what": method, "why": why})
    return [method for method in asked if not METHODS[method].absent]


def _here(which: str, options: Options) -> Generator[Row, None, list[str]]:
    """Those sets of a half that are here; a row for each that is not."""
    default = options.pick(TINY[which], QUICK[which], HALVES[which])
    return (yield from _skip_absent(_named_sets(HALVES[which], default)))


def _named_sets(known: Sequence[str], default: Sequence[str]) -> list[str]:
    """Those of the known sets that are asked for."""
    every = dict.fromkeys([*HALVES["seen"], *HALVES["unseen"], *PCCC])
    return [name for name in named("LINKSHIFT_AUTO_SETS", [*every], default) if name in known]


def _skip_absent(names: Sequence[str]) -> Generator[Row, None, list[str]]:
    absent = [name for name in names if not is_here(name)]
    for name in absent:
        why = f"no file {name}.npz in the folder that LINKSHIFT_DATA names"
        yield Row({"table": "left out", "what": name, "why": why})
    return [name for name in names if name not in absent]


def _bases(name: str, options: Options) -> Bases:
    return Bases(load(name, options.seed, options.pick(60, 300, None)), options.seed)


def _draws(options: Options) -> range:
    return range(options.rounds(1, 1))


def _scores(bases: Bases, links: Links, of: Key, methods: Sequence[str]) -> dict[Key, Score]:
    """Run the methods on one draw, and say so."""
    kind = of.case.kind.partition(",")[0]
    found = {}
    for method in methods:
        if METHODS[method].tried(kind, links):
            run = partial(METHODS[method].labels, bases, links)
            found[of._replace(method=method)] = score(run, bases.y, links)
    line = report.line_text({key.method: one.ari for key, one in found.items()})
    print(
        f"{of.name}, {of.case.n_links} {kind}, draw {of.draw}: {line}", file=sys.stderr, flush=True
    )
    return found
