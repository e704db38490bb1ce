"""`bot status`: how the daemon and its competitions stand, or runs in folders."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from bot.budgets.figures import Figure
from bot.cli.output import number, print_json, print_table
from bot.runs.folder import run_folders
from bot.runs.standing import Doing, RunStanding, standing
from state.errors import UsageError

_RUNS = Path("runs")
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


def status(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            help="runs, folders that hold runs, or competitions of the daemon; default: the daemon, else runs",
            show_default=False,
        ),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="bot.toml; default: ./bot.toml if it exists")] = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON object, or one a run")] = False,
) -> None:
    """Show how the daemon and each of its competitions stand: what it does, waits for, has spent, and does next.

    With paths it shows how the runs in these folders stand, with competitions those of the daemon alone. Nothing is written
    or held up: it may be asked while they go on. The exit status is 1 if a run cannot be read.

    Example: bot status

    Example: bot status titanic

    Example: bot status runs
    """
    if paths:
        # No name of a competition is a path of several parts.
        if any(path.is_dir() or path.name != str(path) for path in paths):
            _runs(paths, json=json)
        else:
            _competitions([path.name for path in paths], config, json=json)
        return
    # Here, as only who asks for the daemon should pay for reading its configuration.
    from bot.cli.daemon_store import daemon_database

    database = daemon_database(config)
    if database.is_file():
        from bot.cli.status_daemon import show_daemon

        show_daemon(config, json=json)
        if not json and _RUNS.is_dir():
            typer.echo(f"there are folders of runs as well: `bot status {_RUNS}` shows them")
        return
    if not _RUNS.is_dir():
        raise UsageError(
            f"there is neither a daemon's database {database} nor a folder {_RUNS}: name the bot.toml that `bot run` uses, "
            "a run, or the folder that holds the runs"
        )
    _runs([_RUNS], json=json)


def _competitions(names: list[str], config: Path | None, *, json: bool) -> None:
    from bot.cli.daemon_store import daemon_database

    if not daemon_database(config).is_file():
        raise UsageError(
            f"there is no folder {names[0]}, and no daemon's database that would know a competition of that name: name a "
            "run, the folder that holds the runs, or with --config the bot.toml that `bot run` uses"
        )
    from bot.cli.status_daemon import show_daemon

    show_daemon(config, names, json=json)


def _runs(asked: list[Path], *, json: bool) -> None:
    if missing := [path for path in asked if not path.is_dir()]:
        raise UsageError(f"there is no folder {missing[0]}: name a run, or the folder that holds the runs")
    now = datetime.now(UTC)
    found = [standing(folder, now) for folder in run_folders(asked)]
    if json:
        for one in found:
            print_json(asdict(one))
    elif found:
        print_table(_COLUMNS, [_row(one, now) for one in found])
    else:
        typer.echo(f"there are no runs in {', '.join(map(str, asked))}")
    raise typer.Exit(int(any(one.status == "unreadable" for one in found)))


def _row(one: RunStanding, now: datetime) -> tuple[str, ...]:
    doing = "; ".join(_doing(work, now) for work in one.doing) or one.note or ""
    if not one.budget:
        return (one.run_id, one.status, *["–"] * 7, doing)
    nodes = str(one.nodes) if one.steps is None else f"{one.nodes} of {one.steps}"
    more = f", and {one.unpriced_calls} calls of unknown price" if one.unpriced_calls else ""
    return (
        one.run_id,
        one.status,
        nodes,
        number(one.best_score),
        _three(one.budget["wall_seconds"], _seconds),
        _three(one.budget["money"], _dollars) + more,
        *(_count(one.budget[kind]) for kind in ("calls", "executions", "submissions")),
        doing,
    )


def _three(figure: Figure, words: Callable[[float], str]) -> str:
    return " / ".join("–" if value is None else words(value) for value in (figure.spent, figure.left, figure.projected))


def _count(figure: Figure) -> str:
    return f"{figure.spent:.0f}" if figure.cap is None else f"{figure.spent:.0f} of {figure.cap:.0f}"


def _seconds(value: float) -> str:
    return f"{value:.0f} s"


def _dollars(value: float) -> str:
    return f"${value:.2f}"


def _doing(work: Doing, now: datetime) -> str:
    seconds = max(0.0, (now - datetime.fromisoformat(work.since)).total_seconds())
    what = work.action if work.execution is None else f"{work.execution} on {work.view}"
    return f"node {work.node}: {what} for {seconds:.0f} s"
