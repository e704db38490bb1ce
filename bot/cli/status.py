"""`bot status`: the status of the daemon and its competitions, or of runs in folders."""

from pathlib import Path
from typing import Annotated

import typer

from bot.cli.daemon_store import daemon_database
from bot.cli.options import Config, Json
from state.errors import UsageError
from state.words import slug_of

_RUNS = Path("runs")


def status(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            help="run folders, folders that contain runs, or competitions (default: the daemon, else runs)",
            show_default=False,
        ),
    ] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show what the daemon and its competitions do, wait for, have spent and do next.

    With paths: the runs in these folders; with names: only these competitions. It only reads, so you can use it while they
    run. Exits with 1 if a run cannot be read.

    Example: bot status titanic

    Example: bot status runs
    """
    names = tuple(slug_of(str(path)) for path in paths or ())
    # No name of a competition is a path of several parts.
    if paths and any(path.is_dir() or Path(name).name != name for path, name in zip(paths, names, strict=True)):
        _show_runs(paths, json=json)
    elif (database := daemon_database(config)).is_file():
        # Imported here, as `show_runs`: each takes long, and is not always needed.
        from bot.cli.status_daemon import show_daemon

        show_daemon(config, names, json=json)
        if not json and not names and _RUNS.is_dir():
            typer.echo(f"there are also runs in the folder {_RUNS}: `bot status {_RUNS}` shows them")
    elif names:
        raise UsageError(
            f"{names[0]} is neither a folder nor a competition of the daemon; pass a run, the folder "
            "that contains the runs, or --config with the bot.toml that `bot run` uses"
        )
    elif _RUNS.is_dir():
        _show_runs([_RUNS], json=json)
    else:
        raise UsageError(
            f"found neither the daemon's database {database} nor a folder {_RUNS}: pass a run, the folder that contains "
            "the runs, or --config with the bot.toml that `bot run` uses"
        )


def _show_runs(folders: list[Path], *, json: bool) -> None:
    from bot.cli.status_runs import show_runs

    show_runs(folders, json=json)
