"""Model calls of curation: steps in a database beside the entries, so that no answer is paid for twice."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from bot.agents.builtin import BUILT_IN
from bot.budgets.levels import Level
from bot.budgets.settings import Caps
from bot.models import CallLimits
from bot.models.ask import Asker
from bot.models.open_model import open_model, record_change
from bot.models.settings import ModelChoice, ModelSettings
from state.clock import Clock
from state.progress import create_run
from state.redaction import Redactor
from state.steps import Steps
from state.store import Store
from state.tables import Run

RUN = "knowledge"
DATABASE = Path("build") / "state.db"
"""Below the folder of entries."""


@asynccontextmanager
async def open_asker(
    folder: Path,
    choice: ModelChoice,
    models: ModelSettings,
    clock: Clock,
    redactor: Redactor,
    max_cost: float | None,
    say: Callable[[str], None],
) -> AsyncIterator[Asker]:
    """Open what asks the model, and close it afterwards.

    `max_cost` is a cap in USD on what is asked until it is closed.

    Raises:
        UsageError: an endpoint has no key, or a price is unknown under the cap.
    """
    with Store.open(folder / DATABASE, clock, redactor=redactor) as store:
        with store.write() as tx:
            if tx.session.get(Run, RUN) is None:
                row = Run(id=RUN, competition="", agent="curation", model=choice.spec, seed=0, created_at=tx.now())
                create_run(tx, row)
        change = record_change(store, RUN, say)
        builtin = lambda: BUILT_IN.model(0)  # noqa: E731
        async with open_model(
            choice, models, clock, builtin=builtin, max_cost=max_cost, on_change=change, say=say
        ) as model_access:
            asker = Asker(
                model_access.model,
                store,
                RUN,
                clock,
                Steps(store, RUN),
                budget=Level("build", Caps(money=max_cost)),
                in_flight=models.section.in_flight,
                limits=CallLimits(max_tokens=models.section.max_tokens),
                estimate=model_access.estimate,
            )
            try:
                yield asker
            finally:
                await asker.settle()
