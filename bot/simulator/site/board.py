"""The leaderboard: the real teams as they may have arrived, and the user's own team among them.

A snapshot has one score per team, the final private one. So a team appears at one moment, the time of its entry if
`leaderboard.csv` has `submitted_at` and a seeded one otherwise, and its public score is its private score with a small
seeded perturbation. Names, ids and numbers of submissions are made up, and reveal nothing of the final rank.
"""

import csv
import io
import random
import statistics
import zipfile
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from bot.evaluation.answers.board import standing
from bot.evaluation.metrics.registry import METRICS
from bot.simulator.site.identity import wire_id
from bot.simulator.site.rendering import slugified
from bot.simulator.site.settings import SiteSettings
from scrapers.snapshots.card import TaskCard
from scrapers.snapshots.fields import parse_time
from scrapers.snapshots.leaderboard import LEADERBOARD
from scrapers.snapshots.snapshot import Snapshot

_COLOURS = ("amber", "azure", "coral", "ivory", "jade", "lilac", "ochre", "olive", "pearl", "russet", "slate", "teal")
_BEASTS = ("badger", "crane", "finch", "gecko", "heron", "ibis", "lynx", "marten", "newt", "otter", "pika", "stoat")
COLUMNS = ("Rank", "TeamId", "TeamName", "LastSubmissionDate", "Score", "SubmissionCount", "TeamMemberUserNames")


@dataclass(frozen=True)
class Team:
    """A team's entry."""

    id: int
    name: str
    user: str
    last_submission_at: datetime
    """Time of its last submission."""
    public: float
    private: float
    submissions: int


class SimulatedLeaderboard:
    """All teams but the user's own."""

    def __init__(self, snapshot: Snapshot, settings: SiteSettings) -> None:
        self._card = snapshot.card
        self._scores = tuple(snapshot.leaderboard)
        self._teams = _make_teams(snapshot, settings)

    def standings(self, now: datetime, own_team: Team | None, *, private: bool) -> list[Team]:
        """Return the teams that have arrived, best first; ties go to the earlier one."""
        teams = [team for team in self._teams if team.last_submission_at <= now] + ([own_team] if own_team else [])
        sign = -1 if not self._card.lower_is_better else 1
        return sorted(
            teams,
            key=lambda team: (sign * (team.private if private else team.public), team.last_submission_at, team.id),
        )

    def final(self, score: float) -> dict[str, Any]:
        """Return a private score's `rank`, `medal` and `win_rate` among the private scores of all teams."""
        result = standing(self._scores, score, lower_is_better=self._card.lower_is_better)
        better = sum(self._card.oriented(s) > self._card.oriented(score) for s in self._scores)
        medal = next((name for name in ("gold", "silver", "bronze") if getattr(result, f"{name}_medal")), None)
        return {"rank": better + 1, "medal": medal, "win_rate": result.win_rate}


def score_text(score: float | None) -> str:
    """Return a score as Kaggle writes it; empty while it is unknown."""
    return "" if score is None else f"{score:.5f}"


def zipped(teams: list[Team], slug: str, now: datetime, *, private: bool) -> bytes:
    """Return the whole board as Kaggle's zip: one CSV in UTF-8 with a byte order mark."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for rank, team in enumerate(teams, 1):
        score = score_text(team.private if private else team.public)
        time = f"{team.last_submission_at:%Y-%m-%d %H:%M:%S}"
        writer.writerow((rank, team.id, team.name, time, score, team.submissions, team.user))
    name = f"{slug}-{'private' if private else 'public'}leaderboard-{now:%Y-%m-%dT%H:%M:%S}.csv"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, "\ufeff" + text.getvalue())
    return buffer.getvalue()


def _make_teams(snapshot: Snapshot, settings: SiteSettings) -> list[Team]:
    card = snapshot.card
    rng = random.Random(f"{settings.seed}/board/{card.slug}")  # noqa: S311 - nothing secret
    times = _submitted(snapshot)
    numbers = list(range(len(snapshot.leaderboard)))
    rng.shuffle(numbers)
    spread = _quarters(snapshot.leaderboard) * settings.board_noise
    span = card.deadline - card.enabled_at
    teams = []
    for score, time, number in zip(snapshot.leaderboard, times, numbers, strict=True):
        name = f"{rng.choice(_COLOURS)} {rng.choice(_BEASTS)} {number + 1}"
        arrived = card.enabled_at + span * rng.random() if time is None else min(time, card.deadline)
        public = _possible(score + rng.gauss(0.0, spread), card)
        entries = 1 + int(rng.expovariate(0.1))
        identifier = wire_id("team", f"{card.slug}/{number}")
        teams.append(Team(identifier, name, slugified(name), arrived, round(public, 5), score, entries))
    return teams


def _possible(score: float, card: TaskCard) -> float:
    facts = METRICS.get(card.metric.name)
    return score if facts is None else min(max(score, facts.minimum), facts.maximum)


def _quarters(scores: list[float]) -> float:
    if len(scores) < 4:
        return 0.0
    low, _, high = statistics.quantiles(scores, n=4)
    return high - low


def _submitted(snapshot: Snapshot) -> list[datetime | None]:
    with (snapshot.path / LEADERBOARD).open(encoding="utf-8-sig", newline="") as file:
        cells = [row.get("submitted_at") or None for row in csv.DictReader(file)]
    if len(cells) != len(snapshot.leaderboard):
        return [None] * len(snapshot.leaderboard)
    return [None if cell is None else parse_time(cell) + snapshot.shift for cell in cells]
