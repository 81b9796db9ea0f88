"""Whole fits and a session's questions beside fixed work: ratios that carry over to other machines.

The work is here and never changes, so that a ratio moves only when linkshift does, or what it
stands on. It is compiled by the same numba for the same processor, or a mixture of Python and
NumPy, as what it is beside: a busy or slow machine hurts both alike. Neither NumPy's products nor
C would do: what they gain by wider registers is not what compiled loops gain. Every row is one
thread; the least processor time of several rounds counts, in which both sides take turns.
``python -m benchmarks.bench_check`` compares the ratios with those that were committed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numba
import numpy as np
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks.auto.sets import embed, table
from benchmarks.harness import Array, Options, Row, blobs, interleave
from linkshift import ConstrainedMeanShift, Links, MeanShift, Session, cluster
from linkshift.bandwidth import default_bandwidth
from linkshift.datasets import make_moons
from linkshift.profiles import Profile

TITLE = (
    "processor time of one thread beside fixed work: loop is a compiled loop that branches, lanes "
    "has one that is vectorised beside it, mixed is Python, NumPy and a loop"
)
N_LINKS = 100
QUESTIONS = 20
_LANES = 64
_RAW = np.random.default_rng(0)
_POINTS = _RAW.random((4000, 2))
_VALUES = _RAW.random(150_000)


class Job(NamedTuple):
    """What is timed: ``run`` gives labels of rows whose classes are ``y``."""

    what: str
    yardstick: str
    y: Array
    d: int
    run: Callable[[], Array]


def run(options: Options) -> Iterator[Row]:
    rounds = options.rounds(1, 7, 15)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for make in JOBS:
            yield measure(make(options, rounds + 1), rounds, options)


def measure(job: Job, rounds: int, options: Options) -> Row:
    sides: dict[str, Callable[[], Any]] = {
        "ours": job.run,
        "yardstick": partial(YARDSTICKS[job.yardstick], options.pick(200, 4000, 4000)),
    }
    for side in sides.values():
        side()  # compile outside the clock
    times, results = interleave(sides, rounds, budget=options.budget(60.0))
    ours, fixed = (min(times[side].cpu) for side in sides)
    return Row(
        {
            "what": job.what,
            "n": len(job.y),
            "d": job.d,
            "yardstick": job.yardstick,
            "ours, CPU s": ours,
            "yardstick, CPU s": fixed,
            "ours/yardstick": ours / fixed,
            "ARI": adjusted_rand_score(job.y, results["ours"]),
        },
        times,
    )


# --- what is timed ------------------------------------------------------------------------------


def flat(options: Options, _: int) -> Job:
    X, y = blobs(options.pick(200, 6000, 6000), 3, seed=options.seed)
    h = default_bandwidth(X, Profile("flat"))
    model = MeanShift(bandwidth=h, landmarks=None, n_jobs=1)
    return Job("MeanShift, flat", "loop", y, 3, partial(model.fit_predict, X))


def gaussian(columns: int, options: Options, _: int) -> Job:
    X, y = blobs(options.pick(200, 3000, 3000), columns, n_centers=20, seed=options.seed)
    h = default_bandwidth(X, Profile("gaussian"))
    model = MeanShift(bandwidth=h, kernel="gaussian", landmarks=None, n_jobs=1)
    return Job("MeanShift, gaussian", "lanes", y, columns, partial(model.fit_predict, X))


def constrained(options: Options, _: int) -> Job:
    X, y = make_moons(options.pick(60, 500, 500), noise=0.08, random_state=options.seed)
    links = Links.sample(y, N_LINKS, random_state=options.seed)
    model = ConstrainedMeanShift(landmarks=None, n_jobs=1)
    return Job("ConstrainedMeanShift", "loop", y, 2, partial(model.fit_predict, X, links=links))


def automatic(linked: bool, options: Options, _: int) -> Job:
    X, y = _topics(options)
    links = Links.sample(y, N_LINKS, random_state=options.seed) if linked else None
    name = f"cluster, {N_LINKS} links" if linked else "cluster, no links"
    side = partial(cluster, X, links, random_state=options.seed, n_jobs=1)
    return Job(name, "mixed", y, X.shape[1], lambda: side().labels)


def first_question(options: Options, _: int) -> Job:
    X, y = _topics(options)

    def side() -> Array:
        session = Session(X, random_state=options.seed, n_jobs=1)
        session.ask()
        return session.labels_

    return Job("Session, first question", "mixed", y, X.shape[1], side)


def questions(options: Options, times: int) -> Job:
    """Answer, ask and label; a session is used up by it, so that there is one for each round."""
    X, y = _topics(options)
    waiting = [Session(X, random_state=options.seed, n_jobs=1) for _ in range(times)]
    for session in waiting:
        session.ask()

    def side() -> Array:
        session = waiting.pop()
        labels = session.labels_
        for _ in range(QUESTIONS):
            question = session.ask()
            session.answer("same" if y[question.a] == y[question.b] else "different")
            labels = session.labels_
        return labels

    return Job(f"Session, {QUESTIONS} questions", "mixed", y, X.shape[1], side)


def _topics(options: Options) -> tuple[Array, Array]:
    return table(*embed(options.pick(100, 500, 500), options.seed, 64))


JOBS: tuple[Callable[[Options, int], Job], ...] = (
    flat,
    partial(gaussian, 2),
    partial(gaussian, 5),
    constrained,
    partial(automatic, False),
    partial(automatic, True),
    first_question,
    questions,
)


# --- fixed work ---------------------------------------------------------------------------------
# Not by linkshift's decorator: what changes there has to show in the ratios.


@numba.njit(fastmath={"contract"}, error_model="numpy")  # noqa: TID251
def _near(points, sums):  # type: ignore[no-untyped-def]
    for i in range(points.shape[0]):
        total = 0.0
        for j in range(points.shape[0]):
            across, along = points[i, 0] - points[j, 0], points[i, 1] - points[j, 1]
            u = across * across + along * along
            if u < 0.5:
                total += 1.0 - u
        sums[i] = total


@numba.njit(fastmath={"contract"}, error_model="numpy")  # noqa: TID251
def _weights(points, sums):  # type: ignore[no-untyped-def]
    """Lanes of starts; a polynomial in the place of an exponential."""
    x, y, total = np.empty(_LANES), np.empty(_LANES), np.empty(_LANES)
    for first in range(0, points.shape[0] - _LANES + 1, _LANES):
        for k in range(_LANES):
            x[k], y[k], total[k] = points[first + k, 0], points[first + k, 1], 0.0
        for j in range(points.shape[0]):
            across, along = points[j, 0], points[j, 1]
            for k in range(_LANES):
                u = (x[k] - across) ** 2 + (y[k] - along) ** 2
                part = 1 / 720 - u * (1 / 5040 - u * (1 / 40320 - u / 362880))
                part = 0.5 - u * (1 / 6 - u * (1 / 24 - u * (1 / 120 - u * part)))
                total[k] += 1.0 - u * (1.0 - u * part)
        for k in range(_LANES):
            sums[first + k] = total[k]


def loop(n: int) -> Array:
    sums = np.empty(n)
    _near(_POINTS[:n], sums)
    return sums


def lanes(n: int) -> Array:
    """Half lanes, half branches on a processor with AVX-512: so much hangs on lanes in ours."""
    sums = np.empty(n)
    for _ in range(5):
        _weights(_POINTS[:n], sums)
    return loop(n)


def mixed(n: int) -> float:
    counts: dict[int, float] = {}
    for i in range(40 * n):
        counts[i % 1000] = counts.get(i % 1000, 0.0) + 1.5 * i
    values = _VALUES[: 37 * n]
    ordered = float(np.exp(values[np.argsort(values)]).cumsum()[-1])
    return counts[0] + ordered + float(loop(n).sum())


YARDSTICKS: dict[str, Callable[[int], Any]] = {"loop": loop, "lanes": lanes, "mixed": mixed}
