"""`bot bench`: the runs of a plan as one piece of work, and their comparison."""

from pathlib import Path
from typing import Annotated

import typer

from bot.cli.configuration import settings_file
from bot.cli.options import Config, Fleet, Json, Plain, existing


def bench(
    plan: Annotated[Path, typer.Argument(help="TOML file with competitions, agents, models, seeds and budget")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only check the plan and list its runs")] = False,
    fleet: Fleet = None,
    config: Config = None,
    plain: Plain = False,
    json: Json = False,
) -> None:
    """Run competitions x agents x models x seeds under one budget, and compare the agents.

    Stop or kill it at any time: the same command continues, and finished runs are not repeated.

    Example: bot bench plan.toml --dry-run
    """
    existing([plan], quiet=json)
    from bot.research.cli.bench_runs import run_bench  # here: neither the help nor a wrong path needs it

    run_bench(plan, settings_file(config), fleet, dry_run=dry_run, plain=plain, json=json)
