"""`bot status` of the daemon: what its database says, for a person or as JSON."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import typer

from bot.cli.daemon_reading import allowance, as_json, daemon_to_read
from bot.cli.output import print_json, print_table
from bot.cli.status_lines import COLUMNS, WIDTH, daemon_lines, detail_lines, row
from bot.status.status import status_of
from state.errors import UsageError


def show_daemon(config: Path | None, names: Collection[str] = (), *, json: bool) -> None:
    """Print how the daemon and its competitions stand, or those of some names alone.

    Raises:
        UsageError: one of the names is no competition's; and as of `daemon_to_read`, with its other errors.
    """
    with daemon_to_read(config) as store:
        found = status_of(store, allowance(config))
    if names:
        known = [one.competition for one in found.competitions]
        if unknown := next((name for name in names if name not in known), None):
            listed = f"they are {', '.join(known)}" if known else "it has none"
            raise UsageError(f"{unknown} is neither a folder nor a competition of the daemon: {listed}")
        found = replace(found, competitions=tuple(one for one in found.competitions if one.competition in names))
    if json:
        print_json(as_json(found))
        return
    for line in daemon_lines(found.daemon):
        typer.echo(line)
    if not found.competitions:
        typer.echo("there are no competitions: each is a table [competitions.SLUG] of bot.toml")
        return
    print_table(COLUMNS, [row(one) for one in found.competitions], width=WIDTH)
    for one in found.competitions:
        for line in detail_lines(one, found.daemon.now):
            typer.echo(line)
