"""What a long run has finished so far, in a folder beside its output, for another to go on."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from linkshift._core.files import replacing, write_text
from linkshift._core.messages import Refusal
from linkshift.scale.survey import Survey
from linkshift.scale.tree import Node
from linkshift.summaries import Summary

__all__ = ["Unfinished"]

_RUN, _SURVEY, _TREE = "run.json", "survey.json", "summaries.npz"
_LABELS = "labels_*.parquet"


class Unfinished:
    """The folder ``.NAME.unfinished`` beside the output NAME.

    It holds what the run is of (``run.json``), what the first look found, the tree of summaries,
    and the labels of each chunk that is done. Each file is whole or not there.

    Parameters
    ----------
    output : Path
        Where the labels will be.
    run : dict
        Data and settings, as plain values. What was finished of another run is of no use.
    resume : bool
        Go on with what is there; else it is removed.
    """

    def __init__(self, output: Path, run: dict[str, Any], *, resume: bool) -> None:
        self.folder = output.with_name(f".{output.name}.unfinished")
        run = json.loads(json.dumps(run))  # as it will be read
        there = self._read(_RUN)
        if self.folder.is_dir() and there is None and any(self.folder.iterdir()):
            raise Refusal(
                f"{self.folder} is in the way: it holds other things than an unfinished run.",
                "Move it, or name another output.",
                parameter="output",
            )
        if resume and there is not None and there != run:
            keys = [key for key in run if there.get(key) != run[key]]
            what = f"other {', '.join(keys)}" if keys else "another version of linkshift"
            raise Refusal(
                f"The unfinished run beside {output} is with {what}.",
                "Give what it was started with, or start over with resume=False.",
                command="Give what it was started with, or start over: leave --resume out.",
                parameter="resume",
            )
        try:
            if not resume:
                self.remove()
            self.folder.mkdir(exist_ok=True)
            write_text(self.folder / _RUN, json.dumps(run))
        except OSError as error:
            raise Refusal(
                f"{output.parent} cannot be written: {error.strerror or error}.",
                "Choose another place.",
                parameter="output",
            ) from error

    def _read(self, name: str) -> Any:
        try:
            return json.loads((self.folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def survey(self) -> Survey | None:
        """Give what the first look found, if it is over."""
        about = self._read(_SURVEY)
        return None if about is None else Survey.from_about(about)

    def keep_survey(self, survey: Survey) -> None:
        """Keep what the first look found."""
        write_text(self.folder / _SURVEY, json.dumps(survey.about()))

    def tree(self) -> tuple[list[Node], int]:
        """Give the summaries of finished chunks, and how many these are."""
        path = self.folder / _TREE
        if not path.exists():
            return [], 0
        with np.load(path) as arrays:
            nodes = [
                Node(int(level), Summary(*(arrays[f"{name}_{i}"] for name in Summary._fields)))
                for i, level in enumerate(arrays["levels"])
            ]
            return nodes, int(arrays["n_chunks"])

    def keep_tree(self, nodes: Sequence[Node], n_chunks: int) -> None:
        """Keep the summaries of finished chunks."""
        arrays: dict[str, Any] = {
            f"{name}_{i}": getattr(node.summary, name)
            for i, node in enumerate(nodes)
            for name in Summary._fields
        }
        levels = np.array([node.level for node in nodes], dtype=np.int64)
        with replacing(self.folder / _TREE) as temporary:
            np.savez(temporary, levels=levels, n_chunks=n_chunks, **arrays)

    def labels(self, chunk: int) -> Path:
        """Where the labels of a chunk are, or will be."""
        return self.folder / _LABELS.replace("*", f"{chunk:08d}")

    def is_of_use(self, *, refused: bool) -> bool:
        """Whether another run may go on: a look or, if this one was refused, a chunk is finished.

        What is refused before that will be asked in another way.
        """
        return (self.folder / (_TREE if refused else _SURVEY)).exists()

    def remove(self) -> None:
        """Remove the folder with all that it holds of ours."""
        if not self.folder.is_dir():
            return
        for name in (
            _LABELS,
            _TREE,
            _SURVEY,
            ".*.tmp*",
            _RUN,
        ):  # of which the last says whose it is
            for path in self.folder.glob(name):
                path.unlink(missing_ok=True)
        self.folder.rmdir()
