"""The page at the site's root: what it is doing, for people."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bot.rehearsal.board import score_text

if TYPE_CHECKING:
    from bot.rehearsal.site import Site

_TOP = 10
_LATEST = 12


@dataclass(frozen=True)
class Place:
    """A row of the board."""

    rank: int
    name: str
    score: str
    own: bool


def page(site: "Site", now: datetime) -> str:
    """Return the page as HTML; it asks for itself again every two seconds."""
    card, span = site.card, site.card.deadline - site.card.enabled_at
    over = site.over(now)
    teams = site.standings(now, private=over)
    places = [
        Place(rank, team.name, score_text(team.private if over else team.public), team.id == site.team_id)
        for rank, team in enumerate(teams, 1)
    ]
    threads = site.forum.threads(now)
    kernels = site.kernels.current(now)
    asked = site.requests.most_common()
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            card=card,
            daily=site.daily,
            now=now,
            over=over,
            deadline=site.deadline(now),
            left=_span(site.deadline(now) - now),
            done=min(1.0, max(0.0, (now - card.enabled_at) / span)) if span else 1.0,
            top=places[:_TOP],
            own=next((place for place in places if place.own), None),
            teams=len(places),
            requests=asked,
            total=sum(site.requests.values()),
            most=asked[0][1] if asked else 1,
            faults=site.faults.injected[: -_LATEST - 1 : -1],
            fault_count=len(site.faults.injected),
            submissions=list(reversed(site.desk.all(now)))[:_LATEST],
            submission_count=len(site.desk.all(now)),
            limits=site.desk.limits(now, closed=over),
            topics=len(threads),
            messages=sum(len(thread.posts) for thread in threads),
            kernels=len(kernels),
            versions=sum(len(site.kernels.versions(kernel.ref, now)) for kernel in kernels),
            score=score_text,
        )
    )


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
    """Return a span in days, or in hours and minutes where it is less than two days."""
    seconds = max(0, int(left.total_seconds()))
    if seconds >= 2 * 86400:
        return f"{seconds // 86400} days"
    return f"{seconds // 3600} h {seconds % 3600 // 60:02d} min"
