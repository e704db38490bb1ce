"""`bot snapshot write-grader`: have a model write the grader of a snapshot whose metric nobody computes yet."""

import asyncio
from pathlib import Path
from typing import Annotated

import typer

from bot.agents.builtin import BuiltinModel
from bot.cli.configured import configured, model_settings, settings_file
from bot.cli.output import print_json
from bot.evaluation.graders.admitting import Vacancy
from bot.evaluation.graders.writing import TRIES, Written, write_grader
from bot.models.open import open_model
from bot.models.settings import ModelChoice, ModelSettings
from state.clock import SystemClock
from state.errors import BotError, GraderNotAdmitted, ModelRefused

__all__ = ["write_grader_command"]


def write_grader_command(
    snapshot: Annotated[Path, typer.Argument(help="the snapshot's folder")],
    model: Annotated[
        str | None, typer.Option(help="builtin, openai:NAME or recorded:DIR; default as of `bot replay`")
    ] = None,
    tries: Annotated[int, typer.Option(min=1, help="graders that are tested before it is given up")] = TRIES,
    replace: Annotated[bool, typer.Option("--replace", help="replace one that a model wrote earlier")] = False,
    config: Annotated[Path | None, typer.Option(help="bot.toml; default: ./bot.toml if it exists")] = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Have a model write `private/grade.py` from the metric's description; it is admitted only if it passes every self-test.

    Scores by such a grader are marked as such wherever they are shown. Exits with 1 where none was admitted.

    Example: bot snapshot write-grader snapshots/my-competition --model openai:gpt-5
    """
    vacancy = Vacancy.open(snapshot, replace=replace)
    models = model_settings(configured(settings_file(config)))
    clock = SystemClock()
    try:
        written = asyncio.run(_write(vacancy, models, models.resolve(model), tries, clock))
    except (GraderNotAdmitted, ModelRefused) as error:
        _refused(error, snapshot, json=json)
        raise typer.Exit(1) from error
    path = vacancy.fill(written, clock.now())
    if json:
        findings = {finding.name: finding.passed for finding in written.findings}
        print_json({"admitted": True, "grader": str(path), "model": written.model, "tries": written.tries, **findings})
        return
    for finding in written.findings:
        typer.echo(f"passed: {finding.name}")
    typer.echo(f"{path}: written by {written.model}, admitted at try {written.tries}")


async def _write(
    vacancy: Vacancy, models: ModelSettings, choice: ModelChoice, tries: int, clock: SystemClock
) -> Written:
    async with open_model(choice, models, clock, builtin=lambda: BuiltinModel(0), max_cost=None) as opened:
        return await write_grader(vacancy.prompt(), opened.model, vacancy.test, tries=tries)


def _refused(error: BotError, snapshot: Path, *, json: bool) -> None:
    if json:
        print_json({"admitted": False, "snapshot": str(snapshot), "message": str(error)})
    else:
        typer.echo(str(error))
