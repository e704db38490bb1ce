"""`bot status`: how the daemon and its competitions stand, or runs in folders."""

from pathlib import Path
from typing import Annotated

import typer

from bot.cli.daemon_store import daemon_database
from bot.cli.options import Config
from state.errors import UsageError

_RUNS = Path("runs")


def status(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            help="runs, folders that hold runs, or competitions of the daemon; default: the daemon, else runs",
            show_default=False,
        ),
    ] = None,
    config: Config = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON object, or one a run")] = False,
) -> None:
    """Show how the daemon and each of its competitions stand: what it does, waits for, has spent, and does next.

    With paths it shows how the runs in these folders stand, with competitions those of the daemon alone. Nothing is written
    or held up: it may be asked while they go on. The exit status is 1 if a run cannot be read.

    Example: bot status

    Example: bot status titanic

    Example: bot status runs
    """
    if paths:
        # No name of a competition is a path of several parts.
        if any(path.is_dir() or path.name != str(path) for path in paths):
            _show_runs(paths, json=json)
        else:
            _competitions([path.name for path in paths], config, json=json)
        return
    database = daemon_database(config)
    if database.is_file():
        from bot.cli.status_daemon import show_daemon

        show_daemon(config, json=json)
        if not json and _RUNS.is_dir():
            typer.echo(f"there are folders of runs as well: `bot status {_RUNS}` shows them")
        return
    if not _RUNS.is_dir():
        raise UsageError(
            f"there is neither a daemon's database {database} nor a folder {_RUNS}: name the bot.toml that `bot run` uses, "
            "a run, or the folder that holds the runs"
        )
    _show_runs([_RUNS], json=json)


def _competitions(names: list[str], config: Path | None, *, json: bool) -> None:
    if not daemon_database(config).is_file():
        raise UsageError(
            f"there is no folder {names[0]}, and no daemon's database that would know a competition of that name: name a "
            "run, the folder that holds the runs, or with --config the bot.toml that `bot run` uses"
        )
    from bot.cli.status_daemon import show_daemon

    show_daemon(config, names, json=json)


def _show_runs(asked: list[Path], *, json: bool) -> None:
    # Here, as only who has a database or runs should pay for what reads them.
    from bot.cli.status_runs import show_runs

    show_runs(asked, json=json)
