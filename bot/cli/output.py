"""What commands print: a table for people, JSON for programs."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object on one line of stdout."""
    sys.stdout.write(json.dumps(value, allow_nan=False) + "\n")
    sys.stdout.flush()


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None, *, width: int = 200
) -> None:
    """Print a table on stdout, as wide as it needs to be, but no wider than `width`, where stdout is no terminal."""
    # Here, as it takes long to import and many commands print no table.
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else width)
    table = Table(title=title, title_justify="left")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        # Brackets in what others wrote are no markup.
        table.add_row(*map(Text, row))
    console.print(table)


def number(value: float | None, digits: int = 5) -> str:
    """Return a figure for a table; a dash where there is none."""
    return "–" if value is None else f"{value:.{digits}g}"
