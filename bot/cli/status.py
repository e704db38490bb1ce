"""`bot status`: how the daemon and its competitions stand, or runs in folders."""

import tomllib
from pathlib import Path
from typing import Annotated, Any

import typer

from bot.cli.configured import settings_file
from bot.cli.daemon_store import daemon_database
from bot.cli.options import Config
from bot.cli.output import print_json
from bot.cli.status_page import Page, print_page
from bot.status.asking import Question, ask
from state.errors import UsageError
from state.settings_paths import beside, state_folder

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
    # No name of a competition is a path of several parts.
    if paths and any(path.is_dir() or path.name != str(path) for path in paths):
        _show_runs(paths, json=json)
        return
    file = settings_file(config)
    question = Question(str(file) if file else None, tuple(path.name for path in paths or ()), json)
    found = _asked(file, question) or _read(config, question)
    if found is None:
        _show_runs([_RUNS], json=json)
        return
    if json:
        print_json(found)
        return
    print_page(Page(**found))
    if not question.names and _RUNS.is_dir():
        typer.echo(f"there are folders of runs as well: `bot status {_RUNS}` shows them")


def _asked(file: Path | None, question: Question) -> dict[str, Any] | None:
    """Return what a running daemon answers; None where none does, or the file is no right one."""
    try:
        given = tomllib.loads(file.read_text(encoding="utf-8")).get("daemon", {}).get("dir") if file else None
        folder = state_folder(beside(Path(given), file.parent) if file and given is not None else None)
    except (OSError, ValueError, TypeError, AttributeError, RuntimeError):
        return None
    return ask(folder, question)


def _read(config: Path | None, question: Question) -> dict[str, Any] | None:
    """Return what the daemon's database says; None where there is none, but runs are.

    Raises:
        UsageError: there are neither, or it is not known what is asked for.
        ConfigurationError: the configuration is wrong.
        StateCorrupted: the database is damaged.
        StateUnavailable: it cannot be used now.
    """
    database = daemon_database(config)
    if database.is_file():
        # Here, as only who has a database should pay for what reads it.
        from bot.cli.daemon_reading import daemon_to_read
        from bot.cli.status_daemon import look

        with daemon_to_read(config) as store:
            return look(store, question)
    if question.names:
        raise UsageError(
            f"there is no folder {question.names[0]}, and no daemon's database that would know a competition of that "
            "name: name a run, the folder that holds the runs, or with --config the bot.toml that `bot run` uses"
        )
    if not _RUNS.is_dir():
        raise UsageError(
            f"there is neither a daemon's database {database} nor a folder {_RUNS}: name the bot.toml that `bot run` uses, "
            "a run, or the folder that holds the runs"
        )
    return None


def _show_runs(asked: list[Path], *, json: bool) -> None:
    # Here, as only who has runs should pay for what reads them.
    from bot.cli.status_runs import show_runs

    show_runs(asked, json=json)
