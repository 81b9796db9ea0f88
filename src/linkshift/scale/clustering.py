"""`linkshift.scale.cluster`: what is asked for is checked, and run."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from linkshift import __version__
from linkshift._core.arrays import Progress
from linkshift._core.files import is_device, replacing
from linkshift._core.messages import Refusal, check_count
from linkshift._core.progress import stages
from linkshift.links import Links
from linkshift.profiles import Profile, ProfileName, get_profile
from linkshift.scale.linked import check_links
from linkshift.scale.opening import open_table
from linkshift.scale.running import WORK, Run, Settings, TableClusters, unwritable
from linkshift.scale.unfinished import Unfinished
from linkshift.shift._checks import checked_bandwidth

__all__ = ["cluster"]

N_LANDMARKS = 8_000
SCALES = ("auto", "standard", "minmax", "none")


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
        Pairs of row numbers, or of ids in ``id_column``. Rows with links are kept whole, and `fit`
        is constrained mean shift; every certain link holds.
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
    given = None if links is None else Links.coerce(links)
    settings = Settings(
        columns=None if columns is None else tuple(columns),
        id_column=id_column,
        scale=_checked_scale(scale),
        landmarks=check_count("landmarks", landmarks),
        rows=None if rows_per_chunk is None else check_count("rows_per_chunk", rows_per_chunk),
        seed=seed,
        fitting=_checked_fitting(bandwidth, kernel, max_iter, tol),
        links=given,
    )
    if given is not None and given:
        check_links(given, settings.fitting)
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
    about = {"linkshift": __version__, "files": files, **settings.about()}
    state = Unfinished(target, about, resume=resume)
    run = Run(table, settings, state, n_jobs, stages(progress, *WORK))
    try:
        return run.finish(target, wanted, say)
    except BaseException as error:
        if files is None or not state.is_of_use(refused=isinstance(error, ValueError)):
            state.remove()
        raise


def _checked_scale(scale: str) -> str:
    if scale not in SCALES:
        raise Refusal(
            f"scale={scale!r} is not known.", f"Give one of {', '.join(SCALES)}.", parameter="scale"
        )
    return scale


def _checked_fitting(
    bandwidth: float | None, kernel: ProfileName | Profile, max_iter: int, tol: float
) -> dict[str, Any]:
    """Options of `fit`, refused now and not after two readings."""
    profile = get_profile(kernel)
    if bandwidth is not None:
        checked_bandwidth(bandwidth, 1)
    most = check_count("max_iter", max_iter)
    return {"bandwidth": bandwidth, "kernel": profile, "max_iter": most, "tol": tol}


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
        raise unwritable(target, PermissionError("the folder is not for you to write to"))
    if isinstance(dataset, str | os.PathLike):
        source, place = Path(dataset).resolve(), target.resolve()
        if source == place or source in place.parents:
            raise Refusal(
                f"{target} would be among the data, {dataset}.",
                "Choose another place.",
                parameter="output",
            )
    return target


def _linked_ids(links: Links | None, id_column: str | None) -> set[str]:
    """Ids that links name, as text."""
    if links is None or not links.keyed_by_id:
        return set()
    names = {str(name) for name in links._pairs.names or ()}
    if id_column is None:
        raise Refusal(
            f"Links are between ids, such as {min(names)!r}.",
            "Say which column holds the ids: id_column=...",
            command="Say which column holds the ids: --id-column NAME.",
            parameter="id_column",
        )
    return names


def _require_arrow() -> None:
    try:
        import pyarrow.dataset
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise ImportError('scale.cluster needs pyarrow: pip install "linkshift[cli]"') from error
