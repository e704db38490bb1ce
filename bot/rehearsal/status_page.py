"""Pages for people: what the site plays, and of each competition the metric, the rules, submissions and the leaderboard."""

from collections.abc import Iterable
from datetime import datetime

from bot.rehearsal.board import score_text
from bot.rehearsal.competition import Competition
from bot.rehearsal.competition_pages import metric_words
from bot.rehearsal.rendering import rendered
from bot.rehearsal.site import Site

_TOP = 20
"""Teams and submissions that a page shows."""
# Titles and tags come from elsewhere: the browser neither runs anything nor asks the network.
_PAGE = """<!doctype html>
<meta charset="utf-8"><meta http-equiv="refresh" content="2"><link rel="icon" href="data:,">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'">
<title>Rehearsal</title>
"""


def index_page(site: Site, now: datetime) -> str:
    """Return the page of all competitions as HTML."""
    lines = [f"- [{one.card.title}](/competitions/{one.slug}): {_state(one, now)}" for one in site.competitions]
    counts = f"{sum(site.requests.values())} requests, {len(site.faults.injected)} faults injected"
    return _PAGE + rendered("\n".join([f"# {now:%Y-%m-%d %H:%M} UTC", "", counts, "", *lines]))


def competition_page(competition: Competition, now: datetime) -> str:
    """Return the page of one competition as HTML; private scores are shown once it is over."""
    card, over = competition.card, competition.over(now)
    teams = competition.standings(now, private=over)
    places = [
        (
            rank,
            f"**{team.name}**" if team.id == competition.team_id else team.name,
            team.private if over else team.public,
        )
        for rank, team in enumerate(teams, 1)
        if rank <= _TOP or team.id == competition.team_id
    ]
    sent = [
        (f"{one.at:%m-%d %H:%M}", one.tag, one.status, score_text(one.public_score), one.error or "")
        for one in reversed(competition.desk.all(now)[-_TOP:])
    ]
    return _PAGE + rendered(
        f"# {card.title}\n\n{now:%Y-%m-%d %H:%M} UTC, {_state(competition, now)}\n\n"
        f"{metric_words(card)}, {'lower' if card.lower_is_better else 'higher'} is better\n\n"
        f"## {'Private' if over else 'Public'} leaderboard, {len(teams)} teams\n\n"
        f"{_table(('Rank', 'Team', 'Score'), ((rank, name, score_text(score)) for rank, name, score in places))}\n\n"
        f"## Submissions\n\n{_table(('Made at', 'Description', 'Status', 'Public score', 'Error'), sent)}\n\n"
        f"{competition.pages.content['rules']}"
    )


def _state(one: Competition, now: datetime) -> str:
    ends = f"{'ended' if one.over(now) else 'ends'} {one.deadline(now):%Y-%m-%d %H:%M}"
    return f"{ends}, {len(one.desk.all(now))} submissions"


def _table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    lines = [header, ("---" for _ in header), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', '&#124;') for cell in line)} |" for line in lines)
