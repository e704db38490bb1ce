"""Opening the model of a choice such as `openai:NAME`, with its fallbacks."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from bot.models import Model
from bot.models.bounds import Estimate, free
from bot.models.endpoint import Endpoint, OpenAIModel
from bot.models.fallback import Answerer, AnswererChanged, FallbackModel, LastResort, OnChange
from bot.models.pricing import Pricing
from bot.models.recordings import RecordedModel
from bot.models.settings import ModelChoice, ModelSettings
from state.clock import Clock
from state.store import Store


@dataclass(frozen=True)
class OpenedModel:
    """A model that is ready to answer, and the cost of its tokens."""

    model: Model
    estimate: Estimate


@asynccontextmanager
async def open_model(
    choice: ModelChoice,
    settings: ModelSettings,
    clock: Clock,
    *,
    builtin: Callable[[], Model],
    max_cost: float | None,
    on_change: OnChange = lambda change: None,
    say: Callable[[str], None] = lambda line: None,
) -> AsyncIterator[OpenedModel]:
    """Open the chosen model for one run, with its fallbacks, and close it afterwards.

    Args:
        max_cost: cap in USD of the run; with one, every price must be known.
        on_change: called when another model answers than before (`record_change` stores it with the run).
        say: told once what keeps an endpoint from reading prompts whole.

    Raises:
        UsageError: an endpoint has no key, or a price is unknown under a money cap.
    """
    if choice.kind == "recorded" and choice.folder is not None:
        yield OpenedModel(RecordedModel(choice.folder), free)
    elif choice.kind == "openai":
        async with AsyncExitStack() as stack:
            endpoints = list(_endpoints(choice, settings, max_cost))
            keys = {endpoint.names.key: endpoint.key for _, endpoint, _ in endpoints}
            answerers = []
            for name, endpoint, pricing in endpoints:
                model = OpenAIModel(replace(endpoint, other_keys=keys), pricing, clock, say)
                answerers.append(Answerer(name, await stack.enter_async_context(aclosing(model)), model.estimate))
            if settings.section.builtin_last:
                answerers.append(Answerer("builtin", LastResort(builtin()), free, instant=True))
            if len(answerers) == 1:
                yield OpenedModel(answerers[0].model, answerers[0].estimate)
            else:
                fallback_model = FallbackModel(answerers, clock, on_change)
                yield OpenedModel(fallback_model, fallback_model.estimate)
    else:
        yield OpenedModel(builtin(), free)


def record_change(store: Store, run_id: str, say: Callable[[str], None]) -> OnChange:
    """Return a callback that shows a change of the answering model, and records it as the event `model.changed`."""

    def record(change: AnswererChanged) -> None:
        say(f"model: {change}")
        with store.write() as tx:
            tx.record("model.changed", run_id=run_id, before=change.before, after=change.after, reason=change.reason)

    return record


def _endpoints(
    choice: ModelChoice, settings: ModelSettings, max_cost: float | None
) -> Iterator[tuple[str, Endpoint, Pricing]]:
    """Yield each endpoint in the order of asking, with its name for people and its prices; raises as `open_model`."""
    section = settings.section
    for number in range(len(section.fallback) + 1):
        endpoint = Endpoint.configured(settings, choice, number)
        models = settings.choice_at(choice, number)
        pricing = settings.pricing_at(number)
        pricing.ensure_price_known(models.models, max_cost)
        endpoint_label = f"{models.name} at {endpoint_name(endpoint.base_url)}"
        yield (f"fallback {number} ({endpoint_label})" if number else endpoint_label), endpoint, pricing


def endpoint_name(base_url: str | None) -> str:
    """Return an endpoint's host and port; the rest of its address, which may hold a password, is left out."""
    if base_url is None:
        return "OpenAI"
    parts = urlsplit(base_url)
    return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
