"""The `linkshift` command."""

from linkshift.cli._main import main

__all__ = ["main"]
