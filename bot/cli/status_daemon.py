"""`bot status` of the daemon, from its database, for a person or as JSON."""

from collections.abc import Sequence
from pathlib import Path

import typer

from bot.cli.configuration import settings_file
from bot.cli.daemon_reading import as_json, daemon_to_read
from bot.cli.output import print_json, print_table
from bot.cli.status_lines import COLUMNS, daemon_lines, detail_lines, row
from bot.configuration import read_settings
from bot.status.accounts import Allowance
from bot.status.status import status_of
from state.errors import UsageError
from state.words import did_you_mean

_TABLE = 100
"""Most characters of the table's width on a pipe."""


def show_daemon(config: Path | None, names: Sequence[str], *, json: bool) -> None:
    """Print the status of the daemon and its competitions, or only of the named ones.

    Raises UsageError if a name is not a competition's, and what reading the configuration and the database raises.
    """
    settings = read_settings(settings_file(config))
    with daemon_to_read(config) as store:
        status = status_of(store, Allowance(settings.budget, settings.competitions), names)
        if len(status.competitions) < len(set(names)):
            known_names = [c.competition for c in status_of(store, Allowance()).competitions]
            known_names = sorted({*known_names, *settings.competitions})
            unknown = next(name for name in names if name not in known_names)
            suggestion = did_you_mean(unknown, known_names)
            raise UsageError(f"{unknown} is neither a folder nor one of the daemon's competitions: {suggestion}")
    if json:
        print_json(as_json(status))
        return
    daemon, competitions = status.daemon, status.competitions
    for line in daemon_lines(daemon, competitions):
        typer.echo(line)
    if not competitions:
        typer.echo("no competitions yet: add [competitions.NAME] to bot.toml, or write it with `bot init NAME`")
        return
    print_table(COLUMNS, list(map(row, competitions)), width=_TABLE)
    problems = [problem.sentence for problem in daemon.problems]
    for competition in competitions:
        for line in detail_lines(competition, daemon.now, problems, running=daemon.running):
            typer.echo(line)
