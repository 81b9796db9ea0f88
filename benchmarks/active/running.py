"""Run strategies side by side, skip what the journal has."""

from __future__ import annotations

import time
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import NamedTuple

import numpy as np
from joblib import Parallel, cpu_count, delayed
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks.active.methods import METHODS
from benchmarks.active.oracle import Case, Oracle
from benchmarks.active.sets import load
from benchmarks.compare.journal import Journal, Record
from benchmarks.environment import find_data
from benchmarks.harness import Array, Cell

CHECKPOINTS = (0, 10, 20, 50, 100, 200)
TINY = (0, 10, 20)


class Task(NamedTuple):
    """One draw of rows, answers and luck on one set."""

    name: str
    case: Case
    draw: int
    seed: int
    most: int | None = None  # rows
    checkpoints: tuple[int, ...] = CHECKPOINTS

    @property
    def key(self) -> str:
        """Its name in the journal."""
        last = self.checkpoints[-1]
        return (
            f"{self.name}; {self.case.text}; draw {self.draw}; seed {self.seed}; {self.most}; "
            f"{last} questions"
        )


@dataclass(frozen=True)
class Score:
    """What a strategy did; lists go with the numbers of questions."""

    questions: list[int]
    ari: list[float]
    clusters: list[int]
    asked: int  # fewer than the last number where it wants to know no more
    rows: int
    classes: int
    cpu: float  # seconds of the processor for all of it, with one thread
    shown: int = 0  # rows, over all questions: two of a pair
    start: float = 0.0  # wall-clock seconds before the first question
    wall: list[float] = field(default_factory=list)  # of a question: median, 95 %, worst
    estimates: dict[str, list[float]] = field(default_factory=dict)  # value, low, high
    purposes: dict[str, int] = field(default_factory=dict)  # of its questions, where it tells them
    refused: str = ""  # why, where it was refused


class Scored(Record[Task, Score]):
    """What a strategy did on a draw."""

    @property
    def aris(self) -> dict[int, float]:
        """ARI by number of questions."""
        return dict(zip(self.score.questions, self.score.ari, strict=True))

    def cells(self) -> dict[str, Cell]:
        """All of it."""
        score = self.score
        aris: dict[str, Cell] = {str(count): ari for count, ari in self.aris.items()}
        rest: dict[str, Cell] = {
            "asked": score.asked,
            "shown": score.shown,
            "CPU s": score.cpu,
            "start s": score.start,
        }
        if score.wall:
            rest |= dict(zip(("median s", "95 % s", "worst s"), score.wall, strict=True))
        for purpose in score.purposes:
            rest[purpose] = score.purposes[purpose]
        for count, (value, low, high) in score.estimates.items():
            rest[f"estimate at {count}"] = f"{value:.3f} [{low:.3f}, {high:.3f}]"
        return {**self.about, "method": self.method, **aris, **rest, "refused": score.refused}


def scores(
    tasks: Sequence[Task],
    methods: Sequence[str],
    journal: Journal,
    fresh: Collection[str] | None = None,
) -> Iterator[Scored]:
    """Run every strategy on every task; the known ones come first.

    Where the ``fresh`` ones are named, only these are run.
    """
    todo: list[tuple[Task, str]] = []
    for task in tasks:
        for method in methods:
            known = journal.get(task.key, method)
            if known is None:
                if fresh is None or method in fresh:
                    todo.append((task, method))
            else:
                yield Scored(task, method, Score(**known))
    parallel = Parallel(n_jobs=cpu_count(), return_as="generator_unordered", batch_size=1)
    for one in parallel(delayed(run)(*which) for which in todo):
        journal.add(one.task.key, one.method, asdict(one.score))
        yield one


def run(task: Task, method: str) -> Scored:
    """Let a strategy ask, and judge its labels; one that refuses has one cluster."""
    find_data()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what the defaults lead to: that is the question
        X, y = load(task.name, task.seed + task.draw, task.most)
        oracle = Oracle(y, task.case, task.seed + task.draw)
        refused, begin = "", time.process_time()
        try:
            found = METHODS[method].run(X, oracle, task.checkpoints, task.seed + task.draw)
        except ValueError as error:
            found, refused = {}, str(error)[:200] or "refused"
        cpu = time.process_time() - begin
    return Scored(task, method, _judged(task, oracle, found, cpu, refused))


def _judged(task: Task, oracle: Oracle, found: dict[int, Array], cpu: float, refused: str) -> Score:
    y = oracle.y
    if len(oracle.asked) > max(task.checkpoints):
        raise RuntimeError(f"{len(oracle.asked)} questions, and {max(task.checkpoints)} allowed.")
    aris, clusters = [], []
    last = np.zeros(len(y), dtype=np.int64)
    for count in task.checkpoints:
        last = np.asarray(found.get(count, last))  # a strategy that has ended keeps its labels
        aris.append(float(adjusted_rand_score(y, last)))
        clusters.append(len(np.unique(last)))
    wall = np.quantile(oracle.seconds, (0.5, 0.95, 1.0)) if oracle.seconds else np.array([])
    return Score(
        questions=list(task.checkpoints),
        ari=aris,
        clusters=clusters,
        asked=len(oracle.asked),
        rows=len(y),
        classes=oracle.n_classes,
        cpu=round(cpu, 2),
        shown=oracle.shown,
        start=round(oracle.start, 3),
        wall=[round(float(one), 5) for one in wall],
        estimates={str(count): list(bound) for count, bound in oracle.estimates.items()},
        purposes=dict(oracle.purposes),
        refused=refused,
    )
