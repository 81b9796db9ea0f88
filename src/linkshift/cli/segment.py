"""`linkshift segment`: the options. The work is in `_segmenting`, imported when it starts."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from linkshift.cli import _options as opt
from linkshift.cli._console import exit_codes, one_of

METHODS = ("mean-shift", "kmeans")


def segment(
    image: Annotated[
        Path,
        typer.Argument(metavar="IMAGE", help="Picture: .png, .jpg, .tif, .bmp, .webp or .npy."),
    ],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="OUT",
            help="Where the labels go: .png (8 bits for up to 256 segments, else 16) or .npy.",
        ),
    ] = None,
    overlay: Annotated[
        Path | None,
        typer.Option(metavar="PNG", help="Draw the borders of segments over the image: .png."),
    ] = None,
    scribbles: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Strokes, a picture of the same size. Grey (or .npy): the number of a stroke, 0 "
            "is unmarked. Colour: every colour is a stroke, black and transparent are unmarked. "
            "Pixels of one stroke will be together, of different ones apart.",
        ),
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            metavar="|".join(METHODS),
            callback=one_of(METHODS),
            help="mean-shift: finds the number of segments; kmeans: clusters of colour and place.",
        ),
    ] = "mean-shift",
    spatial_bandwidth: Annotated[
        float | None,
        typer.Option(metavar="PIXELS", help="How far mean shift sees in place."),
    ] = None,
    range_bandwidth: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", help="And in colour, in units of Lab."),
    ] = None,
    merge_bandwidth: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER",
            help="Neighbouring regions of mean shift merge up to this distance of their mean "
            "colours: larger gives fewer segments.",
        ),
    ] = None,
    segments: Annotated[
        int | None,
        typer.Option(metavar="K", min=1, help="Clusters of kmeans. Default: from the image."),
    ] = None,
    min_size: Annotated[
        int | None,
        typer.Option(
            metavar="PIXELS",
            min=1,
            help="Smaller segments join a neighbour. Default: a three-hundredth of the image.",
        ),
    ] = None,
    threads: opt.Threads = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Of the random starts of kmeans. Default: 0."),
    ] = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Divide a picture into segments.

    Labels go to OUT; what was done is told on stderr.
    """
    with exit_codes():
        from linkshift.cli._segmenting import Request, run

        run(
            Request(
                image=image,
                output=output,
                overlay=overlay,
                scribbles=scribbles,
                method=method,
                spatial_bandwidth=spatial_bandwidth,
                range_bandwidth=range_bandwidth,
                merge_bandwidth=merge_bandwidth,
                segments=segments,
                min_size=min_size,
                threads=threads,
                seed=seed,
                json=json,
                quiet=quiet,
            )
        )
