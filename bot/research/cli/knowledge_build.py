"""`bot knowledge build`: make entries of the knowledge base from past competitions and own runs."""

import asyncio
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.configuration import configured, model_settings, redactor_of
from bot.cli.options import Config
from bot.knowledge.base import write_entry
from bot.knowledge.entry import Entry
from state.clock import SystemClock

Model = Annotated[
    str | None,
    typer.Option(help="builtin or openai:NAME (default: the configured model if it has a key, else builtin)"),
]
MaxCost = Annotated[float | None, typer.Option(min=0, help="maximum model cost of this command, in USD")]
Out = Annotated[Path | None, typer.Option(help="folder for the entries (default: the configured folder)")]

_say = partial(typer.echo, err=True)

build_app = typer.Typer(name="build", help="Build entries from past competitions or your runs.", no_args_is_help=True)


@build_app.command()
def tricks(
    paths: Annotated[list[Path], typer.Argument(help="snapshots, MLE-Live folders, or the daemon's bot.db")],
    limit: Annotated[int, typer.Option(min=1, help="maximum number of write-ups and of notebooks per competition")] = 6,
    model: Model = None,
    max_cost: MaxCost = None,
    config: Config = None,
    out: Out = None,
) -> None:
    """Have a model extract tricks from write-ups and public notebooks.

    An entry is dated by its latest source. Documents that were already read cost nothing.

    Example: bot knowledge build tricks snapshots/spooky-author-identification --limit 3
    """
    # Imported here, as these imports are slow, and `bot knowledge list` needs nothing of it.
    from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
    from bot.research.curation.asker import open_asker
    from bot.research.curation.communities import open_communities
    from bot.research.curation.tricks import tricks_of

    settings, folder, clock = configured(config), _folder(config, out), SystemClock()
    models, redactor = model_settings(settings), redactor_of(settings)
    choice = models.resolve(model)

    async def build() -> list[Entry]:
        entries: list[Entry] = []
        async with open_asker(folder, choice, models, clock, redactor, max_cost, _say) as asker:
            for path in paths:
                async with open_communities(path, clock, METRIC_DIRECTIONS, _say) as competitions:
                    for competition in competitions:
                        entries += await tricks_of(competition, asker, limit, _say)
            cost = asker.totals.cost_usd
            _say(f"{asker.totals.calls} model calls so far, {'cost unknown' if cost is None else f'${cost:.2f}'}")
        return entries

    _write(asyncio.run(build()), folder)


@build_app.command()
def lessons(
    runs: Annotated[list[Path], typer.Argument(help="finished runs, or the daemon's bot.db")],
    config: Config = None,
    out: Out = None,
) -> None:
    """Derive lessons from finished runs: what helped and what did not, by paired differences.

    No model is called, and graded answers are never read.

    Example: bot knowledge build lessons runs/*
    """
    from bot.research.curation.lessons import lessons_of

    _write([entry for path in runs for entry in lessons_of(path, SystemClock())], _folder(config, out))


def _write(entries: Sequence[Entry], folder: Path) -> None:
    for entry in entries:
        typer.echo(str(write_entry(folder, entry)))
    _say(f"{len(entries)} entries written")


def _folder(config: Path | None, out: Path | None) -> Path:
    return out or configured(config).knowledge.folder
