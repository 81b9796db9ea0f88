"""Training in a file: an npz archive of plain arrays and a header of JSON, no pickle."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from linkshift._core.arrays import Array
from linkshift._core.files import replacing
from linkshift._core.messages import Refusal
from linkshift.embed._network import Plan, Training, parts

__all__ = ["digest", "read", "stored_seed", "write"]

_FORMAT = "linkshift training 1"
_FREE = ("steps",)  # what may differ: the last stage goes on for longer


def digest(data: Array) -> str:
    """Tell rows from others."""
    shape = np.array(data.shape, dtype="<i8").tobytes()
    return hashlib.sha256(shape + np.ascontiguousarray(data, dtype="<f4").tobytes()).hexdigest()


def write(path: str | os.PathLike[str], plan: Plan, rows: str, training: Training) -> None:
    """Write how far training is; there is never half a file."""
    header = {
        "format": _FORMAT,
        "plan": asdict(plan),
        "rows": rows,
        "stage": training.stage,
        "step": training.step,
    }
    arrays: dict[str, Array] = {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)}
    for i, (weights, biases) in enumerate(training.layers):
        arrays |= {f"weights_{i}": weights, f"biases_{i}": biases}
    for i, (first, second) in enumerate(training.moments):
        arrays |= {f"first_{i}": first, f"second_{i}": second}
    for i, losses in enumerate(training.losses):
        arrays[f"losses_{i}"] = np.array(losses, dtype=np.float64)
    with replacing(path) as temporary, temporary.open("xb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]  # names are no options of savez


def stored_seed(path: str | os.PathLike[str]) -> int | None:
    """Give the seed of training that is in a file, if there is one."""
    return int(_opened(path)[0]["plan"]["seed"]) if Path(path).exists() else None


def read(path: str | os.PathLike[str], plan: Plan, rows: str, fresh: Training) -> Training:
    """Training to go on with: that of the file, or ``fresh`` where there is none."""
    if not Path(path).exists():
        return fresh
    header, arrays = _opened(path)
    wanted = json.loads(json.dumps(asdict(plan)))
    other = [n for n in wanted if n not in _FREE and header["plan"].get(n) != wanted[n]]
    if header["rows"] != rows:
        other = ["rows", *other]
    if other:
        differ = ", ".join("random_state" if name == "seed" else name for name in other)
        raise _refusal(path, f"it is of training with other {differ}")
    try:
        training = _training(header, arrays, plan, fresh)
    except (KeyError, TypeError, ValueError) as error:
        raise _refusal(path, f"it is damaged ({error})") from error
    if training.step > plan.steps_of(training.stage):
        raise _refusal(path, f"it has made {training.step} steps, more than {plan.steps}")
    return training


def _training(
    header: dict[str, Any], arrays: dict[str, Array], plan: Plan, like: Training
) -> Training:
    """Arrays as training; ``like`` has the shapes that they must have."""
    stage, step = header["stage"], header["step"]
    if type(stage) is not int or type(step) is not int or not 0 <= stage <= plan.depth or step < 0:
        raise ValueError("its stage or step is none")

    def take(name: str, shape: tuple[int, ...], kind: Any = np.float32) -> Array:
        found = arrays[name]
        if found.shape != shape or found.dtype != kind or not np.isfinite(found).all():
            raise ValueError(f"its {name} is not as written")
        return found

    layers = [
        (take(f"weights_{i}", w.shape), take(f"biases_{i}", b.shape))
        for i, (w, b) in enumerate(like.layers)
    ]
    shapes = [values.shape for layer in parts(stage, plan.depth) for values in layers[layer]]
    moments = [
        (take(f"first_{i}", shape), take(f"second_{i}", shape))
        for i, shape in enumerate(shapes if step else [])
    ]
    lengths = [
        step if i == stage else plan.layer_steps * (i < stage) for i in range(plan.depth + 1)
    ]
    losses = [
        take(f"losses_{i}", (length,), np.float64).tolist() for i, length in enumerate(lengths)
    ]
    return Training(layers, stage, step, moments, losses)


def _opened(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of a file that says what it is."""
    try:
        with np.load(path, allow_pickle=False) as members:
            arrays = dict(members.items())
        header = json.loads(arrays.pop("header").tobytes())
        match header:
            case {"format": str(said), "plan": {"seed": int(_)}, "rows": _, "stage": _, "step": _}:
                pass
            case _:
                raise ValueError("its header lacks a part")
        if said != _FORMAT:
            raise ValueError(f"its header says {said!r}")
    except OSError:
        raise
    except Exception as error:  # bytes of another kind make zipfile, NumPy and json raise anything
        raise _refusal(path, f"it is no checkpoint, or damaged ({error})") from error
    return header, arrays


def _refusal(path: str | os.PathLike[str], problem: str) -> Refusal:
    return Refusal(
        f"Training cannot go on from {os.fspath(path)!r}: {problem}.",
        "Name another file as checkpoint, or remove this one to start anew.",
        parameter="checkpoint",
        value=path,
    )
