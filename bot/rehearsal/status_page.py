"""The page at the site's root, which shows people what the site is doing."""

from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bot.rehearsal.board import score_text
from bot.rehearsal.time_shift import shift_in_words

if TYPE_CHECKING:
    from bot.rehearsal.competition import Competition
    from bot.rehearsal.site import Site

_TOP = 10
_LATEST = 12


def page(site: "Site", now: datetime) -> str:
    """Return the page as HTML; it reloads every two seconds."""
    asked = site.requests.most_common()
    return (
        _environment()
        .get_template("status_page.html.j2")
        .render(
            now=now,
            competitions=[_shown(site, competition, now) for competition in site.competitions],
            requests=asked,
            total=sum(site.requests.values()),
            most=asked[0][1] if asked else 1,
            faults=site.faults.injected[: -_LATEST - 1 : -1],
            fault_count=len(site.faults.injected),
            score=score_text,
        )
    )


def _shown(site: "Site", competition: "Competition", now: datetime) -> dict[str, Any]:
    """Return what the page shows of one competition; `moved` is empty if its times are the original ones."""
    card, over = competition.card, competition.over(now)
    span = card.deadline - card.enabled_at
    places = [
        {
            "rank": rank,
            "name": team.name,
            "score": score_text(team.private if over else team.public),
            "own": team.id == competition.team_id,
        }
        for rank, team in enumerate(competition.standings(now, private=over), 1)
    ]
    threads, taken = competition.forum.threads(now), competition.desk.all(now)
    kernels = site.kernels.of(competition.slug, now)
    return {
        "slug": competition.slug,
        "card": card,
        "moved": shift_in_words(competition.snapshot.shift),
        "daily": competition.daily,
        "over": over,
        "deadline": competition.deadline(now),
        "left": _span(competition.deadline(now) - now),
        "done": min(1.0, max(0.0, (now - card.enabled_at) / span)) if span else 1.0,
        "top": places[:_TOP],
        "own": next((place for place in places if place["own"]), None),
        "teams": len(places),
        "submissions": taken[: -_LATEST - 1 : -1],
        "submission_count": len(taken),
        "limits": competition.desk.limits(now, closed=over),
        "topics": len(threads),
        "messages": sum(len(thread.posts) for thread in threads),
        "kernels": len(kernels),
        "versions": sum(len(site.kernels.versions(kernel.ref, now)) for kernel in kernels),
    }


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _span(left: timedelta) -> str:
    """Return a span in days, or in hours and minutes if it is less than two days."""
    seconds = max(0, int(left.total_seconds()))
    if seconds >= 2 * 86400:
        return f"{seconds // 86400} days"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02d} min"
