"""`bot prune`: remove what killed runs left, and the views of runs that ended long ago."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.configured import configured, settings_file
from bot.cli.output import print_json
from bot.runs.disk import free_bytes
from bot.runs.prune import prune as prune_runs
from state.errors import UsageError


def prune(
    folder: Annotated[Path, typer.Argument(help="folder that holds runs, the `--out` of `bot replay`")] = Path("runs"),
    keep_days: Annotated[
        float | None, typer.Option(min=0, help="keep the views of runs that ended since; default: 14, or as configured")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only say what would go")] = False,
    config: Annotated[Path | None, typer.Option(help="bot.toml; default: ./bot.toml if it exists")] = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Remove what killed runs left (containers, processes, work folders) and the views of runs that ended long ago.

    Results, reports, databases and what executions left stay, and so does all of a run that may be resumed.

    Example: bot prune runs --keep-days 7 --dry-run
    """
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}: name the one that holds the runs")
    settings = configured(settings_file(config)).disk
    days = settings.keep_days if keep_days is None else keep_days
    found = prune_runs(folder, days, datetime.now(UTC), dry_run=dry_run)
    total, free = sum(one.bytes for one in found), free_bytes(folder)
    if json:
        removed = [asdict(one) for one in found]
        print_json({"folder": str(folder), "dry_run": dry_run, "removed": removed, "bytes": total, "free_bytes": free})
        return
    for one in found:
        typer.echo(f"{one.said}: {one.bytes / 1e6:.1f} MB")
    verb = "would free" if dry_run else "freed"
    typer.echo(f"{verb} {total / 1e6:.1f} MB in {len(found)} place(s); the disk has {free / 1e9:.1f} GB free")
