"""Clusters of tables larger than memory: look at all rows, summarise them, fit, label them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkshift import __version__
from linkshift._core.arrays import Array, Progress
from linkshift._core.files import is_device, replacing
from linkshift._core.memory import check_memory
from linkshift._core.messages import Refusal, check_count
from linkshift._core.progress import stages, tell
from linkshift._core.text import counted, listed
from linkshift.links import Links
from linkshift.profiles import Profile, ProfileName, get_profile
from linkshift.scale.chunks import rows_of_a_chunk
from linkshift.scale.model import Model, fit, predict
from linkshift.scale.opening import open_table
from linkshift.scale.survey import Survey, survey_table
from linkshift.scale.tables import Chunk, Table
from linkshift.scale.tree import add_leaf, root
from linkshift.scale.unfinished import Unfinished
from linkshift.shift._checks import checked_bandwidth
from linkshift.summaries import Summary, summarise
from linkshift.tables.scaling import Scaling

__all__ = ["TableClusters", "cluster"]

N_LANDMARKS = 8_000
SCALES = ("auto", "standard", "minmax", "none")
_WORK = 1.0, 8.0, 1.0, 18.0  # of the stages: look, summarise, fit, label


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
    model : Model
        For `predict`, of rows that are scaled.
    sizes : ndarray of shape (n_clusters,), int64
        Number of rows of each cluster.
    """

    output: Path
    n_rows: int
    columns: tuple[str, ...]
    left_out: dict[str, str]
    scaling: Scaling
    model: Model
    sizes: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _Settings:
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


