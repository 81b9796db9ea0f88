"""A run over a table larger than memory: look at all rows, summarise them, fit, label them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkshift._core.arrays import Array, Progress
from linkshift._core.files import replacing
from linkshift._core.memory import check_memory
from linkshift._core.messages import Refusal
from linkshift._core.progress import tell
from linkshift._core.text import counted, listed
from linkshift.links import ClosedLinks, Links
from linkshift.metrics import LinkReport
from linkshift.scale.chunks import rows_of_a_chunk
from linkshift.scale.linked import LinkedModel
from linkshift.scale.model import Model, fit, predict
from linkshift.scale.survey import Survey, survey_table
from linkshift.scale.tables import Chunk, Table
from linkshift.scale.tree import add_leaf, root
from linkshift.scale.unfinished import Unfinished
from linkshift.summaries import Summary, summarise
from linkshift.tables.scaling import Scaling

__all__ = ["WORK", "Run", "Settings", "TableClusters", "unwritable"]

WORK = 1.0, 8.0, 1.0, 18.0  # of the stages: look, summarise, fit, label


@dataclass(frozen=True, eq=False)
class TableClusters:
    """Clusters of a table whose labels are in a file.

    Attributes
    ----------
    output : Path
        Parquet file with the labels: the columns ``row`` (or that of the ids) and ``label``.
    n_rows : int
        Number of rows.
    columns : tuple of str
        What was clustered; of lists, one name for each number.
    left_out : dict
        Other columns, and why.
    scaling : Scaling
        What was done to the columns; ``scaling.apply`` does it to other rows.
    model : Model or LinkedModel
        For `predict`, of rows that are scaled.
    sizes : ndarray of shape (n_clusters,), int64
        Number of rows of each cluster.
    """

    output: Path
    n_rows: int
    columns: tuple[str, ...]
    left_out: dict[str, str]
    scaling: Scaling
    model: Model | LinkedModel
    sizes: NDArray[np.int64]

    @property
    def link_report(self) -> LinkReport | None:
        """Which links hold."""
        return self.model.link_report if isinstance(self.model, LinkedModel) else None


@dataclass(frozen=True, eq=False)
class Settings:
    """What the stages go by, checked."""

    columns: tuple[str, ...] | None
    id_column: str | None
    scale: str
    landmarks: int
    rows: int | None
    seed: int
    fitting: dict[str, Any]
    links: Links | None

    def about(self) -> dict[str, Any]:
        """Give what labels depend on, as plain values."""
        fitting = {name: str(value) for name, value in self.fitting.items()}
        links = None if self.links is None else _digest(self.links)
        return {
            "columns": self.columns,
            "id_column": self.id_column,
            "scale": self.scale,
            "landmarks": self.landmarks,
            "rows_per_chunk": self.rows,
            "seed": self.seed,
            **fitting,
            "links": links,
        }


@dataclass(frozen=True, eq=False)
class Run:
    """The stages of one run; each goes on with what is finished of it."""

    table: Table
    settings: Settings
    state: Unfinished
    n_jobs: int | None
    told: list[Progress | None]

    def finish(
        self, target: Path, wanted: set[str], say: Callable[[str], None] | None
    ) -> TableClusters:
        """Do all stages; the rows of ids that are ``wanted`` are looked for on the way."""
        asked = self.settings
        survey = self.state.survey()
        if survey is None:
            survey = survey_table(self.table, asked.columns, asked.id_column, wanted, self.told[0])
            self.state.keep_survey(survey)
        links = _by_row(asked.links, survey)
        names = survey.names
        dtype = self.table.dtype([column.name for column in survey.taken])
        scaling = Scaling.of_moments(survey.moments, asked.scale, names, dtype=dtype)
        size = asked.rows or rows_of_a_chunk(len(names), asked.landmarks)
        size = min(size, survey.n_rows)
        _check_memory(size, len(names), np.dtype(dtype).itemsize, asked.landmarks)
        if say is not None:
            say(_plan(self.table, survey, scaling, size, asked))
        summary = self._summary(survey, scaling, size, links)
        model = fit(summary, links, n_jobs=self.n_jobs, **asked.fitting)
        tell(self.told[2], 1, 1)
        n_chunks = self._label(survey, scaling, size, model)
        sizes = self._write(target, n_chunks, model.n_clusters)
        self.state.remove()
        return TableClusters(target, survey.n_rows, names, survey.left_out, scaling, model, sizes)

    def _summary(self, survey: Survey, scaling: Scaling, size: int, links: Links | None) -> Summary:
        """Summarise chunks, and merge what comes out."""
        m, linked = self.settings.landmarks, ClosedLinks.coerce(links, survey.n_rows).linked_rows
        nodes, done = self.state.tree()
        for chunk in self.table.chunks(survey.taken, size, start=done * size):
            rows = self._rows(survey, scaling, chunk)
            end = chunk.first + len(rows)
            here = linked[(linked >= chunk.first) & (linked < end)] - chunk.first
            leaf = summarise(
                rows, m, self.settings.seed, keep=here, first=chunk.first, n_jobs=self.n_jobs
            )
            nodes, done = add_leaf(nodes, leaf, m, n_jobs=self.n_jobs), done + 1
            self.state.keep_tree(nodes, done)
            tell(self.told[1], end, survey.n_rows)
        return root(nodes, m, n_jobs=self.n_jobs)

    def _label(
        self, survey: Survey, scaling: Scaling, size: int, model: Model | LinkedModel
    ) -> int:
        """Label chunks, each into a file of its own: how many there are."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        n_chunks, done = -(-survey.n_rows // size), 0
        while done < n_chunks and self.state.labels(done).exists():
            done += 1
        if done == n_chunks:
            return n_chunks
        name = self.settings.id_column
        called = "id" if name in ("row", "label") else name
        for chunk in self.table.chunks(survey.taken, size, name, start=done * size):
            labels = predict(
                model,
                self._rows(survey, scaling, chunk),
                first=chunk.first,
                n_jobs=self.n_jobs,
            )
            rows = np.arange(chunk.first, chunk.first + len(labels))
            first = {"row": rows} if called is None else {called: chunk.ids}
            with replacing(self.state.labels(done)) as temporary:
                pq.write_table(pa.table(first | {"label": labels}), temporary)
            done += 1
            tell(self.told[3], chunk.first + len(labels), survey.n_rows)
        return done

    def _rows(self, survey: Survey, scaling: Scaling, chunk: Chunk) -> Array:
        rows: Array = scaling.apply(survey.numbers(chunk.rows))
        return rows

    def _write(self, target: Path, n_chunks: int, n_clusters: int) -> NDArray[np.int64]:
        """Put the labels of all chunks into one file, and count them."""
        import pyarrow.parquet as pq

        sizes = np.zeros(n_clusters, dtype=np.int64)
        schema = pq.read_schema(self.state.labels(0))
        try:
            with replacing(target) as temporary, pq.ParquetWriter(temporary, schema) as writer:
                for chunk in range(n_chunks):
                    part = pq.read_table(self.state.labels(chunk))
                    writer.write_table(part)
                    sizes += np.bincount(part["label"].to_numpy(), minlength=n_clusters)
        except OSError as error:
            raise unwritable(target, error) from error
        return sizes


