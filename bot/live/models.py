"""Which models a competition's work asks, and the asking of what its pages say, before there is a run."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial

from bot.configuration.competition import CompetitionSettings
from bot.configuration.contradictions import cost_without_cap
from bot.live.budget import open_run
from bot.live.services import Shared
from bot.models import CallLimits
from bot.models.ask import Asker
from bot.models.open_model import open_model, record_change
from bot.models.settings import ModelChoice, ModelSettings
from state.errors import UsageError
from state.progress import create_run, end_run
from state.steps import Steps
from state.tables import Run


def choice_of(models: ModelSettings, settings: CompetitionSettings) -> ModelChoice:
    """Return the models for a competition. Raises UsageError: there is no key, or no such model."""
    spec = settings.model
    if spec is not None and spec != "builtin" and ":" not in spec:
        spec = f"openai:{spec}"
    choice = models.resolve(spec)
    return replace(choice, roles={**(choice.roles or {}), **settings.roles})


def ensure_capped(shared: Shared, slug: str, settings: CompetitionSettings, choice: ModelChoice) -> None:
    """Refuse a model that costs money without a cap a day; `bot config check` knows none that a variable names."""
    if choice.kind == "openai" and (reason := cost_without_cap(shared.settings, settings, choice.models)):
        raise UsageError(f"competitions.{slug} {reason}")


@asynccontextmanager
async def open_reader(shared: Shared, slug: str, settings: CompetitionSettings) -> AsyncIterator[Asker | None]:
    """Open what asks a model about a competition's pages, charged to the competition; None with the built-in model alone.

    Raises UsageError: the model cannot be used, or it costs money without a cap a day.
    """
    choice, run_id = choice_of(shared.machinery.models, settings), f"{slug}-pages"
    if choice.kind == "builtin":
        yield None
        return
    ensure_capped(shared, slug, settings, choice)
    with shared.store.write() as tx:
        if tx.session.get(Run, run_id) is None:
            # With a cutoff it is no live run: nothing is searched or submitted in it.
            model, now = choice.spec, tx.now()
            row = Run(
                id=run_id, competition=slug, agent="pages", model=model, seed=settings.seed, cutoff=now, created_at=now
            )
            create_run(tx, row)
            end_run(tx, run_id, "stopped")

    say = partial(shared.say, slug)
    change = record_change(shared.store, run_id, say)
    builtin = lambda: shared.machinery.builtin.model(settings.seed)  # noqa: E731
    spending = open_run(shared.day, shared.settings.budget, settings, shared.store, run_id, slug)
    models = shared.machinery.models
    async with open_model(
        choice, models, shared.clock, builtin=builtin, max_cost=None, on_change=change, say=say
    ) as model_and_caps:
        asker = Asker(
            model_and_caps.model,
            shared.store,
            run_id,
            shared.clock,
            Steps(shared.store, run_id),
            budget=spending,
            estimate=model_and_caps.estimate,
            limits=CallLimits(max_tokens=models.section.max_tokens),
        )
        try:
            yield asker
        finally:
            await asker.settle()
