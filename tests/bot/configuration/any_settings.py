"""Random settings that are right, made from what the models say of their fields."""

import types
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from hypothesis import strategies as st
from pydantic import AwareDatetime, BaseModel

from bot.coder.own import CoderSection
from bot.configuration import Settings
from bot.configuration.competition import CompetitionSettings
from bot.knowledge.settings import KnowledgeSettings
from bot.models.pricing import Price
from bot.models.sections import ROLES, FallbackSection

TEXTS = st.text(alphabet="ab Z9-_.\"'\\#=[]{}\n\té€😀\x7f\x00", min_size=1, max_size=8)
BY_NAME: dict[str, st.SearchStrategy[Any]] = {
    "base_url": st.sampled_from(["http://127.0.0.1:8000/v1", "https://h.example/a'b"]),
    "key": st.sampled_from(["OTHER_API_KEY", "A"]),
    "roles": st.dictionaries(st.sampled_from(ROLES), TEXTS, max_size=3),
    "services": st.lists(st.sampled_from(["SLACK_URL", "MAIL_URL"]), unique=True).map(tuple),
    "digest": st.lists(st.sampled_from(["leaderboard.rank", "budget.reached"])).map(tuple),
    "quiet": st.sampled_from(["22:00-07:00", "00:00-00:01"]),
    "digest_hours": st.lists(st.integers(0, 23), min_size=1, max_size=3).map(tuple),
    "time_zone": st.sampled_from(["UTC", "Europe/Zurich"]),
    "runtime": st.sampled_from(["runsc", "nvidia"]),
    "address": st.sampled_from(["auto", "ray://head:10001"]),
    "environment": st.sampled_from(["default", "vision-2"]),
    "submission_file": st.sampled_from(["submission.csv", "s"]),
    "url": st.sampled_from(["http://127.0.0.1:8899/v1", "https://k.example"]),
    "competitions": st.deferred(
        lambda: st.dictionaries(st.sampled_from(["spooky", "DontGetKicked", "a-1"]), competition(), max_size=2)
    ),
    "coder": st.sampled_from(["codex", "mine"]),
    "coders": st.deferred(lambda: st.dictionaries(st.sampled_from(["codex", "mine"]), coder(), max_size=2)),
    "fallback": st.deferred(
        lambda: st.lists(
            values(FallbackSection).map(lambda one: {**one, "model": one.get("model") or "m"}), max_size=2
        ).map(tuple)
    ),
    # Embeddings need a model
    "knowledge": st.deferred(
        lambda: values(KnowledgeSettings).map(lambda one: one if one.get("model") else {**one, "backend": "bm25"})
    ),
    "metric": st.sampled_from(["rmse", "/graders/grade.py"]),
    # A model that is asked and has a price needs a cap
    "prices": st.deferred(lambda: st.dictionaries(TEXTS.map("priced {}".format), values(Price), max_size=2)),
    "money": st.none(),
    "max_cost": st.none(),
    "max_cost_per_day": st.none(),
    # A clock that is fast is not for Kaggle
    "rehearsal": st.just(False),
}


def of_type(annotation: Any, bounds: dict[str, Any]) -> st.SearchStrategy[Any]:
    if get_origin(annotation) is Annotated:
        return of_type(get_args(annotation)[0], bounds)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return st.one_of([of_type(argument, bounds) for argument in arguments])
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin is dict:
        return st.dictionaries(of_type(arguments[0], {}), of_type(arguments[1], {}), max_size=2)
    if origin is tuple:
        return st.lists(of_type(arguments[0], {}), min_size=1, max_size=2).map(tuple)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return values(annotation)
    if annotation is int:
        least, most = bounds.get("ge", bounds.get("gt", -1) + 1), bounds.get("le", 10**15)
        return st.integers(least, most)
    if annotation is float:
        least = bounds.get("ge", bounds.get("gt"))
        most = bounds.get("le", bounds.get("lt", 1e300))
        return st.floats(least, most, exclude_min="gt" in bounds, exclude_max="lt" in bounds, allow_nan=False)
    if annotation in (datetime, AwareDatetime):
        return st.datetimes(timezones=st.just(UTC))
    made = {
        bool: st.booleans(),
        str: TEXTS,
        Path: TEXTS.filter(lambda text: "\0" not in text).map(Path("/srv").joinpath),
    }
    return made.get(annotation, st.none())


def values(model: type[BaseModel]) -> st.SearchStrategy[dict[str, Any]]:
    """Make some keys of a table, the others left out."""
    needed, other = {}, {}
    for name, field in model.model_fields.items():
        bounds = {}
        for one in field.metadata:
            bounds |= {key: getattr(one, key) for key in ("ge", "gt", "le", "lt") if hasattr(one, key)}
        # How often the list of competitions is read has the name of the table of competitions.
        named = name in BY_NAME and field.annotation is not float
        made = BY_NAME[name] if named else of_type(field.annotation, bounds)
        (needed if field.is_required() else other)[name] = made
    return st.fixed_dictionaries(needed, optional=other)


def competition() -> st.SearchStrategy[dict[str, Any]]:
    """Make a competition, whose reserve is part of what it may send."""

    def reserved(found: dict[str, Any]) -> dict[str, Any]:
        most = found.get("max_submissions") or 0
        return {**found, "reserved_submissions": min(found.get("reserved_submissions", 0), most)}

    return values(CompetitionSettings).map(reserved)


def coder() -> st.SearchStrategy[dict[str, Any]]:
    """Make a coding agent, whose environment is variables, not a name."""
    variables = st.dictionaries(st.sampled_from(["A", "b_2"]), TEXTS, max_size=2)
    pairs = st.tuples(values(CoderSection), variables)
    return pairs.map(lambda pair: {**pair[0], "environment": pair[1]})


def any_settings() -> st.SearchStrategy[Settings]:
    return values(Settings).map(Settings.model_validate)
