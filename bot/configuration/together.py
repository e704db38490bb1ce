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
    if settings.daemon.rehearsal and settings.kaggle.url == KAGGLE:
        yield (
            ("daemon", "rehearsal"),
            "must be false while [kaggle] url is that of Kaggle: it is for `bot rehearse`",
        )
    yield from _prices(settings)


def _prices(settings: Settings) -> Iterator[tuple[KeyPath, str]]:
    """Yield the models that no cap on money could be kept with."""
    named = _capped_models(settings)
    yield from _unpriced(named, Pricing(settings.models.prices))
    for number, fallback in enumerate(settings.models.fallback if named or settings.budget.money is not None else ()):
        here: KeyPath = ("models", "fallback", number)
        own = {(*here, "model"): fallback.model} if fallback.model else {}
        own |= {(*here, "roles", role): model for role, model in fallback.roles.items()}
        yield from _unpriced(own, Pricing({**settings.models.prices, **fallback.prices}))


def _capped_models(settings: Settings) -> dict[KeyPath, str]:
    """Return the models that are asked under a cap on money, by the keys that name them."""
    models, all_capped = settings.models, settings.budget.money is not None
    named: dict[KeyPath, str] = {}
    if all_capped:
        named |= {("models", "model"): models.model} if models.model else {}
        named |= {("models", "roles", role): model for role, model in models.roles.items()}
    for slug, one in settings.competitions.items():
        if not all_capped and one.max_cost is None and one.max_cost_per_day is None:
            continue
        if model := one.model or models.model:
            named[("competitions", slug, "model") if one.model else ("models", "model")] = model
        for role, model in {**models.roles, **one.roles}.items():
            named[("competitions", slug, "roles", role) if role in one.roles else ("models", "roles", role)] = model
    return named


def _unpriced(named: dict[KeyPath, str], pricing: Pricing) -> Iterator[tuple[KeyPath, str]]:
    # Without an address, as a variable may name another one: only what nobody sells under that name is told.
    for path, model in named.items():
        if pricing.cost(model, Usage(prompt_tokens=1, completion_tokens=1)) is None:
            yield (
                path,
                f'names a model without a known price, so that no cap on money can be kept: give it as prices."{model}"',
            )
