"""Run tasks side by side, skip what the journal has."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np
from joblib import Parallel, cpu_count, delayed
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score
from threadpoolctl import threadpool_limits

from benchmarks.auto.methods import certain, sizeable
from benchmarks.compare.cases import NUMBERS, ONE_A_ROW, Case, bases, given
from benchmarks.compare.journal import Journal, Record
from benchmarks.compare.methods import METHODS
from benchmarks.environment import find_data
from benchmarks.harness import Cell
from linkshift.metrics import link_satisfaction


class Task(NamedTuple):
    """One draw of one case on one set."""

    name: str
    case: Case
    draw: int
    seed: int
    most: int | None  # rows

    @property
    def key(self) -> str:
        """Its name in the journal."""
        return f"{self.name}; {self.case.text}; draw {self.draw}; seed {self.seed}; {self.most}"

    def plain(self) -> Task:
        """Tell the task that is run for it: a link a row of a thousand rows is a thousand links."""
        if self.case.n_links != ONE_A_ROW:
            return self
        n = len(bases(self.name, self.seed, self.most).y)
        return self._replace(case=self.case._replace(n_links=n)) if n in NUMBERS else self


@dataclass(frozen=True)
class Score:
    """What a method did; ``seconds`` of the processor, with one thread."""

    ari: float
    nmi: float
    clusters: int  # of five rows or more
    classes: int
    rows: int
    broken: int  # links that do not hold
    links: int
    seconds: float
    refused: str = ""  # why, where it was refused


class Scored(Record[Task, Score]):
    """What a method did on a draw."""

    def cells(self) -> dict[str, Cell]:
        """All of it."""
        return {**self.about, "method": self.method, **asdict(self.score)}

    def progress(self) -> dict[str, Cell]:
        """Enough to see how far a run is."""
        return {**self.about, self.method: self.score.ari, "s": self.score.seconds}


def scores(tasks: Sequence[Task], methods: Sequence[str], journal: Journal) -> Iterator[Scored]:
    """Run every method on every task that it is for; the known ones come first."""
    asked: dict[Task, list[Task]] = {}  # by what is run for them
    for task in tasks:
        asked.setdefault(task.plain(), []).append(task)
    todo: list[tuple[Task, list[str]]] = []
    for task, same in asked.items():
        left = []
        for method in methods:
            if task.draw and METHODS[method].slow:
                continue
            known = journal.get(task.key, method)
            if known is None:
                left.append(method)
            elif known:
                yield from (Scored(one, method, Score(**known)) for one in same)
        if left:
            todo.append((task, left))
    # Tasks of one set follow each other, so that what they share is made once by each process.
    parallel = Parallel(n_jobs=cpu_count(), return_as="generator_unordered", batch_size=1)
    for task, found in parallel(delayed(_run)(*one) for one in todo):
        for method, score in found.items():
            journal.add(task.key, method, {} if score is None else asdict(score))
            if score is not None:
                yield from (Scored(one, method, score) for one in asked[task])


def _run(task: Task, methods: list[str]) -> tuple[Task, dict[str, Score | None]]:
    """Run methods on one draw; None for a method that is not for such links."""
    find_data()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what the defaults lead to: that is the question
        base, links = given(task.name, task.case, task.draw, task.seed, task.most)
        sure = certain(links)
        found: dict[str, Score | None] = {}
        for method in methods:
            if not METHODS[method].tried(links):
                found[method] = None
                continue
            refused, begin = "", time.process_time()
            try:
                labels = np.asarray(METHODS[method].labels(base, links))
            except ValueError as error:
                labels, refused = np.zeros(len(base.y), dtype=np.int64), str(error)[:200]
            seconds = time.process_time() - begin
            report = link_satisfaction(labels, sure)
            found[method] = Score(
                ari=float(adjusted_rand_score(base.y, labels)),
                nmi=float(normalized_mutual_info_score(base.y, labels)),
                clusters=sizeable(labels),
                classes=base.n_classes,
                rows=len(base.y),
                broken=len(report.violated_must) + len(report.violated_cannot),
                links=len(sure),
                seconds=round(seconds, 3),
                refused=refused,
            )
    return task, found
