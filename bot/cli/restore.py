"""`bot restore`: replace a damaged database by its automatic backup."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.daemon_store import daemon_database
from bot.cli.options import Config, Json
from bot.cli.output import print_json
from bot.execution.folder import RunFolder
from state.restore import restore as restore_database


def restore(
    run: Annotated[
        Path | None,
        typer.Argument(help="a run's folder, or a database file; default: the daemon's database", show_default=False),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="restore even if the database is sound")] = False,
    backup: Annotated[
        Path | None, typer.Option("--from", help="a daily backup; default: the automatic one beside the database")
    ] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Replace a damaged database by its automatic backup, or by another one; the damaged file is kept aside, never deleted.

    The database loses what happened after the backup was made: a resumed run does it again, asks the site what it may
    have submitted, and counts only the spending that the backup records.

    Example: bot restore runs/spooky_author_identification-comind-builtin-0-20261120T101500000000Z
    """
    done = restore_database(_database(run, config), datetime.now(UTC), force=force, backup=backup)
    newest = None if done.last_event_at is None else done.last_event_at.isoformat(timespec="seconds")
    if json:
        print_json(
            {
                "database": str(done.path),
                "kept_aside": [str(path) for path in done.aside],
                "backup_made_at": done.made_at.isoformat(timespec="seconds"),
                "events": done.events,
                "last_event_at": newest,
            }
        )
        return
    typer.echo(
        f"restored {done.path} from the backup of {done.made_at:%Y-%m-%d %H:%M} UTC: {done.events} events"
        + (f", the last of {newest}" if newest else "")
    )
    for path in done.aside:
        typer.echo(f"kept aside: {path}")


def _database(run: Path | None, config: Path | None) -> Path:
    if run is None:
        return daemon_database(config)
    return RunFolder(run).database if run.is_dir() else run
