"""All commands under one roof, each loaded when it is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from linkshift import __version__
from linkshift.cli.talking import exit_codes

_NAMES = [
    "cluster",
    "predict",
    "explain",
    "ask",
    "label",
    "bandwidths",
    "segment",
    "datasets",
    "bench",
    "links",
]


_ELSEWHERE = {
    "report": "cluster writes the page: linkshift cluster DATA --report report.html",
    "plot": "cluster draws the picture: linkshift cluster DATA --plot clusters.png",
    "save": "cluster saves the model: linkshift cluster DATA --save model.npz",
    "fit": "It is called cluster: linkshift cluster DATA",
}


class _Commands(Mapping[str, Any]):
    """Commands by name; the module of one is imported when it is looked up."""

    def __getitem__(self, name: str) -> Any:
        if name not in _NAMES:
            raise KeyError(name)
        module = import_module(f"linkshift.cli.commands.{name}")
        app = getattr(module, "app", None)  # of a command that has commands of its own
        if app is None:
            app = typer.Typer(rich_markup_mode=None, add_completion=False)
            app.command(name)(getattr(module, name))
        return get_command(app)

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


class _Group(TyperGroup):
    """The command: finds its commands late, and leaves with their exit codes."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = _Commands()

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; of what looks like one, say where it is."""
        if args and (instead := _ELSEWHERE.get(args[0])):
            raise typer.BadParameter(f"There is no command {args[0]!r}. {instead}")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """Run a command."""
        with exit_codes():
            return super().invoke(ctx)


# Plain help and errors: they start faster than boxed ones, and can be copied and searched.
app = typer.Typer(
    cls=_Group,
    rich_markup_mode=None,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"linkshift {__version__}")
        raise typer.Exit


_VERSION = typer.Option(
    "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
)


@app.callback()
def _linkshift(version: Annotated[bool, _VERSION] = False) -> None:
    """Cluster data, with the help of pairs that belong together or apart."""
