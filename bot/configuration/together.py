"""What must hold between tables of bot.toml that are each right in themselves."""

from collections.abc import Iterator

from bot.configuration.lines import KeyPath
from bot.configuration.tree import Settings
from bot.models import Usage
from bot.models.pricing import Pricing
from scrapers.kaggle.client import KAGGLE

__all__ = ["contradictions"]


def contradictions(settings: Settings) -> Iterator[tuple[KeyPath, str]]:
    """Yield the key that each contradiction is told at, and the rest of a sentence that begins with that key."""
    if settings.daemon.speed != 1.0 and settings.kaggle.url == KAGGLE:
        yield (
            ("daemon", "speed"),
            "must be 1 while [kaggle] url is that of Kaggle: a faster clock is for `bot rehearse`",
        )
    yield from _prices(settings)


def _prices(settings: Settings) -> Iterator[tuple[KeyPath, str]]:
    """Yield the models that no cap on money could be kept with."""
    capped = [
        slug for slug, one in settings.competitions.items() if (one.max_cost, one.max_cost_per_day) != (None, None)
    ]
    if settings.budget.money is None and not capped:
        return
    named = _first_named(settings) if settings.budget.money is not None or capped else {}
    for slug, one in settings.competitions.items():
        if settings.budget.money is not None or slug in capped:
            named |= {("competitions", slug, "model"): one.model} if one.model else {}
            named |= {("competitions", slug, "roles", role): model for role, model in one.roles.items()}
    first = Pricing(settings.models.prices)
    yield from _unpriced(named, first)
    for number, fallback in enumerate(settings.models.fallback):
        here: dict[KeyPath, str] = {}
        if fallback.model:
            here["models", "fallback", number, "model"] = fallback.model
        here |= {("models", "fallback", number, "roles", role): model for role, model in fallback.roles.items()}
        yield from _unpriced(here, Pricing({**settings.models.prices, **fallback.prices}))


def _first_named(settings: Settings) -> dict[KeyPath, str]:
    named: dict[KeyPath, str] = {("models", "model"): settings.models.model} if settings.models.model else {}
    return named | {("models", "roles", role): model for role, model in settings.models.roles.items()}


def _unpriced(named: dict[KeyPath, str], pricing: Pricing) -> Iterator[tuple[KeyPath, str]]:
    # Without an address, as a variable may name another one: only what nobody sells under that name is told.
    for path, model in named.items():
        if pricing.cost(model, Usage(prompt_tokens=1, completion_tokens=1)) is None:
            yield (
                path,
                f'names a model without a known price, so that no cap on money can be kept: give it as prices."{model}"',
            )
