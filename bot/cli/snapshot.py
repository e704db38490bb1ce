"""`bot snapshot`: check a snapshot, or write the bundled one."""

from pathlib import Path
from typing import Annotated

import typer

from bot.cli.options import Json, existing
from bot.cli.output import print_result
from state.errors import SnapshotError

snapshot_app = typer.Typer(name="snapshot", help="Check, import or write snapshots.", no_args_is_help=True)


@snapshot_app.command()
def check(
    snapshot: Annotated[Path, typer.Argument(help="snapshot folder")],
    json: Json = False,
) -> None:
    """Check a snapshot, and list everything that is wrong, by file and line.

    Example: bot snapshot check snapshots/spooky-author-identification
    """
    existing([snapshot], quiet=True)
    # Imported here: the help, and a wrong path, need none of it.
    from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
    from scrapers.snapshots.answers import ANSWERS
    from scrapers.snapshots.check import has_task
    from scrapers.snapshots.files import GRADER
    from scrapers.snapshots.snapshot import Snapshot, format_summary

    try:
        community_only = not has_task(snapshot)
        own_data = not community_only and not (snapshot / ANSWERS).parent.exists()
        loaded = Snapshot.load(snapshot, METRIC_DIRECTIONS, own_data=own_data, community_only=community_only)
    except SnapshotError as error:
        problems = [{"file": p.file, "line": p.line, "message": p.message} for p in error.problems]
        record = {"snapshot": str(snapshot), "ok": False, "problems": problems}
        print_result(record, *map(str, error.problems), json=json)
        if not json:
            typer.echo(f"{len(problems)} problem(s)", err=True)
        raise typer.Exit(1) from error
    lines = format_summary(loaded)
    if own_data:
        lines = [*lines, "answers: none (made by `bot solve`); the snapshot can be solved, but not graded or replayed"]
    grader = loaded.path / GRADER
    if loaded.card.metric.name not in METRIC_DIRECTIONS and grader.is_file():
        lines = [*lines, f"grader: the competition's own ({GRADER})"]
    print_result({"snapshot": str(snapshot), "ok": True, "summary": lines}, *lines, json=json)


@snapshot_app.command()
def demo(
    folder: Annotated[Path, typer.Argument(help="empty or new folder")],
) -> None:
    """Write the bundled demo snapshot, made from a scikit-learn data set.

    Example: bot snapshot demo demo-snapshot
    """
    from scrapers.snapshots.demo import write_demo

    typer.echo(str(write_demo(folder)))
