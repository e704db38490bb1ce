"""`bot audit`: prove that no prompt of a run held anything newer than its clock, and no label."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from sqlmodel import select

from bot.cli.options import Json
from bot.cli.output import print_result
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.execution.folder import RunFolder
from bot.replay.prepare import read_config
from bot.research.audit.audit import audit_run
from scrapers.posts.ingest import cleaned_rows
from scrapers.snapshots.snapshot import Snapshot
from state.clock import ReplayClock
from state.store import Store
from state.tables import CommunityRow, KernelVersion, Observation, PostedMessage, Topic


def audit(
    run: Annotated[Path, typer.Argument(help="run folder")],
    snapshot: Annotated[Path | None, typer.Option(help="location of the run's snapshot, if it has been moved")] = None,
    json: Json = False,
) -> None:
    """Check every prompt of a run against its database and the snapshot.

    Exits with 1 if anything is found.

    Example: bot audit runs/spooky_author_identification-comind-builtin-0-20261120T101500000000Z
    """
    folder = RunFolder(run)
    run_id, settings = read_config(folder)
    loaded = Snapshot.load(snapshot or settings.snapshot, METRIC_DIRECTIONS, own_data=settings.own_data)
    rows = asyncio.run(cleaned_rows(loaded.community.posts(loaded.path, loaded.card.slug)))
    with Store.open(folder.database, ReplayClock(settings.cutoff)) as store:
        result = audit_run(folder, store, loaded, [*rows, *_further(store, rows)], run_id, settings)
    counts = {"prompts": result.prompts, "items": result.items}
    record = {"run": run_id, "passed": result.passed, **counts, "findings": list(result.findings)}
    verdict = "passed" if result.passed else f"FAILED: {len(result.findings)} finding(s)"
    scope = (
        f"checked {result.prompts} prompts with {result.items} dated items for {result.posts_after_clock} later posts and "
        f"{result.label_rows} hidden answers"
    )
    print_result(record, *result.findings, f"{verdict}; {scope}", json=json)
    if not result.passed:
        raise typer.Exit(1)


def _further(store: Store, rows: Sequence[CommunityRow]) -> list[CommunityRow]:
    """Return the run's posts that are not the snapshot's: its notes, as they were when it began."""
    known_rows = {(type(row), row.id) for row in rows if not isinstance(row, Observation)}
    with store.read() as session:
        topics, messages = session.exec(select(Topic)).all(), session.exec(select(PostedMessage)).all()
        posts: list[Topic | PostedMessage | KernelVersion] = [
            *topics,
            *messages,
            *session.exec(select(KernelVersion)).all(),
        ]
    return [row for row in posts if (type(row), row.id) not in known_rows]
