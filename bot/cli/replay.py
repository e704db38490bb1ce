"""`bot replay`: run agents on past competitions and compare them with the real leaderboards."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Annotated, Literal

import typer

from bot.agents import AGENTS
from bot.cli.configured import settings_file
from bot.cli.options import Config, Fleet
from bot.cli.running import remove_leftovers, report, run_all
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.execution.disk_space import check_free
from bot.execution.open_leases import open_leases
from bot.replay.prepare import prepare
from bot.replay.settings import DEFAULT_SECONDS, parse_cutoff, parse_seconds
from bot.replay.setup import ReplayOptions, Setup
from bot.report.words import cutoff_note
from sandbox import BackEndChoice
from scrapers.snapshots.snapshot import Snapshot
from state.errors import UsageError
from state.words import did_you_mean


def replay(
    snapshots: Annotated[list[Path], typer.Argument(help="folders of snapshots")],
    agent: Annotated[str, typer.Option(help=f"{' or '.join(AGENTS)}, or several with commas")] = "comind",
    model: Annotated[
        str | None,
        typer.Option(
            help="builtin, openai:NAME or recorded:DIR; default: the configured one if there is a key, else builtin"
        ),
    ] = None,
    record: Annotated[Path | None, typer.Option(help="record every model call into this folder")] = None,
    cutoff: Annotated[
        str,
        typer.Option(help="`deadline` or an ISO time after the competition's start: nothing later is known"),
    ] = "deadline",
    pace: Annotated[
        Literal["all", "stream"],
        typer.Option(
            help="all: everything up to the cutoff is known from the start; stream: the clock moves from the competition's "
            "start to the cutoff, with the number of nodes if --steps is given (so that a run can be repeated), else with "
            "time, and posts appear when they were posted"
        ),
    ] = "all",
    signals: Annotated[
        Literal["asof", "collected"],
        typer.Option(help="votes, scores and tiers as of the clock; collected: if unknown, as they were collected"),
    ] = "asof",
    no_community: Annotated[bool, typer.Option("--no-community", help="show no posts (CoMind's ablation)")] = False,
    notes: Annotated[
        Path | None,
        typer.Option(help="a folder with notes of your own (.md, .txt, .ipynb, .py), read as posts are; see Replays"),
    ] = None,
    knowledge: Annotated[
        Literal["clock", "all", "none"],
        typer.Option(
            help="entries of the knowledge base that prompts may hold: those that the clock allows; all, which answers the "
            "question of the present day; or none. What was drawn from the same competition is never shown"
        ),
    ] = "clock",
    steps: Annotated[int | None, typer.Option(min=1, help="most nodes, including the safe baseline")] = None,
    time: Annotated[
        str | None, typer.Option(help="a run's wall time until its exit, such as 90s, 5m or 5h; default 5h")
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="cap in USD per run; with an unknown price the run does not start")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=0, help="cap on a run's new tokens: sent and not cached, or received")
    ] = None,
    seed: Annotated[int, typer.Option(help="seed of the first run")] = 0,
    seeds: Annotated[int, typer.Option(min=1, help="runs with seeds SEED to SEED+K-1")] = 1,
    split_seed: Annotated[
        int,
        typer.Option(
            help="seed of the rows that are withheld, the same for all runs, so that scores compare and `bot blend` can blend "
            "their scripts"
        ),
    ] = 0,
    coder: Annotated[
        str | None,
        typer.Option(
            help="who works on CoMind's drafts: `lab`, a shell in a lab of its own; `script`, one script after the other; or a "
            "coding agent of yours, by its name in bot.toml. Default: lab, where a language model answers and the sandbox has "
            "labs"
        ),
    ] = None,
    blend: Annotated[
        bool | None,
        typer.Option(
            "--blend/--no-blend",
            help="blend the predictions of the scored scripts; default: yes, but for aide, its variants and "
            "automind, whose papers have no blend",
        ),
    ] = None,
    reproduction: Annotated[
        bool, typer.Option("--reproduction/--no-reproduction", help="have CoMind run the best public kernels")
    ] = True,
    sandbox: Annotated[BackEndChoice, typer.Option(help="where generated code runs")] = "auto",
    parallel: Annotated[int, typer.Option(min=1, help="nodes that a run works on at once")] = 1,
    cpus: Annotated[
        int | None, typer.Option(min=1, help="cores an execution may use; default: all, shared among --parallel")
    ] = None,
    gpus: Annotated[int | None, typer.Option(min=0, help="GPUs per execution; default: 1 if there is one")] = None,
    fleet: Fleet = None,
    config: Config = None,
    out: Annotated[Path, typer.Option(help="folder in which each run gets a folder")] = Path("runs"),
    json: Annotated[bool, typer.Option("--json", help="print one result.json per line")] = False,
) -> None:
    """Replay past competitions under their clock, and compare what is handed in with the real leaderboard.

    Example: bot replay snapshots/spooky-author-identification --model builtin --time 5m
    """
    options = ReplayOptions(
        time=parse_seconds(time) if time else DEFAULT_SECONDS,
        steps=steps,
        max_cost=max_cost,
        max_tokens=max_tokens,
        cutoff=cutoff,
        pace=pace,
        signals=signals,
        knowledge=knowledge,
        split_seed=split_seed,
        coder=coder,
        sandbox=sandbox,
        parallel=parallel,
        cpus=cpus,
        gpus=gpus,
    )
    setup = Setup.of(options, model, out, settings_file(config), fleet)
    if setup.caution:
        typer.echo(setup.caution, err=True)
    loaded = [Snapshot.load(path, METRIC_DIRECTIONS) for path in snapshots]
    given: dict[str, object] = {
        "notes": _notes(notes, no_community, len(loaded)),
        "record": record.resolve() if record else None,
        **({} if blend is None else {"blend": blend}),
    }
    off = {"no-community": no_community, "no-reproduction": not reproduction}
    left_out = [word for word, asked in off.items() if asked]
    wanted = [*product(loaded, _agents(agent), range(seed, seed + seeds))]
    for snapshot in loaded:
        if note := cutoff_note(parse_cutoff(cutoff, snapshot.card), snapshot.card.deadline):
            typer.echo(f"{snapshot.card.slug}: {note}", err=True)
    if record is not None and len(wanted) > 1:
        raise UsageError("--record takes one run at a time: a recording is keyed by the steps of one run")
    check_free(out, setup.configuration.disk)
    remove_leftovers(out)
    configured = setup.configuration
    with open_leases(configured.leases, gpus, configured.fleet, configured.sandbox) as (leases, held):
        here = replace(setup, gpus=held, leases=leases)
        runs = [(s, here.settings(s, a, n, left_out).model_copy(update=given)) for s, a, n in wanted]
        outcomes = run_all([here.job(run) for run in prepare(runs, out, datetime.now(UTC))], leases, json=json)
    report(outcomes, json=json)


def _notes(folder: Path | None, no_community: bool, competitions: int) -> Path | None:
    """Return the folder of notes as an absolute path; raises UsageError where it makes no sense."""
    if folder is None:
        return None
    if no_community:
        raise UsageError("--notes and --no-community contradict each other: notes are posts")
    if competitions > 1:
        raise UsageError("--notes takes one snapshot at a time: notes are on one competition")
    if not folder.is_dir():
        raise UsageError(f"--notes {folder}: there is no such folder")
    return folder.resolve()


def _agents(text: str) -> Sequence[str]:
    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in AGENTS]
    if unknown or not names:
        wrong = unknown[0] if unknown else text
        raise UsageError(f"--agent: {wrong!r} is no agent; {did_you_mean(wrong, AGENTS)}")
    return list(dict.fromkeys(names))
