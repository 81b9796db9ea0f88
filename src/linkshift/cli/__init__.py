"""The `linkshift` command; it starts here, and says what is missing without the `cli` extra."""

from __future__ import annotations

import sys

from linkshift.cli.streams import prepare


def main() -> None:
    """Run the `linkshift` command."""
    prepare()
    try:
        from linkshift.cli.app import app
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
    app(prog_name="linkshift")