def cluster(
    dataset: Any,
    links: Links | None = None,
    *,
    output: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    id_column: str | None = None,
    scale: str = "auto",
    landmarks: int = N_LANDMARKS,
    rows_per_chunk: int | None = None,
    bandwidth: float | None = None,
    kernel: ProfileName | Profile = "gaussian",
    max_iter: int = 300,
    tol: float = 1e-3,
    seed: int = 0,
    n_jobs: int | None = None,
    resume: bool = False,
    progress: Progress | None = None,
    say: Callable[[str], None] | None = None,
) -> TableClusters:
    r"""Cluster a table that need not fit into memory, and write its labels to a file.

    The table is read three times, in chunks of rows: for the means and spreads of its columns, to
    `summarise` each chunk, and to `predict` its labels. Summaries are merged in a fixed order and
    fitted once. Chunks have a fixed number of rows, so that labels do not depend on how a file
    parts its rows, nor on the number of threads.

    Parameters
    ----------
    dataset : path, pyarrow.dataset.Dataset or ndarray of shape (n, d)
        A Parquet, Arrow (Feather) or CSV file, a folder of files of one kind, in the order of
        their names, or an npy file, which is mapped.
    links : Links, default=None
        Pairs of row numbers, or of ids in ``id_column``. They go to `fit`.
    output : path
        Parquet file for the labels, with the columns ``row`` or that of the ids, and ``label``.
    columns : sequence of str, default=None
        Columns to cluster. ``None`` takes a column of lists of numbers, or else all columns of
        numbers that vary and do not name rows.
    id_column : str, default=None
        Column that is written beside the labels, and that links may name. Only ids that links
        name are checked to differ.
    scale : {"auto", "standard", "minmax", "none"}, default="auto"
        Scale of the columns, see `linkshift.tables.scaling.Scaling`.
    landmarks : int, default=8000
        Landmarks of each summary.
    rows_per_chunk : int, default=None
        Rows of a chunk. ``None`` takes as many as have 2^23 numbers, at least four for each
        landmark.
    bandwidth, kernel, max_iter, tol
        As in `fit`.
    seed : int, default=0
        As in `summarise`.
    n_jobs : int, default=None
        Number of threads. ``None`` takes all cores. Labels do not depend on it.
    resume : bool, default=False
        Go on where a run that was interrupted has stopped. What it had finished is in the folder
        ``.NAME.unfinished`` beside the output. Data (names, sizes and times of files) and settings
        must be the same; else it is refused.
    progress : callable, default=None
        Called with (done, all).
    say : callable, default=None
        Called with a line on what is done, before the long work begins.

    Returns
    -------
    TableClusters

    Notes
    -----
    Memory, beside that of the imports, for chunks of c rows, d columns of b bytes and m landmarks:

    .. math:: c\, d\, (4 b + 40) + 400\, m\, d

    bytes, about, whatever the number of rows, and one batch of the file: 2^20 numbers and what
    the file's format needs to read them. For 16 columns of float32, it is 0.5 GB.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import pyarrow.parquet as pq
    >>> from linkshift import scale
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(c, 1.0, size=(500, 4)) for c in (0, 10)])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/rows.npy", X)
    ...     output = f"{folder}/labels.parquet"
    ...     found = scale.cluster(f"{folder}/rows.npy", output=output, bandwidth=2.0)
    ...     labels = pq.read_table(found.output)
    >>> found.sizes.tolist(), labels.column_names, labels.num_rows
    ([500, 500], ['row', 'label'], 1000)
    """
    _require_arrow()
    profile = get_profile(kernel)
    if bandwidth is not None:
        checked_bandwidth(bandwidth, 1)
    fitting = {"bandwidth": bandwidth, "kernel": profile}
    fitting |= {"max_iter": check_count("max_iter", max_iter), "tol": tol}
    if scale not in SCALES:
        raise Refusal(
            f"scale={scale!r} is not known.", f"Give one of {', '.join(SCALES)}.", parameter="scale"
        )
    given = None if links is None else Links.coerce(links)
    settings = _Settings(
        None if columns is None else tuple(columns),
        id_column,
        scale,
        check_count("landmarks", landmarks),
        None if rows_per_chunk is None else check_count("rows_per_chunk", rows_per_chunk),
        seed,
        fitting,
        given,
    )
    wanted = _linked_ids(given, id_column)
    table = open_table(dataset, id_column)
    target = _checked_output(Path(output), dataset)
    files = table.files()
    if resume and files is None:
        raise Refusal(
            "A run is gone on with where data are in files as they are; these are in memory, or "
            "filtered.",
            "Leave resume out, or give the path of a file.",
            parameter="resume",
        )
    run = {"linkshift": __version__, "files": files, **settings.about()}
    state = Unfinished(target, run, resume=resume)
    job = _Run(table, settings, state, n_jobs, stages(progress, *_WORK))
    try:
        return job.finish(target, wanted, say)
    except BaseException as error:
        if files is None or not state.is_of_use(refused=isinstance(error, ValueError)):
            state.remove()
        raise


@dataclass(frozen=True, eq=False)
class _Run:
    """The stages of one run; each goes on with what is finished of it."""

    table: Table
    settings: _Settings
    state: Unfinished
    n_jobs: int | None
    told: list[Progress | None]

    def finish(
        self, target: Path, wanted: set[str], say: Callable[[str], None] | None
    ) -> TableClusters:
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
        sizes = self._write(target, n_chunks, len(model.modes.centers))
        self.state.remove()
        return TableClusters(target, survey.n_rows, names, survey.left_out, scaling, model, sizes)

    def _summary(self, survey: Survey, scaling: Scaling, size: int, links: Links | None) -> Summary:
        """Summarise chunks, and merge what comes out."""
        m, linked = self.settings.landmarks, _linked_rows(links)
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

    def _label(self, survey: Survey, scaling: Scaling, size: int, model: Model) -> int:
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
            labels = predict(model, self._rows(survey, scaling, chunk), n_jobs=self.n_jobs)
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
            raise _unwritable(target, error) from error
        return sizes


def memory_of(size: int, d: int, itemsize: int, m: int) -> float:
    """Bytes that chunks of some rows take, beside imports and what reading takes: see `cluster`."""
    return size * d * (4.0 * itemsize + 40) + 400.0 * m * d


