"""Mean-shift filters against OpenCV's: seconds, and how far OpenCV's result is from the modes."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.harness import Array, Cell, Options, Row, Times, interleave
from linkshift.image import mean_shift_filter

PLACE, COLOUR = 8, 16
FAR = 8  # grey levels
TITLE = (
    f"mean_shift_filter against cv2.pyrMeanShiftFiltering(maxLevel=0), bandwidths {PLACE} and "
    f"{COLOUR}: seconds, OpenCV's over ours, and pixels more than {FAR} levels from the flat "
    "kernel's converged result. The Gaussian has half the bandwidths and ends at two: the same "
    "window."
)
OPENCV = "OpenCV"
FLAT = "converged, 1 thread"


def run(options: Options) -> Iterator[Row]:
    names = options.pick(("astronaut",), ("astronaut",), ("astronaut", "chelsea", "coffee"))
    for name in names:
        image = photograph(name)
        if options.size == "tiny":
            image = np.ascontiguousarray(image[:48, 200:264])
        yield from compare(name, image, options)


def photograph(name: str) -> Array:
    return np.ascontiguousarray(getattr(importlib.import_module("skimage.data"), name)())


def sides(image: Array) -> dict[str, Callable[[], Any]]:
    """Give what is timed, OpenCV where it is installed; its filter runs on one core."""
    ours = partial(mean_shift_filter, image, PLACE, COLOUR)
    half = partial(mean_shift_filter, image, PLACE / 2, COLOUR / 2, kernel="gaussian", truncate=2)
    found: dict[str, Callable[[], Any]] = {
        "opencv mode, 1 thread": partial(ours, mode="opencv", n_jobs=1),
        FLAT: partial(ours, n_jobs=1),
        "converged, 2 threads": partial(ours, n_jobs=2),
        "gaussian, 1 thread": partial(half, n_jobs=1),
        "gaussian, 2 threads": partial(half, n_jobs=2),
    }
    try:
        peer = importlib.import_module("cv2").pyrMeanShiftFiltering
    except ImportError:
        return found
    return {OPENCV: partial(peer, image, PLACE, COLOUR, maxLevel=0), **found}


def compare(name: str, image: Array, options: Options) -> Iterator[Row]:
    small = np.ascontiguousarray(image[:8, :8])
    for warm_up in sides(small).values():  # compile outside the clock
        warm_up()
    # The Gaussian takes many times as long: it must not cost the others their rounds.
    fast = {side: call for side, call in sides(image).items() if "gaussian" not in side}
    slow = {side: call for side, call in sides(image).items() if "gaussian" in side}
    times, results = interleave(fast, options.repeats)
    more_times, more_results = interleave(slow, options.rounds(1, 1, 1))
    times, results = times | more_times, results | more_results
    if OPENCV not in times:
        yield Row({"image": name, "filter": f"{OPENCV} (not installed)"})
    for side, clock in times.items():
        yield Row(cells(name, image, side, times, results), {side: clock})


def cells(
    name: str, image: Array, side: str, times: dict[str, Times], results: dict[str, Any]
) -> dict[str, Cell]:
    clock, peer = times[side], times.get(OPENCV)
    off = np.abs(results[side].astype(int) - results[FLAT].astype(int)).max(axis=2)
    same = None if peer is None else bool(np.array_equal(results[side], results[OPENCV]))
    return {
        "image": name,
        "size": f"{image.shape[0]} x {image.shape[1]}",
        "filter": side,
        "wall s": clock.best,
        "CPU s": min(clock.cpu),
        "ratio": None if peer is None else peer.best / clock.best,
        "ratio of CPU": None if peer is None else min(peer.cpu) / min(clock.cpu),
        f"% off by > {FAR}": 100.0 * float((off > FAR).mean()),
        f"same as {OPENCV}": same,
    }
