"""All commands under one roof."""

from __future__ import annotations

from typing import Annotated

import typer

from linkshift import __version__
from linkshift.cli import bandwidths, bench, cluster, datasets, explain, links, predict, segment

# Plain help and errors: they start faster than boxed ones, and can be copied and searched.
app = typer.Typer(
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"linkshift {__version__}")
        raise typer.Exit


@app.callback()
def _linkshift(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Cluster data, with the help of pairs that belong together or apart."""


app.command("cluster")(cluster.cluster)
app.command("predict")(predict.predict)
app.command("explain")(explain.explain)
app.command("bandwidths")(bandwidths.bandwidths)
app.command("segment")(segment.segment)
app.command("datasets")(datasets.datasets)
app.command("bench")(bench.bench)
app.add_typer(links.app, name="links")
