"""`bot status` of runs in folders."""

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import typer

from bot.budgets.figures import Figure
from bot.cli.output import number, print_json, print_table
from bot.engine.run_record import Doing
from bot.execution.folder import run_folders
from bot.status.runs import RunStatus, run_status
from state.errors import UsageError

_COLUMNS = (
    "run",
    "status",
    "nodes",
    "best",
    "time: spent / left / projected",
    "money: spent / left / projected",
    "calls",
    "executions",
    "submissions",
    "now",
)


def show_runs(folders: list[Path], *, json: bool) -> None:
    """Print the status of the runs in some folders, and exit with 1 if one of them cannot be read.

    Raises:
        UsageError: there is no such folder.
    """
    if missing := [path for path in folders if not path.is_dir()]:
        raise UsageError(f"there is no folder {missing[0]}: name a run, or the folder that holds the runs")
    now = datetime.now(UTC)
    statuses = [run_status(folder, now) for folder in run_folders(folders)]
    if json:
        for status in statuses:
            print_json(asdict(status))
    elif statuses:
        print_table(_COLUMNS, [_row(s, now) for s in statuses])
    else:
        typer.echo(f"there are no runs in {', '.join(map(str, folders))}")
    raise typer.Exit(int(any(s.status == "unreadable" for s in statuses)))


def _row(status: RunStatus, now: datetime) -> tuple[str, ...]:
    doing = "; ".join(_doing(work, now) for work in status.doing) or status.note or ""
    if not status.budget:
        return (status.run_id, status.status, *["–"] * 7, doing)
    nodes = str(status.nodes) if status.steps is None else f"{status.nodes} of {status.steps}"
    unpriced = f", and {status.unpriced_calls} calls of unknown price" if status.unpriced_calls else ""
    return (
        status.run_id,
        status.status,
        nodes,
        number(status.best_score),
        _three(status.budget["wall_seconds"], "{:.0f} s"),
        _three(status.budget["money"], "${:.2f}") + unpriced,
        *(_count(status.budget[kind]) for kind in ("calls", "executions", "submissions")),
        doing,
    )


def _three(figure: Figure, form: str) -> str:
    return " / ".join(
        "–" if value is None else form.format(value) for value in (figure.spent, figure.left, figure.projected)
    )


def _count(figure: Figure) -> str:
    return f"{figure.spent:.0f}" if figure.cap is None else f"{figure.spent:.0f} of {figure.cap:.0f}"


def _doing(work: Doing, now: datetime) -> str:
    seconds = max(0.0, (now - datetime.fromisoformat(work.since)).total_seconds())
    return f"{work.sentence}, for {seconds:.0f} s"
