"""Print a stored result again: ``python -m benchmarks.report FILE [--markdown]``."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.report", description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--markdown", action="store_true", help="tables as Markdown")
    parsed = parser.parse_args(arguments)
    record = json.loads(parsed.file.read_text())
    print(heading(record))
    for suite in record["suites"]:
        print("\n" + suite_text(suite, markdown=parsed.markdown))
    return 0


def heading(record: dict[str, Any]) -> str:
    """Say when, where and with what."""
    where, options = record["environment"], record["options"]
    versions = ", ".join(f"{name} {version}" for name, version in where["versions"].items())
    return (
        f"{record['started']}  {where['cpu']}, {where['cores']} cores, Python {where['python']}\n"
        f"{versions}\n"
        f"size {options['size']}, best of up to {options['repeats']}, seed {options['seed']}"
    )


def suite_text(suite: dict[str, Any], *, markdown: bool = False) -> str:
    """Title, table, and how busy the machine was."""
    title = f"## {suite['name']}: {suite['title']}"
    load = " -> ".join(
        "/".join(f"{value:.1f}" for value in suite[when]) or "unknown"
        for when in ("load_before", "load_after")
    )
    table = tables_text([row["cells"] for row in suite["rows"]], markdown=markdown)
    failed = f"\n\nended early:\n{suite['error']}" if suite["error"] else ""
    return f"{title}\n\n{table}\n\n{suite['seconds']:.0f} s; load (1/5/15 min) {load}{failed}"


def tables_text(rows: Sequence[dict[str, Any]], *, markdown: bool = False) -> str:
    """One table, or where rows have a cell "table", one under each name that it has there."""
    if not any("table" in row for row in rows):
        return table_text(rows, markdown=markdown)
    tables: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        rest = {name: value for name, value in row.items() if name != "table"}
        tables.setdefault(str(row.get("table", "")), []).append(rest)
    return "\n\n".join(
        f"### {name}\n\n{table_text(part, markdown=markdown)}" for name, part in tables.items()
    )


def table_text(rows: Sequence[dict[str, Any]], *, markdown: bool = False) -> str:
    """Aligned columns, in the order in which the rows first name them."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    body = [[format_cell(row.get(name)) for name in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(columns, *body, strict=True)]
    numeric = [
        all(not isinstance(row.get(name), str) for row in rows if row.get(name) is not None)
        for name in columns
    ]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.rjust(width) if right else cell.ljust(width)
            for cell, width, right in zip(cells, widths, numeric, strict=True)
        ]
        return f"| {' | '.join(padded)} |" if markdown else "  ".join(padded).rstrip()

    rule = [
        "-" * (width - 1) + (":" if right and markdown else "-")
        for width, right in zip(widths, numeric, strict=True)
    ]
    return "\n".join([line(columns), line(rule), *map(line, body)])


def line_text(cells: dict[str, Any]) -> str:
    """One row on one line, to show progress."""
    return ", ".join(f"{name} {format_cell(value)}" for name, value in cells.items())


def format_cell(value: object) -> str:
    """Three digits that count; whole numbers whole."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "NO"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return str(value)


if __name__ == "__main__":
    sys.exit(main())
