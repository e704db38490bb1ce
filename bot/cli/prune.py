"""`bot prune`: remove what killed runs left behind, views of old runs, and a competition's community data."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.configuration import configured
from bot.cli.options import Config, Json
from bot.cli.output import print_result
from state.errors import UsageError


def prune(
    folder: Annotated[Path, typer.Argument(help="folder that contains the runs")] = Path("runs"),
    keep_days: Annotated[
        float | None,
        typer.Option(
            min=0, help="keep views of runs that ended within this many days (default: the configured number, or 14)"
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only show what would be removed")] = False,
    config: Config = None,
    forget: Annotated[
        str | None,
        typer.Option(metavar="COMPETITION", help="remove this competition's community data from --database"),
    ] = None,
    database: Annotated[Path | None, typer.Option(help="database for --forget")] = None,
    json: Json = False,
) -> None:
    """Remove what killed runs left behind, and the views of runs that ended long ago.

    Results, reports, databases, execution files and all files of resumable runs are kept.

    With --forget, only a database is pruned: posts, readings, analyses, ideas, drafts, reports, prompts and answers on a
    competition are removed from the file and its backups; scores, submissions, code and spending are kept.

    Example: bot prune runs --keep-days 7 --dry-run
    """
    if forget is not None or database is not None:
        _forget(forget, database, dry_run=dry_run, json=json)
        return
    if not folder.is_dir():
        raise UsageError(f"{folder}: not found; pass the folder that contains the runs")
    settings = configured(config).disk
    days = settings.keep_days if keep_days is None else keep_days
    from bot.execution.disk_space import free_bytes  # here: the help needs neither
    from bot.execution.unneeded_files import prune as prune_runs

    pruned = prune_runs(folder, days, datetime.now(UTC), dry_run=dry_run)
    total, free = sum(p.bytes for p in pruned), free_bytes(folder)
    removed = [asdict(p) for p in pruned]
    record = {"folder": str(folder), "dry_run": dry_run, "removed": removed, "bytes": total, "free_bytes": free}
    lines = [f"{p.message}: {p.bytes / 1e6:.1f} MB" for p in pruned]
    verb = "would free" if dry_run else "freed"
    lines += [f"{verb} {total / 1e6:.1f} MB in {len(pruned)} place(s); the disk has {free / 1e9:.1f} GB free"]
    print_result(record, *lines, json=json)


def _forget(competition: str | None, database: Path | None, *, dry_run: bool, json: bool) -> None:
    if competition is None or database is None:
        raise UsageError("--forget COMPETITION and --database FILE must be used together")
    if not database.is_file():
        raise UsageError(f"database not found: {database}")
    from state.clock import SystemClock
    from state.retention import prunable, prune_community
    from state.store import Store

    with Store.open(database, SystemClock()) as store:
        pruned = (prunable if dry_run else prune_community)(store, competition)
    line = (
        f"{'would remove' if dry_run else 'removed'} {pruned.posts} posts on {competition}, {pruned.readings} readings, "
        f"{pruned.derived} analyses, ideas, drafts and reports, {pruned.bodies} stored prompts and other texts; "
        f"{len(pruned.runs)} run(s) are kept without them"
    )
    print_result({"database": str(database), "dry_run": dry_run, **asdict(pruned)}, line, json=json)
