"""``python -m linkshift.cli`` is the `linkshift` command."""

from linkshift.cli import main

main()
