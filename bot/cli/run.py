"""`bot run`: the daemon."""

import asyncio
import faulthandler
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from bot.cli.configuration import daemon_folder, settings_file
from bot.cli.options import Config, Plain, existing
from bot.cli.places import of_place
from bot.status.lock import LOCK, is_running, works_already
from state.errors import BotError, ConfigurationError, UsageError

if TYPE_CHECKING:
    from bot.configuration import Settings
    from bot.logs import Logs
    from state.redaction import Redactor

EX_CONFIG = 78
"""Exit status for a configuration that cannot work, as in sysexits.h: systemd does not restart the bot."""


def run(
    config: Config = None,
    until_over: Annotated[bool, typer.Option("--until-over", help="exit when all competitions have ended")] = False,
    plain: Plain = False,
) -> None:
    """Compete in the configured competitions until stopped.

    It watches, learns, trains, submits and notifies you. SIGTERM and Ctrl-C shut it down cleanly, SIGHUP reloads the
    configuration. Exits with 78 for an unusable configuration, and with 1 if a part fails repeatedly.

    Example: bot run --config bot.toml
    """
    file = settings_file(config)
    if config is not None:
        existing([config], quiet=True)
    if file is None:
        print("bot: no bot.toml here: write one with `bot init`, or pass yours with --config", file=sys.stderr)
        raise typer.Exit(EX_CONFIG)
    # Checked first: what a daemon needs takes seconds to import.
    folder = daemon_folder(file)
    if folder is not None and (folder / LOCK).is_file() and is_running(folder):
        print(f"bot: {works_already(folder)}", file=sys.stderr)
        raise typer.Exit(EX_CONFIG)
    if sys.stderr.isatty():
        print(f"starting with {file}", file=sys.stderr)
    from bot.configuration import read_configuration
    from bot.configuration.own_secrets import open_redactor
    from bot.daemon.service import serve

    try:
        configuration = read_configuration(file)
    except ConfigurationError as error:
        for problem in error.problems:
            print(problem, file=sys.stderr)
        raise typer.Exit(EX_CONFIG) from None
    if not configuration.settings.competitions:
        print(
            f"bot: {file} has no competitions: add a table [competitions.NAME] (see `bot config example`)",
            file=sys.stderr,
        )
        raise typer.Exit(EX_CONFIG)
    tell_of_missing_key(sys.stderr)
    # If a watchdog kills a process that hangs, the log shows where it hung.
    faulthandler.enable()
    redactor = open_redactor(configuration.settings)
    try:
        with _logs(configuration.settings, redactor, plain=plain) as logs:
            asyncio.run(serve(configuration, redactor, logs.say, until_over=until_over))
    except UsageError as error:
        print(f"bot: {redactor.text(str(error))}", file=sys.stderr)
        raise typer.Exit(EX_CONFIG) from None
    except BotError as error:
        print(f"bot: {redactor.text(str(error))}", file=sys.stderr)
        raise typer.Exit(1) from None
    except OSError as error:
        if (sentence := of_place(error)) is None:
            raise
        print(f"bot: {redactor.text(sentence)}", file=sys.stderr)
        raise typer.Exit(EX_CONFIG) from None


@contextmanager
def _logs(settings: "Settings", redactor: "Redactor", *, plain: bool) -> Iterator["Logs"]:
    """Open the log, shown by the live view at a terminal; the view ends first, or an error could not be read."""
    from bot.logs import open_logging

    if plain or not sys.stderr.isatty():
        with open_logging(settings.daemon.log_format, sys.stderr, redactor) as logs:
            yield logs
        return
    from rich.console import Console

    from bot.cli.daemon_view import LogLines, daemon_view

    lines = LogLines()
    view = daemon_view(settings.daemon.folder / "bot.db", settings, lines, Console(stderr=True))
    with open_logging(settings.daemon.log_format, lines, redactor) as logs, view:
        yield logs


def tell_of_missing_key(terminal: TextIO) -> None:
    """Tell a person at a terminal that there is no key; the daemon waits for one, and its log says so in one line only."""
    from scrapers.kaggle.credentials import find_credentials

    if not terminal.isatty():
        return
    try:
        find_credentials()
    except UsageError as error:
        hint = "Run `bot keys set KAGGLE_API_TOKEN` in another shell to store a key; no restart is needed"
        hint += ". Or press Ctrl-C, set the variable and run this command again"
        print(f"bot: cannot start yet. {error}\n{hint}.", file=terminal)
