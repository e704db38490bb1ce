"""Contradictions between tables of bot.toml that are each valid by themselves."""

from collections.abc import Iterator, Sequence
from typing import get_args

from bot.agents import REPLAYS_ONLY
from bot.configuration.competition import CompetitionSettings
from bot.configuration.lines import KeyPath
from bot.configuration.settings import Settings
from bot.evaluation.metrics.registry import METRICS, PredictionKind, nearest_metric
from bot.models import Usage
from bot.models.pricing import Pricing
from bot.models.sections import is_almost_built_in
from scrapers.kaggle.settings import KAGGLE
from scrapers.snapshots.card import OWN_GRADER


def contradictions(settings: Settings) -> Iterator[tuple[KeyPath, str]]:
    """Yield the key of each contradiction, and the rest of a sentence that begins with that key."""
    if settings.daemon.rehearsal and settings.kaggle.url == KAGGLE:
        sentence = "must be false when [kaggle] url is Kaggle's own: this key is only for `bot rehearse`"
        yield ("daemon", "rehearsal"), sentence
    models, competitions = settings.models, settings.competitions
    models_at: dict[KeyPath, str | None] = {("models", "model"): models.model}
    models_at |= {("models", "roles", role): model for role, model in models.roles.items()}
    for slug, competition in competitions.items():
        if settings.run.agent in REPLAYS_ONLY and "agent" not in competition.model_fields_set:
            agent = f"{settings.run.agent}, the one set in [run]"
            yield ("competitions", slug), f"needs an `agent`: {agent}, works only in replays"
        models_at[("competitions", slug, "model")] = competition.model
        models_at |= {("competitions", slug, "roles", role): model for role, model in competition.roles.items()}
    for path, model in models_at.items():
        if model and is_almost_built_in(model):
            yield path, 'is not a model; did you mean "builtin"?'
    yield from _prices(settings)
    for slug, competition in competitions.items():
        model_names = [competition.model] if competition.model else [models.model, *models.roles.values()]
        names = [name.removeprefix("openai:") for name in (*model_names, *competition.roles.values()) if name]
        if competition.model != "builtin" and (reason := cost_without_cap(settings, competition, names)):
            yield ("competitions", slug), reason
    for slug, competition in competitions.items():
        yield from _scoring(("competitions", slug), competition)


def _scoring(path: KeyPath, competition: CompetitionSettings) -> Iterator[tuple[KeyPath, str]]:
    """Yield unusable metrics. A missing grader is not a contradiction: the bot waits for it."""
    name = competition.metric
    if competition.grader is not None:
        kinds = get_args(PredictionKind)
        predictions = (competition.metric_params or {}).get("predictions", kinds[0])
        if predictions not in kinds:
            choices = ", ".join(f'"{kind}"' for kind in kinds)
            yield (*path, "metric_params", "predictions"), f"must be one of {choices} if a {OWN_GRADER} is used"
    elif name is not None and ("/" in name or name.endswith(".py")):
        yield (*path, "metric"), f"must be the path of a file named {OWN_GRADER}, or the name of a metric"
    elif name is not None and name not in METRICS:
        sentence = f"must be a metric that the bot can compute, or the path of a file named {OWN_GRADER}"
        yield (*path, "metric"), f"{sentence}; {nearest_metric(name)}"


def _prices(settings: Settings) -> Iterator[tuple[KeyPath, str]]:
    """Yield the models for which no cap on money could be kept."""
    models_at, all_capped = _capped_models(settings), settings.budget.money(settings.run.budget) is not None
    yield from _unpriced(models_at, Pricing(settings.models.prices))
    for number, fallback in enumerate(settings.models.fallback if models_at or all_capped else ()):
        place: KeyPath = ("models", "fallback", number)
        own_models = {(*place, "model"): fallback.model} if fallback.model else {}
        own_models |= {(*place, "roles", role): model for role, model in fallback.roles.items()}
        yield from _unpriced(own_models, Pricing({**settings.models.prices, **fallback.prices}))


def cost_without_cap(settings: Settings, competition: CompetitionSettings, names: Sequence[str]) -> str | None:
    """Return the problem if a competition's models cost money without a daily cap: its run lasts for weeks, unattended.

    `names` are its models at the first endpoint; fallback models are added.
    """
    if competition.max_cost_per_day is not None or settings.budget.day.money is not None:
        return None
    models, call = settings.models, Usage(prompt_tokens=1, completion_tokens=1)
    prices_of = [(name, models.prices) for name in names]
    for fallback in models.fallback:
        own_names = [fallback.model] if fallback.model else names
        prices_of += [(name, {**models.prices, **fallback.prices}) for name in (*own_names, *fallback.roles.values())]
    priced = sorted({name for name, prices in prices_of if Pricing(prices).cost(name, call)})
    if not priced:
        return None
    return f"needs max_cost_per_day (or `money` under [budget.day]) because its models cost money ({', '.join(priced)})"


def _capped_models(settings: Settings) -> dict[KeyPath, str]:
    """Return the models that are used under a cap on money, by the keys that name them."""
    models, all_capped = settings.models, settings.budget.money(settings.run.budget) is not None
    models_at: dict[KeyPath, str] = {}
    if all_capped:
        models_at |= {("models", "model"): models.model} if models.model else {}
        models_at |= {("models", "roles", role): model for role, model in models.roles.items()}
    for slug, competition in settings.competitions.items():
        if not all_capped and {competition.max_cost, competition.max_cost_per_day, competition.budget.money} == {None}:
            continue
        if model := competition.model or models.model:
            models_at[("competitions", slug, "model") if competition.model else ("models", "model")] = model
        for role, model in {**models.roles, **competition.roles}.items():
            place = ("competitions", slug) if role in competition.roles else ("models",)
            models_at[*place, "roles", role] = model
    return models_at


def _unpriced(models_at: dict[KeyPath, str], pricing: Pricing) -> Iterator[tuple[KeyPath, str]]:
    # Without an address, as a variable may name another one: only models that are sold nowhere are reported.
    for path, name in models_at.items():
        model = name.removeprefix("openai:")
        if model != "builtin" and pricing.cost(model, Usage(prompt_tokens=1, completion_tokens=1)) is None:
            sentence = "names a model of unknown price, so no money cap can be enforced"
            yield path, f'{sentence}: set its price as prices."{model}"'
