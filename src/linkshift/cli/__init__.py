"""The `linkshift` command; it starts here, and says what is missing without the `cli` extra."""

from __future__ import annotations

import contextlib
import os
import sys

from linkshift.cli.streams import prepare


def main() -> None:
    """Run the `linkshift` command."""
    prepare()
    try:
        from linkshift.cli.app import app
        from linkshift.cli.talking import INTERRUPTED
    except ModuleNotFoundError as error:
        # Anything else that is missing is no matter of extras.
        if (error.name or "").partition(".")[0] not in ("typer", "rich", "click"):
            raise
        print(
            f"Error: the linkshift command needs {error.name}, which is not installed.\n"
            'Install it with: pip install "linkshift[cli]"',
            file=sys.stderr,
        )
        sys.exit(2)
    try:
        app(prog_name="linkshift")
    except SystemExit as left:
        if left.code == INTERRUPTED:
            _leave_at_once(INTERRUPTED)
        raise


def _leave_at_once(code: int) -> None:
    """Leave without tidying up: what a compiler has left half done may crash when it is freed."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, OSError, ValueError):  # closed, or none
            stream.flush()
    os._exit(code)
