"""What `linkshift segment` does, in its order: read, segment, write, tell."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from linkshift._core.text import counted, listed
from linkshift.cli import _pictures
from linkshift.cli._console import Console, InputError, shown_sizes
from linkshift.cli._write import check_targets, print_json, versions


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    image: Path
    output: Path | None
    overlay: Path | None
    scribbles: Path | None
    method: str
    spatial_bandwidth: float | None
    range_bandwidth: float | None
    merge_bandwidth: float | None
    segments: int | None
    min_size: int | None
    threads: int | None
    seed: int | None
    json: bool
    quiet: bool


@dataclass(frozen=True, eq=False)
class Result:
    """What came of it."""

    labels: NDArray[np.int32]
    sizes: list[int]
    n_strokes: int | None
    seconds: float


def run(request: Request) -> None:
    """Do all of it; refuse first what would fail last."""
    console = Console(request.quiet)
    _check(request)
    _pictures.require_image()
    image = _pictures.read_image(request.image)
    strokes = None
    if request.scribbles is not None:
        strokes = _pictures.read_strokes(request.scribbles, image.shape[:2])
    _tell_input(request, image, strokes, console)
    result = _segment(request, image, strokes, console)
    if request.output is not None:  # first: it may be refused, and then nothing is written
        _pictures.write_label_image(request.output, result.labels)
    if request.overlay is not None:
        _pictures.write_overlay(request.overlay, image, result.labels)
    if request.json:
        print_json(_report(request, result))
    _summarise(request, result, console)


def _check(request: Request) -> None:
    inputs = [request.image] + ([request.scribbles] if request.scribbles else [])
    if request.output is None and request.overlay is None and not request.json:
        raise InputError(
            "nothing would be written. Give -o labels.png, --overlay borders.png or --json."
        )
    check_targets(
        {
            "--output": (request.output, _pictures.LABEL_SUFFIXES),
            "--overlay": (request.overlay, _pictures.OVERLAY_SUFFIXES),
        },
        inputs,
    )
    kmeans = request.method == "kmeans"
    for option, value, fits in (
        ("--segments", request.segments, kmeans),
        ("--seed", request.seed, kmeans),
        ("--spatial-bandwidth", request.spatial_bandwidth, not kmeans),
        ("--range-bandwidth", request.range_bandwidth, not kmeans),
        ("--merge-bandwidth", request.merge_bandwidth, not kmeans),
    ):
        if value is not None and not fits:
            raise InputError(
                f"{option} is for --method {'mean-shift' if kmeans else 'kmeans'}; "
                f"--method {request.method} has no use for it."
            )


def _tell_input(
    request: Request, image: NDArray[Any], strokes: NDArray[np.int64] | None, console: Console
) -> None:
    h, w = image.shape[:2]
    kind = "grey" if image.ndim == 2 else "colour"
    console.say(f"{request.image}: {w:,} x {h:,} pixels, {kind}, {image.dtype}.")
    if strokes is None:
        return
    marked = int(np.count_nonzero(strokes))
    console.say(
        f"{request.scribbles}: {counted(_n_strokes(strokes), 'stroke')} on "
        f"{counted(marked, 'pixel')}."
    )
    if marked > strokes.size / 2:
        console.warn(
            f"more than half of {request.scribbles} is marked. Unmarked is 0, black or "
            "transparent; another background counts as a stroke."
        )


def _n_strokes(strokes: NDArray[np.int64]) -> int:
    return len(np.unique(strokes[strokes > 0]))


def _segment(
    request: Request, image: NDArray[Any], strokes: NDArray[np.int64] | None, console: Console
) -> Result:
    from linkshift.image import segment  # importing is no part of the method's time

    seed = request.seed
    if request.method == "kmeans" and seed is None:
        seed = 0
    start = time.perf_counter()
    with console.warnings(), console.progress("Segmenting") as progress:
        try:
            labels = segment(
                image,
                "kmeans" if request.method == "kmeans" else "mean_shift",
                spatial_bandwidth=request.spatial_bandwidth,
                range_bandwidth=request.range_bandwidth,
                merge_bandwidth=request.merge_bandwidth,
                n_segments=request.segments,
                min_size=request.min_size,
                scribbles=strokes,
                n_jobs=request.threads,
                random_state=seed,
                progress=progress,
            )
        except ValueError as error:
            # The library's refusals are written for people; only names are others here.
            raise InputError(f"{request.image}: {_with_options(str(error))}") from error
        except MemoryError:
            raise InputError(
                f"{request.image} is too large for the memory there is; scale it down."
            ) from None
    seconds = time.perf_counter() - start
    n_strokes = None if strokes is None else _n_strokes(strokes)
    return Result(labels, np.bincount(labels.ravel()).tolist(), n_strokes, seconds)


def _with_options(message: str) -> str:
    """Name the options where the library names its arguments."""
    for name, option in (
        ("n_segments", "--segments"),
        ("spatial_bandwidth", "--spatial-bandwidth"),
        ("range_bandwidth", "--range-bandwidth"),
        ("merge_bandwidth", "--merge-bandwidth"),
        ("min_size", "--min-size"),
    ):
        message = message.replace(name, option)
    return message


def _report(request: Request, result: Result) -> dict[str, Any]:
    h, w = result.labels.shape
    return {
        "image": str(request.image),
        "height": h,
        "width": w,
        "method": request.method,
        "n_segments": len(result.sizes),
        "sizes": result.sizes,
        "n_strokes": result.n_strokes,
        "output": None if request.output is None else str(request.output),
        "overlay": None if request.overlay is None else str(request.overlay),
        "seconds": round(result.seconds, 6),
        "versions": versions("scikit-image"),
    }


def _summarise(request: Request, result: Result, console: Console) -> None:
    console.say(f"{shown_sizes(result.sizes, 'segment')}.")
    written = [str(path) for path in (request.output, request.overlay) if path is not None]
    if request.output is not None and request.output.suffix.lower() == ".png":
        written[0] += f" ({8 if len(result.sizes) <= 256 else 16} bits)"
    where = f" Written: {listed(written)}." if written else ""
    console.say(f"Time: {result.seconds:.2f} s.{where}")
