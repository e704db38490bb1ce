"""Competitions as the lists and their own pages show them, among others that are made up."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.rehearsal.identity import wire_id
from bot.rehearsal.pages import metric_words
from bot.rehearsal.rendering import slugified
from bot.rehearsal.settings import SiteSettings
from bot.rehearsal.wire import Json, wire_time
from scrapers.snapshots.card import TaskCard

SITE = "https://www.kaggle.com/competitions/"
_FIRST = ("Forecast", "Classify", "Rank", "Segment", "Detect", "Predict", "Match", "Score")
_SECOND = ("Harbour Tides", "Parcel Weights", "Bird Calls", "Loan Terms", "Street Signs", "Soil Samples", "Menu Prices")
_SEGMENTS = ("Featured", "Playground", "Getting Started", "Research", "Community")


@dataclass(frozen=True)
class Listed:
    """A competition of the site."""

    slug: str
    title: str
    category: str
    enabled_at: datetime
    deadline: datetime
    teams: int
    reward: str
    daily: int


def make_others(begins: datetime, settings: SiteSettings) -> list[Listed]:
    """Make up competitions around a time, by seed."""
    rng = random.Random(f"{settings.seed}/others")  # noqa: S311 - nothing secret
    others = []
    for number in range(settings.other_competitions):
        title = f"{rng.choice(_FIRST)} {rng.choice(_SECOND)} {number + 1}"
        starts = begins + timedelta(days=rng.uniform(-90, 30))
        ends = starts + timedelta(days=rng.uniform(30, 400))
        category, reward = rng.choice(_SEGMENTS), rng.choice(("Knowledge", "$10,000", "Swag", "$50,000"))
        others.append(Listed(slugified(title), title, category, starts, ends, rng.randrange(2000), reward, 5))
    return others


def other(one: Listed) -> Json:
    """Return a made-up competition as a Competition."""
    return _common(one.slug, one.title, one.category, one.reward) | {
        "enabledDate": wire_time(one.enabled_at),
        "dateCreated": wire_time(one.enabled_at),
        "deadline": wire_time(one.deadline),
        "mergerDeadline": wire_time(one.deadline - timedelta(days=7)),
        "teamCount": one.teams,
        "maxDailySubmissions": one.daily,
        "maxTeamSize": 5,
        "evaluationMetric": "Root Mean Squared Error",
    }


@dataclass(frozen=True)
class Standing:
    """What of the competition changes while it runs."""

    deadline: datetime
    closed: bool
    """Whether the hosts have closed it before its time."""
    entered: bool
    teams: int
    kernels: int
    rank: int | None


def listed_competition(card: TaskCard, settings: SiteSettings, daily: int, standing: Standing) -> Json:
    """Return one that is played back as a Competition; `newEntrantDeadline` is absent, as it often is."""
    span = card.deadline - card.enabled_at
    return _common(card.slug, card.title, settings.host_segment, "Knowledge") | {
        "description": next((line for line in card.description.splitlines() if line and line[0] not in "#!|`"), ""),
        "tags": [
            {"ref": card.category, "name": card.category.replace("-", " "), "fullPath": f"task > {card.category}"}
        ],
        "deadline": wire_time(standing.deadline),
        "mergerDeadline": wire_time(min(standing.deadline, card.deadline - span / 10)),
        "enabledDate": wire_time(card.enabled_at),
        "dateCreated": wire_time(card.enabled_at - timedelta(days=3)),
        "kernelCount": standing.kernels,
        "teamCount": standing.teams,
        "userHasEntered": standing.entered,
        "userRank": standing.rank,
        "maxDailySubmissions": daily,
        "maxTeamSize": settings.max_team_size,
        "evaluationMetric": metric_words(card) if settings.metric_shown else None,
        "isKernelsSubmissionsOnly": card.kind == "code",
        "submissionsDisabled": standing.closed,
    }


def _common(slug: str, title: str, category: str, reward: str) -> Json:
    return {
        "id": wire_id("competition", slug),
        "ref": f"{SITE}{slug}",
        "url": f"{SITE}{slug}",
        "title": title,
        "organizationName": "The stand-in",
        "category": category,
        "reward": reward,
        "hostName": "The stand-in",
    }
