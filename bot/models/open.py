"""Opening a model: from a choice such as `openai:NAME` to something that answers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from bot.models import Model
from bot.models.bounds import Estimate, free
from bot.models.builtin import BuiltinModel
from bot.models.endpoint import Endpoint, OpenAIModel
from bot.models.pricing import Pricing
from bot.models.recorded import RecordedModel
from bot.models.settings import ModelChoice, ModelSettings
from state.clock import Clock


@dataclass(frozen=True)
class OpenedModel:
    """A model that answers, and what its tokens cost."""

    model: Model
    estimate: Estimate


@asynccontextmanager
async def open_model(
    choice: ModelChoice, settings: ModelSettings, clock: Clock, *, seed: int, max_cost: float | None
) -> AsyncIterator[OpenedModel]:
    """Open the chosen model for one run and close it afterwards.

    Raises:
        UsageError: the endpoint has no key, or a price is unknown under a money cap.
    """
    if choice.kind == "recorded" and choice.folder is not None:
        yield OpenedModel(RecordedModel(choice.folder), free)
    elif choice.kind == "openai":
        pricing = Pricing(settings.section.prices, base_url=settings.base_url)
        pricing.ensure_price_known(choice.models, max_cost)
        async with OpenAIModel(Endpoint.configured(settings, choice), pricing, clock) as model:
            yield OpenedModel(model, model.estimate)
    else:
        yield OpenedModel(BuiltinModel(seed), free)
