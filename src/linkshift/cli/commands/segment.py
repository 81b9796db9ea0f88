"""`linkshift segment`: read a picture, segment, write, tell."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from linkshift._core.text import counted
from linkshift.cli import options as opt
from linkshift.cli.talking import Console, InputError, passed_on, require, shown_sizes
from linkshift.cli.writing import targets

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from linkshift._core.arrays import Progress

METHODS = ("mean-shift", "kmeans")
_HELP = {
    "image": "Picture: .png, .jpg, .tif, .bmp, .webp or .npy.",
    "overlay": "Draw the borders of segments over the image: .png.",
    "range_bandwidth": "And in colour, in units of Lab.",
    "features": "What pixels are compared by: intensity, rgb, chroma, lab, position, texture, or "
    "several joined by +, such as lab+texture. Default: lab, for kmeans with some of the position.",
    "smooth": "Clusters of kmeans: what a neighbour in another one costs a pixel, in mean squared "
    "distances to its centre; 1 smooths borders and takes specks away. Default: nothing.",
    "segments": "Clusters of kmeans; each may be several segments. Default: from the image.",
    "seed": "Of the random starts of kmeans. Default: 0.",
    "spatial": "How far mean shift sees in place.",
    "output": "Where the labels go: .png (8 bits for up to 256 segments, else 16) or .npy.",
    "scribbles": "Strokes, a picture of the same size. Grey (or .npy): the number of a stroke, 0 "
    "is unmarked. Colour: every colour is a stroke, black and transparent are unmarked. "
    "Pixels of one stroke will be together, of different ones apart.",
    "method": "mean-shift: finds the number of segments; kmeans: clusters of colour and place.",
    "merge": "Neighbouring regions of mean shift merge up to this distance of their mean colours: "
    "larger gives fewer segments.",
    "min_size": "Smaller segments join a neighbour. Default: a three-hundredth of the image.",
}


def segment(
    image: Annotated[Path, opt.argument("IMAGE", _HELP["image"])],
    output: Annotated[Path | None, opt.output(_HELP["output"])] = None,
    overlay: Annotated[Path | None, opt.value("PNG", _HELP["overlay"])] = None,
    scribbles: Annotated[Path | None, opt.value("FILE", _HELP["scribbles"])] = None,
    method: Annotated[str, opt.word(METHODS, _HELP["method"])] = "mean-shift",
    spatial_bandwidth: Annotated[float | None, opt.value("PIXELS", _HELP["spatial"])] = None,
    range_bandwidth: Annotated[float | None, opt.value("NUMBER", _HELP["range_bandwidth"])] = None,
    merge_bandwidth: Annotated[float | None, opt.value("NUMBER", _HELP["merge"])] = None,
    segments: Annotated[int | None, opt.value("K", _HELP["segments"], min=1)] = None,
    features: Annotated[str | None, opt.value("NAMES", _HELP["features"])] = None,
    smooth: Annotated[float | None, opt.value("NUMBER", _HELP["smooth"])] = None,
    min_size: Annotated[int | None, opt.value("PIXELS", _HELP["min_size"], min=1)] = None,
    threads: opt.Threads = None,
    seed: Annotated[int | None, opt.value("N", _HELP["seed"], min=0)] = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Divide a picture into segments.

    Labels go to OUT; what was done is told on stderr.
    """
    if output is None and overlay is None and not json:
        raise InputError(
            "nothing would be written. Give -o labels.png, --overlay borders.png or --json."
        )
    targets.check_targets([image, scribbles], (".png", ".npy"), output=output, overlay=overlay)
    of_shift: dict[str, Any] = {"spatial_bandwidth": spatial_bandwidth}
    of_shift["range_bandwidth"] = range_bandwidth
    of_shift["merge_bandwidth"] = merge_bandwidth
    kmeans = method == "kmeans"
    for_other = of_shift if kmeans else {"segments": segments, "smooth": smooth, "seed": seed}
    other = "mean-shift" if kmeans else "kmeans"
    opt.refuse(f"is for --method {other}; --method {method} has no use for it.", **for_other)
    require("segment", "image", "skimage", "imageio")
    import numpy as np

    from linkshift.cli.reading import pictures
    from linkshift.cli.writing import figures

    console = Console(quiet)
    pixels = pictures.read_image(image)
    strokes = None if scribbles is None else pictures.read_strokes(scribbles, pixels.shape[:2])
    h, w = pixels.shape[:2]
    kind = "grey" if pixels.ndim == 2 else "colour"
    console.say(f"{image}: {w:,} x {h:,} pixels, {kind}, {pixels.dtype}.")
    n_strokes = None if strokes is None else _count_strokes(strokes, scribbles, console)
    asked: dict[str, Any] = {"features": features, "smooth": smooth, "min_size": min_size}
    asked |= {"scribbles": strokes, "n_jobs": threads, **of_shift}
    start = time.perf_counter()
    with console.warnings(), console.progress("Segmenting") as progress, passed_on(f"{image}: "):
        try:
            labels, clusters = _divided(pixels, method, segments, seed, asked, progress)
        except MemoryError:
            text = f"{image} is too large for the memory there is; scale it down."
            raise InputError(text) from None
    seconds = time.perf_counter() - start
    sizes = np.bincount(labels.ravel()).tolist()
    if output is not None:  # first: it may be refused, and then nothing is written
        figures.write_label_image(output, labels)
    if overlay is not None:
        figures.write_overlay(overlay, pixels, labels)
    if json:
        report: dict[str, Any] = {"image": str(image), "height": h, "width": w, "method": method}
        report |= {"n_segments": len(sizes), "sizes": sizes, "n_strokes": n_strokes}
        report |= {"output": targets.name(output), "overlay": targets.name(overlay)}
        report |= {"seconds": round(seconds, 6), "versions": targets.versions("scikit-image")}
        targets.print_json(report)
    console.say(f"{shown_sizes(sizes, 'segment')}.{_why_more(sizes, clusters, segments)}")
    bits = f"{output} ({8 if len(sizes) <= 256 else 16} bits)"
    is_png = output is not None and output.suffix.lower() == ".png"
    console.finish(seconds, bits if is_png else output, overlay)


