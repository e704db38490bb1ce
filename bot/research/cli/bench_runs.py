"""What `bot bench` does: the runs of a plan as one piece of work, and their comparison."""

from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import typer
from rich.console import Console

from bot.cli.configuration import configured
from bot.cli.output import print_json, print_table
from bot.cli.running import print_outcome, remove_leftovers, status_of
from bot.execution.disk_space import check_free
from bot.execution.open_leases import open_leases
from bot.report.words import duration, money
from bot.research.bench.bench import Bench, PlannedRun, contender_of, prepare_bench, read_bench, with_folders
from bot.research.bench.engines import Engines, room_for
from bot.research.bench.progress import BenchProgress
from bot.research.bench.spending import BenchSpending, left_to_do, max_needed, spent_by
from bot.research.bench.work import BenchWork
from bot.research.cli.compare import print_comparison
from bot.research.compare.comparison import compare
from bot.research.compare.runs import read_runs
from bot.research.compare.verdict import too_few
from sandbox.locks import Lock, lock_within_seconds
from state.errors import UsageError
from state.words import plural


def run_bench(plan: Path, file: Path | None, fleet: str | None, *, dry_run: bool, plain: bool, json: bool) -> None:
    """Do what `bot bench` does; `file` is bot.toml."""
    settings = configured(file)
    address = settings.fleet.at(fleet).address
    planned = read_bench(plan, file, fleet)
    if dry_run:
        _list(with_folders(planned), json=json)
        return
    check_free(planned.out, settings.disk)
    lock = _locked(plan)
    console = Console(stderr=True)
    for caution in dict.fromkeys(run.setup.caution for run in planned.runs if run.setup.caution):
        typer.echo(caution, err=True)
    remove_leftovers(planned.out)
    statuses = [0]
    with ExitStack() as stack:
        leases, gpus = stack.enter_context(
            open_leases(settings.leases, planned.plan.run.gpus, settings.fleet.at(fleet), settings.sandbox)
        )
        planned = prepare_bench(with_folders(planned), leases, gpus, datetime.now(UTC))
        console.print(_intended(planned), highlight=False, soft_wrap=True)
        progress = BenchProgress(console, planned, plain=plain)
        work: BenchWork | Engines = BenchWork(planned, leases, progress)
        if address is not None:
            work = Engines(planned, room_for(planned, leases, gpus), address, progress)
            stack.close()  # each engine has a connection of its own
        with progress.live.display():
            for outcome in work.outcomes():
                statuses.append(status_of(outcome.result))
                if json:
                    print_outcome(outcome)
    lock.release()
    if work.ended_by is not None:
        console.print(f"ended: {work.ended_by}", highlight=False, soft_wrap=True)
    if missing := left_to_do(planned.runs):
        console.print(f"{len(missing)} of {len(planned.runs)} runs remain: run this again to continue", highlight=False)
    if not json and len(missing) < len(planned.runs):
        print_comparison(compare(read_runs([planned.out]), planned.plan.compared_pairs, planned.plan.comparison_count))
    raise typer.Exit(max(*statuses, 1 if missing else 0))


def _locked(plan: Path) -> Lock:
    """Take the plan's lock, which ends with this process; raises UsageError if another process works on the plan."""
    try:
        lock = lock_within_seconds(plan.resolve())
    except OSError as error:
        raise UsageError(f"cannot lock {plan}: {error.strerror or error}") from error
    if lock is None:
        raise UsageError(f"{plan} is in use by another process")
    return lock


def _intended(planned: Bench) -> str:
    runs_left = left_to_do(planned.runs)
    at_most = max_needed(runs_left)
    cost = f" and {money(at_most.usd)}" if at_most.usd else ""
    forecast = f"; the remaining runs take up to {duration(at_most.seconds)}{cost}" if runs_left else ""
    foreign_runs = f"; runs from other plans: {planned.foreign_runs}" if planned.foreign_runs else ""
    return f"{len(planned.runs)} runs in {planned.out}, {len(planned.runs) - len(runs_left)} finished{forecast}{foreign_runs}"


def _list(planned: Bench, *, json: bool) -> None:
    rows = [(number, run, _state(run)) for number, run in enumerate(planned.runs, 1)]
    if json:
        for number, run, state in rows:
            slug, seed, contender = run.key
            run_facts = {"agent": contender.agent, "variant": list(contender.variant), "model": contender.model}
            times = {"seconds": run.settings.time, "max_cost": run.settings.budget.money}
            print_json({"run": number, "competition_id": slug, "seed": seed, **run_facts, **times, "state": state})
        return
    models = len({run.settings.model for run in planned.runs}) > 1
    cells = [
        (
            str(number),
            run.snapshot.card.slug,
            str(run.settings.seed),
            contender_of(run.settings).title(with_model=models),
            duration(run.settings.time),
            state,
        )
        for number, run, state in rows
    ]
    print_table(("", "competition", "seed", "agent", "time", "state"), cells, width=100)
    typer.echo(_intended(planned))
    if caution := too_few(len(planned.plan.competitions), planned.plan.comparison_count):
        typer.echo(f"This plan has {plural(len(planned.plan.competitions), 'competition')}. {caution}")
    spending, budget = sum(map(spent_by, planned.runs), BenchSpending()), planned.plan.budget
    if budget.time is not None:
        typer.echo(f"budget: {duration(budget.time)} of wall time, {duration(spending.seconds)} used")
    if budget.money is not None:
        typer.echo(f"budget: {money(budget.money)}, {money(spending.usd)} used")


def _state(run: PlannedRun) -> str:
    if not left_to_do([run]):
        return "finished"
    return "started" if spent_by(run).seconds else "to do"
