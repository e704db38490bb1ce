"""`bot status` of runs in folders."""

import sys
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import typer
from rich.console import Console

from bot.cli.live_view import run_panel
from bot.cli.output import print_json
from bot.execution.folder import run_folders
from bot.status.runs import run_status
from state.errors import UsageError

_WIDTH = 100
"""Characters of a line on a pipe."""


def show_runs(folders: list[Path], *, json: bool) -> None:
    """Print the status of the runs in some folders, and exit with 1 if one of them cannot be read.

    Raises:
        UsageError: there is no such folder.
    """
    if missing := [path for path in folders if not path.is_dir()]:
        raise UsageError(f"{missing[0]}: not found; pass a run, or the folder that contains the runs")
    now = datetime.now(UTC)
    statuses = [run_status(folder, now) for folder in run_folders(folders)]
    if json:
        for status in statuses:
            print_json(asdict(status))
    elif statuses:
        console = Console(width=None if sys.stdout.isatty() else _WIDTH)
        for status in statuses:
            console.print(run_panel(status, now, status.run_id))
    else:
        typer.echo(f"no runs in {', '.join(map(str, folders))}")
    raise typer.Exit(int(any(s.status == "unreadable" for s in statuses)))
