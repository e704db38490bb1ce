"""The page of `bot status` for people, whether the daemon answered or its database was read."""

from collections.abc import Sequence
from dataclasses import dataclass

import typer

from bot.cli.output import print_table

WIDTH = 80
"""Most characters of a line."""
_TABLE = 100
"""Most characters of the table's width on a pipe."""


@dataclass(frozen=True)
class Page:
    """Lines, a table, and more lines."""

    above: Sequence[str]
    table: Sequence[Sequence[str]] = ()
    """The columns' names come first; empty: there is no table."""
    below: Sequence[str] = ()


def print_page(page: Page) -> None:
    """Print it on stdout."""
    for line in page.above:
        typer.echo(line)
    if page.table:
        columns, *rows = page.table
        print_table(columns, rows, width=_TABLE)
    for line in page.below:
        typer.echo(line)