def _divided(
    pixels: NDArray[Any],
    method: str,
    segments: int | None,
    seed: int | None,
    asked: dict[str, Any],
    progress: Progress | None,
) -> tuple[NDArray[Any], int | None]:
    """Labels of the pixels, and how many clusters k-means was told, or found for itself."""
    import numpy as np

    from linkshift.image import segment as divide
    from linkshift.image.segmentation import suggested_clusters

    if method != "kmeans":
        return divide(pixels, random_state=seed, progress=progress, **asked), segments
    # One generator for both: the result is that of segment() itself.
    random = np.random.RandomState(seed or 0)
    if segments is None:
        segments = suggested_clusters(pixels, asked["features"], asked["n_jobs"], random)
    more: dict[str, Any] = {"n_segments": segments, "random_state": random, "progress": progress}
    return divide(pixels, "kmeans", **more, **asked), segments


def _why_more(sizes: list[int], found: int | None, asked: int | None) -> str:
    """Say why k-means gives other segments than clusters were asked for, or found."""
    if found is None or len(sizes) == found:
        return ""
    clusters = counted(found, "cluster")
    if len(sizes) < found:
        how = "found" if asked is None else "asked for"
        return f" Of the {clusters} {how}, small ones have joined their neighbours."
    return (
        f" They are the connected regions of {clusters}: a cluster that lies in several places is "
        "several segments. For fewer, take a larger --min-size or fewer --segments."
    )


def _count_strokes(strokes: NDArray[Any], scribbles: Path | None, console: Console) -> int:
    marked = strokes[strokes > 0]
    n_strokes = len(set(marked.tolist()))
    console.say(f"{scribbles}: {counted(n_strokes, 'stroke')} on {counted(marked.size, 'pixel')}.")
    if marked.size > strokes.size / 2:
        console.warn(
            f"more than half of {scribbles} is marked. Unmarked is 0, black or "
            "transparent; another background counts as a stroke."
        )
    return n_strokes
