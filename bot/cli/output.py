"""Output of commands: a table and a progress line for people, JSON for programs."""

import json
import math
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import typer

if TYPE_CHECKING:
    from rich.console import Console

_UNBOUNDED = 10_000
"""Characters; wider than any table."""


def print_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object on one line of stdout."""
    sys.stdout.write(json.dumps(value, allow_nan=False) + "\n")
    sys.stdout.flush()


def print_result(record: Mapping[str, Any], *lines: str, json: bool) -> None:
    """Print what a command did: one JSON object, or lines for people."""
    if json:
        print_json(record)
        return
    for line in lines:
        typer.echo(line)


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], title: str | None = None, *, width: int = 200
) -> None:
    """Print a table on stdout; if that is no terminal, at most `width` characters wide.

    Where a column would be narrower than its longest word, each row is printed as lines of its own instead.
    """
    # Imported here: it takes long, and many commands print no table.
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table
    from rich.text import Text

    console = Console(width=None if sys.stdout.isatty() else width)
    table = Table(title=title, title_justify="left")
    for column, cells in zip(columns, zip(columns, *rows, strict=True), strict=True):
        table.add_column(column, overflow="fold", no_wrap=all(" " not in cell for cell in cells))
    for row in rows:
        # As Text, so that brackets in foreign text are not taken for markup.
        table.add_row(*map(Text, row))
    unbounded = console.options.update_width(_UNBOUNDED)
    if Measurement.get(console, unbounded, table).minimum > console.width:
        _print_stacked(console, columns, rows, title)
    else:
        console.print(table)


def _print_stacked(
    console: "Console", columns: Sequence[str], rows: Sequence[Sequence[str]], title: str | None
) -> None:
    """Print each row as a block: its first cell, and below it a line for each other column."""
    from rich.padding import Padding
    from rich.text import Text

    if title:
        console.print(Text(title, style="italic"))
    for first, *cells in rows:
        console.print(Text(" ".join((columns[0], *first.split())).strip(), style="bold", overflow="fold"))
        for column, cell in zip(columns[1:], cells, strict=True):
            if cell:
                line = Text(f"{' '.join(column.split())}: {', '.join(cell.splitlines())}", overflow="fold")
                console.print(Padding(line, (0, 0, 0, 2), expand=False))


def number(value: float | None, digits: int = 5) -> str:
    """Return a number for a table; a dash for None."""
    return "–" if value is None else f"{value:.{digits}g}"


class Say(Protocol):
    """Shows what is being done, and the progress."""

    def __call__(self, activity: str, share: float | None = None) -> None:
        """Show it; `share` of the work is done, from 0 to 1; None: unknown."""


@contextmanager
def progress_line(interval: float = 0.0) -> Iterator[Say]:
    """Show progress on stderr: on a terminal a line that changes, with a bar and the time left, else plain lines.

    Between two plain lines there are at least `interval` seconds; what comes sooner is not shown.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    console, last_line = Console(stderr=True), -math.inf
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=None)

        def say(activity: str, share: float | None = None) -> None:
            nonlocal last_line
            if console.is_terminal:
                progress.update(
                    task, description=activity, total=None if share is None else 1.0, completed=share or 0.0
                )
            elif time.monotonic() - last_line >= interval:
                last_line = time.monotonic()
                typer.echo(activity, err=True)

        yield say
