"""The status of a daemon as a person reads it: what is printed, whether the daemon was asked or its database read."""

from collections.abc import Sequence
from dataclasses import dataclass

import typer

from bot.cli.output import print_table

WIDTH = 100
"""Characters of a line at most."""


@dataclass(frozen=True)
class Page:
    """Lines, a table, and lines."""

    above: Sequence[str]
    table: Sequence[Sequence[str]] = ()
    """The names of its columns first; empty: there is none."""
    below: Sequence[str] = ()


def print_page(page: Page) -> None:
    """Print it on stdout."""
    for line in page.above:
        typer.echo(line)
    if page.table:
        columns, *rows = page.table
        print_table(columns, rows, width=WIDTH)
    for line in page.below:
        typer.echo(line)
