"""The leaderboard's verdict on a run's submissions, in place of a hidden test's."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlmodel import Session, col, select

from bot.evaluation.answers.board import MEDALS, standing
from bot.leaderboard.board import SiteSubmission, same_score
from bot.leaderboard.rank import Leaderboard
from scrapers.snapshots.card import TaskCard
from state.live import live_runs
from state.submissions import submissions_of
from state.tables import Node, Run, Submission
from state.words import iso


@dataclass(frozen=True)
class Entry:
    """A submission of this run, or of an earlier run on the competition, that the site has, with its scores there."""

    row: Submission
    validation: float | None
    public: float | None
    private: float | None
    at: str
    """ISO time."""


@dataclass(frozen=True)
class Verdict:
    """How a run's submissions did on the leaderboard."""

    run_id: str
    card: TaskCard
    entries: Sequence[Entry]
    leaderboard: Leaderboard | None

    @property
    def private(self) -> bool:
        """Whether private scores are known; from then on only they count."""
        if self.leaderboard and self.leaderboard.board:
            return self.leaderboard.standing.private
        return any(one.private is not None for one in self.entries)

    @property
    def shown(self) -> float | None:
        """The score of the team's place, public or private as in `private`; another member may have sent it."""
        team = self.leaderboard.standing if self.leaderboard else None
        return team.score if team and team.private == self.private else None

    def score(self, entry: Entry) -> float | None:
        """Return a submission's score of the kind that counts."""
        return entry.private if self.private else entry.public

    @property
    def best(self) -> float | None:
        """The best score of all submissions."""
        known = [score for one in self.entries if (score := self.score(one)) is not None]
        return max(known, key=self.card.oriented, default=None)

    @property
    def counted(self) -> Entry | None:
        """The submission that counts; if none has a score, the latest."""
        public = [one for one in self.entries if one.public is not None]
        public.sort(key=lambda one: self.card.oriented(one.public or 0.0), reverse=True)
        if not self.private or not any(one.private is not None for one in self.entries):
            return public[0] if public else self.entries[-1] if self.entries else None
        scored = [one for one in (*public, *self.entries) if one.private is not None]
        selected = [one for one in scored if same_score(self.shown, one.private or 0.0)]
        # If nobody selects one, a site takes the better of the two with the best public scores.
        usual = max(scored[:2], key=lambda one: self.card.oriented(one.private or 0.0), default=None)
        return selected[0] if selected else usual

    def regret(self) -> float | None:
        """Return by how much the submission that counts is worse than the best one."""
        score = None if self.counted is None else self.score(self.counted)
        return None if score is None or self.best is None else abs(self.best - score)

    def nodes(self) -> dict[int, tuple[float | None, float | None]]:
        """Return each submitted node's best public score, and the share of the teams it beats."""
        board, oriented = self.leaderboard.board if self.leaderboard else None, self.card.oriented
        own = [one for one in self.entries if one.row.run_id == self.run_id]
        nodes: dict[int, tuple[float | None, float | None]] = {}
        for node in dict.fromkeys(one.row.node for one in own):
            sent = [one for one in own if one.row.node == node]
            public = max((one.public for one in sent if one.public is not None), key=oriented, default=None)
            score = max((s for one in sent if (s := self.score(one)) is not None), key=oriented, default=None)
            beaten = None
            if score is not None and board is not None and board.scores:
                beaten = standing(board.scores, score, lower_is_better=self.card.lower_is_better).win_rate
            nodes[node] = (public, beaten)
        return nodes

    def report(self) -> dict[str, Any]:
        """Return the fields of MLE-bench's report, filled from the leaderboard."""
        team, counted = self.leaderboard.standing if self.leaderboard else None, self.counted
        score = None if counted is None else self.score(counted)
        rank = team.rank if team and counted else None
        teams = (team.teams or 0) if team else 0
        medal = team.medal if team and rank else None
        lines = team.lines if team else {}
        median, oriented = lines.get("median"), self.card.oriented
        return {
            "competition_id": self.card.slug,
            "score": score,
            "score_kind": None if score is None else "private" if self.private else "public",
            **{f"{name}_threshold": lines.get(name) for name in (*MEDALS, "median")},
            "any_medal": medal is not None,
            **{f"{name}_medal": name == medal for name in MEDALS},
            "above_median": score is not None and median is not None and oriented(score) > oriented(median),
            "win_rate": (teams - rank) / teams if rank is not None and teams else 0.0,
            "rank": rank,
            "n_teams": teams,
            "submission_exists": counted is not None,
            "valid_submission": score is not None,
            "is_lower_better": self.card.lower_is_better,
            "submissions": [
                {
                    "tag": one.row.tag,
                    "node": one.row.node,
                    "validation": one.validation,
                    "public": one.public,
                    "private": one.private,
                    "at": one.at,
                }
                for one in self.entries
            ],
            **self._remark(score),
        }

    def _remark(self, score: float | None) -> dict[str, str]:
        if score is None:
            refused = next((one.row.message for one in reversed(self.entries) if one.row.message), None)
            missing = "the site has not shown a score yet" if self.entries else "nothing was sent"
            return {"message": refused or missing}
        if self.shown is None or same_score(self.shown, score):
            return {}
        return {"note": f"the team's place comes from a score of {self.shown:g}, which this run did not submit"}


def entries_of(session: Session, run_id: str, sent: Sequence[SiteSubmission]) -> list[Entry]:
    """Return the submissions that the site has of this run and of earlier ones on the competition, oldest first.

    Only this run's own have validation scores: another run's may be of another metric.
    """
    by_ref, by_tag = ({getattr(one, name): one for one in sent} for name in ("ref", "tag"))
    query = select(Node.id, Node.score).where(Node.run_id == run_id, col(Node.score).is_not(None))
    validation = dict(session.exec(query).all())
    run = session.get_one(Run, run_id)
    runs = [one.id for one in live_runs(session, run.competition) if one.created_at < run.created_at]
    found = []
    for row in (row for one in (*runs, run_id) for row in submissions_of(session, one)):
        there = by_tag.get(row.tag) or (by_ref.get(row.ref) if row.ref else None)
        if there is None and row.status != "confirmed":
            continue
        public, private = (there.public, there.private) if there else (row.score, None)
        at = (there.at if there else "") or iso(row.at)
        score = validation.get(row.node) if row.run_id == run_id else None
        found.append(Entry(row, score, public, private, at))
    return found
