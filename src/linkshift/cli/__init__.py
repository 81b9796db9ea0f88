"""The `linkshift` command."""

from linkshift.cli.main import main

__all__ = ["main"]
