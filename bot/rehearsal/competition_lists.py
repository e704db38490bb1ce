"""Competitions as lists and their own pages show them, together with made-up ones."""

import random
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from bot.rehearsal.competition_kinds import NO_METRIC
from bot.rehearsal.competition_pages import metric_words
from bot.rehearsal.identity import wire_id
from bot.rehearsal.rendering import slugified
from bot.rehearsal.settings import SiteSettings
from bot.rehearsal.wire import Json, wire_time

if TYPE_CHECKING:
    from bot.rehearsal.competition import Competition

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


def listed_competition(one: "Competition", now: datetime, kernels: int) -> Json:
    """Return a competition that is played back as a Competition; `newEntrantDeadline` is absent, as it often is."""
    card, settings, deadline = one.card, one.settings, one.deadline(now)
    teams = one.standings(now, private=one.over(now))
    rank = next((place for place, team in enumerate(teams, 1) if team.id == one.team_id), None)
    merger = card.deadline - (card.deadline - card.enabled_at) / 10
    return _common(card.slug, card.title, settings.host_segment, "Knowledge") | {
        "description": next((line for line in card.description.splitlines() if line and line[0] not in "#!|`"), ""),
        "tags": [
            {"ref": card.category, "name": card.category.replace("-", " "), "fullPath": f"task > {card.category}"}
        ],
        "deadline": wire_time(deadline),
        "mergerDeadline": wire_time(min(deadline, merger)),
        "enabledDate": wire_time(card.enabled_at),
        "dateCreated": wire_time(card.enabled_at - timedelta(days=3)),
        "kernelCount": kernels,
        "teamCount": len(teams),
        "userHasEntered": one.entered,
        "userRank": rank,
        "maxDailySubmissions": one.daily,
        "maxTeamSize": settings.max_team_size,
        "evaluationMetric": metric_words(card) if settings.metric_shown and settings.kind not in NO_METRIC else None,
        "isKernelsSubmissionsOnly": one.takes_notebooks,
        "submissionsDisabled": one.is_now("closed-early", now),
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
