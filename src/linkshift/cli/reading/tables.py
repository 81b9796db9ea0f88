"""A data file becomes a table by its format."""

from __future__ import annotations

import stat
from pathlib import Path

from linkshift.cli.reading.arrays import ArrayTable, read_array
from linkshift.cli.reading.contents import STDIN, SUFFIXES, content_of, suffix_of
from linkshift.cli.reading.frames import FrameTable, read_frame
from linkshift.cli.reading.sparse import SparseTable
from linkshift.cli.talking import Console, InputError, hint

Table = FrameTable | ArrayTable | SparseTable


def read_table(
    path: Path, console: Console, *, header: bool | None = None, id_column: str | None = None
) -> Table:
    """Read a data file by its suffix, or stdin for ``-``, and say what was found out about it."""
    if str(path) != STDIN and (suffix_of(path) in SUFFIXES or not path.exists()):
        check_readable(path)
    content = content_of(path)
    if header is not None and content.suffix not in (".csv", ".tsv"):
        raise InputError(
            f"--header and --no-header are for .csv and .tsv files, not {content.suffix}."
        )
    if content.suffix in (".npz", ".npy"):
        table: Table = read_array(content)
    else:
        with console.warnings():
            table = read_frame(content, header=header, id_column=id_column)
    if not table.names or table.n_rows == 0:
        what = "rows" if table.names else "columns"
        raise InputError(f"{content.path} has no {what}. Give a table with data.")
    for remark in table.remarks:
        console.say(remark)
    return table


def check_readable(path: Path) -> None:
    """Refuse a file that is not there, with a name that may have been meant."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            path.open("rb").close()
    except (FileNotFoundError, NotADirectoryError):
        folder = path.parent
        if path.is_symlink():
            text = f"{path} is a link to a file that does not exist. Give another file."
        elif not folder.is_dir():
            text = f"{path} does not exist; neither does the folder {folder}."
        else:
            there = sorted(item.name for item in folder.iterdir() if item.is_file())
            text = f"{path} does not exist.{hint(path.name, there)}"
        raise InputError(text) from None
    except OSError as error:
        text = f"{path} cannot be read: {error.strerror}. Give a file that can be."
        raise InputError(text) from None
    if stat.S_ISDIR(mode):
        raise InputError(f"{path} is a folder; give a file.")
    if not stat.S_ISREG(mode):
        raise InputError(f"{path} is no ordinary file. Copy what it holds into one.")
