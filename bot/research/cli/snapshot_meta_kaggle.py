"""`bot snapshot list meta-kaggle` and `bot snapshot import meta-kaggle`: past competitions out of Kaggle's own export."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from pydantic_core import to_jsonable_python

from bot.cli.options import Json
from bot.cli.output import Say, print_json, print_table, progress_line
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.research.cli.snapshot_import_mle_bench import import_places
from bot.research.importers.meta_kaggle.competitions import MetaCompetition, read_competitions
from bot.research.importers.meta_kaggle.export import Export, open_export
from bot.research.importers.meta_kaggle.importing import ImportResult, import_competition
from bot.research.importers.mle_bench.prepared_files import find_places
from bot.research.importers.mle_live.folders import TaskSnapshot, read_tasks
from bot.research.importers.staging import importing_into, staging_folder
from scrapers.snapshots.manifest import MANIFEST
from state.clock import SystemClock
from state.errors import UsageError
from state.words import plural, slug_of

Folder = Annotated[Path, typer.Argument(help="folder with Meta Kaggle's CSV files (converted once, into parquet/)")]

list_app = typer.Typer(name="list", help="List competitions that can become snapshots.", no_args_is_help=True)


@list_app.command("meta-kaggle")
def list_meta_kaggle(
    folder: Folder,
    mle_bench: Annotated[bool, typer.Option("--mle-bench", help="only competitions that are in MLE-bench")] = False,
    min_messages: Annotated[int, typer.Option(help="minimum number of messages before the deadline")] = 0,
    min_kernels: Annotated[int, typer.Option(help="minimum number of public notebooks before the deadline")] = 0,
    metric: Annotated[str, typer.Option(help="only competitions whose metric contains this text")] = "",
    json: Json = False,
) -> None:
    """List competitions that can become snapshots, with the size of their communities.

    Example: bot snapshot list meta-kaggle meta-kaggle --mle-bench --min-messages 200
    """
    with _open(folder) as (_, competitions, _):
        selected = [
            competition
            for competition in competitions
            if competition.obstacle is None
            and competition.messages >= min_messages
            and competition.kernels >= min_kernels
            and metric.casefold() in (competition.metric or "").casefold()
            and (competition.in_mle_bench or not mle_bench)
        ]
    if json:
        print_json({"competitions": to_jsonable_python([asdict(competition) for competition in selected])})
        return
    columns = ("competition", "deadline", "topics", "messages", "notebooks", "teams", "metric", "MLE-bench")
    print_table(columns, [_row(competition) for competition in selected])
    typer.echo(f"{len(selected):,} of {plural(len(competitions), 'competition')}")
    obstacles = Counter(competition.obstacle for competition in competitions if competition.obstacle)
    for obstacle, count in obstacles.most_common():
        typer.echo(f"not listed: {count:,}, because {obstacle}")


def import_meta_kaggle(
    folder: Folder,
    out: Annotated[Path, typer.Option(help="folder for the snapshots; existing ones are skipped")],
    competition: Annotated[
        list[str] | None,
        typer.Option(metavar="SLUG", help="import only this competition; can be repeated (default: all in --data)"),
    ] = None,
    code: Annotated[Path | None, typer.Option(help="folder with Meta Kaggle Code (default: import no code)")] = None,
    data: Annotated[
        Path | None,
        typer.Option(
            help="folder with MLE-bench's prepared data, or with snapshots that have data and answers; required for replays"
        ),
    ] = None,
    package: Annotated[Path | None, typer.Option(help="folder mlebench/competitions (only for MLE-bench data)")] = None,
    json: Json = False,
) -> None:
    """Make snapshots of past competitions with their communities, dated by day.

    Values known only as of the export are left out, and so are people's names. Exits with 1 if an import fails.

    Example: bot snapshot import meta-kaggle meta-kaggle --code meta-kaggle-code --data tasks --out snapshots
    """
    if not competition and not data:
        raise UsageError("pass competitions with --competition, or a folder with their data with --data")
    if code and not code.is_dir():
        raise UsageError(f"--code: no such folder: {code}")
    slugs = [slug_of(name) for name in competition or ()]
    results: list[ImportResult] = []
    with importing_into(out), staging_folder(out / "tasks") as task_folder:
        tasks = _read_tasks(data, package, slugs, task_folder) if data else {}
        with _open(folder, slugs or None) as (export, all_competitions, say):
            competitions = [c for c in all_competitions if slugs or c.slug in tasks]

            def report(activity: str) -> None:
                number = len(results)
                title = f"{competitions[number].slug} ({number + 1} of {len(competitions)})"
                say(f"{title}: {activity}", number / len(competitions))

            for past_competition in competitions:
                task = tasks.get(past_competition.slug)
                result = import_competition(
                    export, past_competition, out, METRIC_DIRECTIONS, code=code, task=task, report=report
                )
                results.append(result)
        missing_slugs = sorted(() if slugs else tasks.keys() - {c.slug for c in competitions})
        results += (ImportResult(slug, "failed", reason="not in the export") for slug in missing_slugs)
    _print(results, json=json)
    if any(result.status == "failed" for result in results):
        raise typer.Exit(1)


def _read_tasks(data: Path, package: Path | None, slugs: Sequence[str], folder: Path) -> Mapping[str, TaskSnapshot]:
    """Return the snapshots in `data`, or those that are made in `folder` of what MLE-bench prepared there."""
    if (data / MANIFEST).is_file() or next(data.glob(f"*/{MANIFEST}"), None):
        return read_tasks(data)
    competitions = find_places([data], package, slugs)
    new_competitions = [c for c in competitions if not (folder.parent / c.slug).exists()]
    tasks = {competition.slug: TaskSnapshot(folder, None) for competition in competitions}
    results = import_places(new_competitions, folder, None)
    if any(result.status != "failed" for result in results):
        tasks |= read_tasks(folder)
    return tasks | {r.slug: TaskSnapshot(folder, None, r.problems) for r in results if r.status == "failed"}


@contextmanager
def _open(folder: Path, slugs: Sequence[str] | None = None) -> Iterator[tuple[Export, list[MetaCompetition], Say]]:
    with progress_line(30.0) as say, open_export(folder, say) as export:
        say("counting topics, messages and notebooks")
        yield export, read_competitions(export, SystemClock().now(), slugs), say


def _row(competition: MetaCompetition) -> tuple[str, ...]:
    counts = map("{:,}".format, (competition.topics, competition.messages, competition.kernels, competition.teams))
    in_mle_bench = "yes" if competition.in_mle_bench else ""
    return (competition.slug, f"{competition.deadline:%Y-%m-%d}", *counts, competition.metric or "", in_mle_bench)


def _print(results: Sequence[ImportResult], *, json: bool) -> None:
    if json:
        print_json({"competitions": [asdict(result) for result in results]})
        return
    columns = ("competition", "status", "topics", "messages", "versions", "with code", "observations", "left out")
    rows = []
    for result in results:
        omitted = "\n".join(f"{reason}: {count:,}" for reason, count in result.omitted.items())
        count_names = ("topics", "messages", "kernels", "sources", "observations")
        cells = (f"{result.counts[name]:,}" if result.counts else "" for name in count_names)
        rows.append((result.slug, result.status, *cells, omitted))
    print_table(columns, rows)
    for result in results:
        if result.reason:
            typer.echo(f"{result.slug}: {result.reason}")
        elif result.community_only:
            typer.echo(f"{result.slug}: the snapshot has no data or answers, so it can be read but not replayed")