def _check_memory(size: int, d: int, itemsize: int, m: int) -> None:
    check_memory(
        memory_of(size, d, itemsize, m),
        f"A chunk of {counted(size, 'row')} and {counted(d, 'column')}",
        "Take fewer rows_per_chunk, fewer landmarks or fewer columns.",
        command="Take fewer columns.",
        parameter="rows_per_chunk",
    )


def _plan(table: Table, survey: Survey, scaling: Scaling, size: int, asked: _Settings) -> str:
    """Say in one line what is going to be done."""
    left = [f"{name} ({why})" for name, why in survey.left_out.items()]
    why = f" ({scaling.why})" if scaling.why else ""
    return (
        f"{table.name}: {counted(survey.n_rows, 'row')} in chunks of {size:,}, "
        f"{counted(len(survey.names), 'column')} used: {listed(survey.names)}"
        + (f"; left out: {listed(left)}" if left else "")
        + f". Scale: {scaling.kind}{why}. Mean shift with the {asked.fitting['kernel'].name} "
        f"kernel on {min(asked.landmarks, survey.n_rows):,} landmarks."
    )


def _checked_output(target: Path, dataset: Any) -> Path:
    """Refuse, before any work is done, a file that could not be written afterwards."""
    if target.suffix.lower() != ".parquet":
        raise Refusal(
            f"Labels are written as Parquet, and {target} has another suffix.",
            f"Call it {target.with_suffix('.parquet').name}.",
            parameter="output",
        )
    if is_device(target) or target.is_dir() or not target.parent.is_dir():
        with replacing(target):  # which says what is wrong
            pass
    if not os.access(target.parent, os.W_OK):
        raise _unwritable(target, PermissionError("the folder is not for you to write to"))
    if isinstance(dataset, str | os.PathLike):
        source, place = Path(dataset).resolve(), target.resolve()
        if source == place or source in place.parents:
            raise Refusal(
                f"{target} would be among the data, {dataset}.",
                "Choose another place.",
                parameter="output",
            )
    return target


def _unwritable(target: Path, error: OSError) -> Refusal:
    return Refusal(
        f"{target} cannot be written: {error.strerror or error}.",
        "Choose another place.",
        parameter="output",
    )


def _linked_ids(links: Links | None, id_column: str | None) -> set[str]:
    """Ids that links name, as text."""
    if links is None or not links.keyed_by_id:
        return set()
    names = {str(name) for pair in (*links.must_ids, *links.cannot_ids) for name in pair}
    if id_column is None:
        raise Refusal(
            f"Links are between ids, such as {min(names)!r}.",
            "Say which column holds the ids: id_column=...",
            command="Say which column holds the ids: --id-column NAME.",
            parameter="id_column",
        )
    return names


def _by_row(links: Links | None, survey: Survey) -> Links | None:
    """Links between rows that are there."""
    if links is None:
        return None
    if not links.keyed_by_id:
        return links.check(survey.n_rows)
    rows = survey.rows_of_ids
    must, cannot = (
        [(rows[str(a)], rows[str(b)]) for a, b in pairs]
        for pairs in (links.must_ids, links.cannot_ids)
    )
    return Links(
        must,
        cannot,
        must_confidence=links.must_confidence,
        cannot_confidence=links.cannot_confidence,
        n_samples=survey.n_rows,
    )


def _linked_rows(links: Links | None) -> NDArray[np.int64]:
    if links is None:
        return np.empty(0, dtype=np.int64)
    return np.unique(np.concatenate([links.must.ravel(), links.cannot.ravel(), *links.apart]))


def _digest(links: Links) -> str:
    apart = [] if links.keyed_by_id else [group.tolist() for group in links.apart]
    parts = (links.must_ids, links.cannot_ids, links.must_confidence.tolist())
    text = repr((*parts, links.cannot_confidence.tolist(), apart))
    return hashlib.sha256(text.encode()).hexdigest()


def _require_arrow() -> None:
    try:
        import pyarrow.dataset
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise ImportError('scale.cluster needs pyarrow: pip install "linkshift[cli]"') from error