def memory_of(size: int, d: int, itemsize: int, m: int) -> float:
    """Bytes that chunks take, beside imports and reading: see `linkshift.scale.cluster`."""
    return size * d * (4.0 * itemsize + 40) + 400.0 * m * d


def _check_memory(size: int, d: int, itemsize: int, m: int) -> None:
    check_memory(
        memory_of(size, d, itemsize, m),
        f"A chunk of {counted(size, 'row')} and {counted(d, 'column')}",
        "Take fewer rows_per_chunk, fewer landmarks or fewer columns.",
        command="Take fewer columns.",
        parameter="rows_per_chunk",
    )


def _plan(table: Table, survey: Survey, scaling: Scaling, size: int, asked: Settings) -> str:
    """Say in one line what is going to be done."""
    left = [f"{name} ({why})" for name, why in survey.left_out.items()]
    why = f" ({scaling.why})" if scaling.why else ""
    return (
        f"{table.name}: {counted(survey.n_rows, 'row')} in chunks of {size:,}, "
        f"{counted(len(survey.names), 'column')} used: {listed(survey.names)}"
        + (f"; left out: {listed(left)}" if left else "")
        + f". Scale: {scaling.kind}{why}. {_shift(asked)} on "
        f"{min(asked.landmarks, survey.n_rows):,} landmarks."
    )


def _shift(asked: Settings) -> str:
    if asked.links:
        return f"Constrained mean shift with {counted(len(asked.links), 'link')}"
    return f"Mean shift with the {asked.fitting['kernel'].name} kernel"


def unwritable(target: Path, error: OSError) -> Refusal:
    """Tell in words why a file cannot be written."""
    return Refusal(
        f"{target} cannot be written: {error.strerror or error}.",
        "Choose another place.",
        parameter="output",
    )


def _by_row(links: Links | None, survey: Survey) -> Links | None:
    """Links between rows that are there."""
    if links is None:
        return None
    if links.keyed_by_id:
        names = links._pairs.names or ()
        links = links.resolve({name: survey.rows_of_ids[str(name)] for name in names})
    return links.check(survey.n_rows)


def _digest(links: Links) -> str:
    apart = [] if links.keyed_by_id else [group.tolist() for group in links.apart]
    parts = (links.must_ids, links.cannot_ids, links.must_confidence.tolist())
    text = repr((*parts, links.cannot_confidence.tolist(), apart))
    return hashlib.sha256(text.encode()).hexdigest()
