"""`bot prune`: remove what killed runs left behind, and views of old runs."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.configured import configured
from bot.cli.options import Config, Json
from bot.cli.output import print_result
from bot.execution.disk_space import free_bytes
from bot.execution.unneeded_files import prune as prune_runs
from state.errors import UsageError


def prune(
    folder: Annotated[Path, typer.Argument(help="folder with runs, the `--out` of `bot replay`")] = Path("runs"),
    keep_days: Annotated[
        float | None,
        typer.Option(min=0, help="keep views of runs that ended within so many days; default: 14, or as configured"),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only show what would be removed")] = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Remove what killed runs left behind (containers, processes, work folders) and the views of runs that ended long ago.

    Results, reports, databases and files of executions stay, and so does everything of a run that may be resumed.

    Example: bot prune runs --keep-days 7 --dry-run
    """
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}: name the one that holds the runs")
    settings = configured(config).disk
    days = settings.keep_days if keep_days is None else keep_days
    pruned = prune_runs(folder, days, datetime.now(UTC), dry_run=dry_run)
    total, free = sum(p.bytes for p in pruned), free_bytes(folder)
    removed = [asdict(p) for p in pruned]
    record = {"folder": str(folder), "dry_run": dry_run, "removed": removed, "bytes": total, "free_bytes": free}
    lines = [f"{p.said}: {p.bytes / 1e6:.1f} MB" for p in pruned]
    verb = "would free" if dry_run else "freed"
    lines += [f"{verb} {total / 1e6:.1f} MB in {len(pruned)} place(s); the disk has {free / 1e9:.1f} GB free"]
    print_result(record, *lines, json=json)
