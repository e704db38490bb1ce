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
class ScoredSubmission:
    """A submission of this run, or of an earlier run on the competition, that the site has, with its scores there."""

    row: Submission
    validation: float | None
    public: float | None
    private: float | None
    time: str
    """ISO time."""


@dataclass(frozen=True)
class LeaderboardResult:
    """How a run's submissions did on the leaderboard."""

    run_id: str
    card: TaskCard
    entries: Sequence[ScoredSubmission]
    leaderboard: Leaderboard | None

    @property
    def private(self) -> bool:
        """Whether private scores are known; from then on only they count."""
        if self.leaderboard and self.leaderboard.board:
            return self.leaderboard.standing.private
        return any(entry.private is not None for entry in self.entries)

    @property
    def team_score(self) -> float | None:
        """The score of the team's place, public or private as in `private`; another member may have sent it."""
        team = self.leaderboard.standing if self.leaderboard else None
        return team.score if team and team.private == self.private else None

    def score(self, entry: ScoredSubmission) -> float | None:
        """Return a submission's score of the kind that counts."""
        return entry.private if self.private else entry.public

    @property
    def best(self) -> float | None:
        """The best score of all submissions."""
        scores = [score for entry in self.entries if (score := self.score(entry)) is not None]
        return max(scores, key=self.card.oriented, default=None)

    @property
    def counting_entry(self) -> ScoredSubmission | None:
        """The submission that counts; if none has a score, the latest."""
        public = [entry for entry in self.entries if entry.public is not None]
        public.sort(key=lambda entry: self.card.oriented(entry.public or 0.0), reverse=True)
        if not self.private or not any(entry.private is not None for entry in self.entries):
            return public[0] if public else self.entries[-1] if self.entries else None
        entries = [entry for entry in (*public, *self.entries) if entry.private is not None]
        selected = [entry for entry in entries if same_score(self.team_score, entry.private or 0.0)]
        # If nobody selects one, a site takes the better of the two with the best public scores.
        usual = max(entries[:2], key=lambda entry: self.card.oriented(entry.private or 0.0), default=None)
        return selected[0] if selected else usual

    def regret(self) -> float | None:
        """Return by how much the submission that counts is worse than the best one."""
        score = None if self.counting_entry is None else self.score(self.counting_entry)
        return None if score is None or self.best is None else abs(self.best - score)

    def nodes(self) -> dict[int, tuple[float | None, float | None]]:
        """Return each submitted node's best public score, and the share of the teams it beats."""
        board, oriented = self.leaderboard.board if self.leaderboard else None, self.card.oriented
        entries = [entry for entry in self.entries if entry.row.run_id == self.run_id]
        nodes: dict[int, tuple[float | None, float | None]] = {}
        for node in dict.fromkeys(entry.row.node for entry in entries):
            of_node = [entry for entry in entries if entry.row.node == node]
            public = max((entry.public for entry in of_node if entry.public is not None), key=oriented, default=None)
            score = max((s for entry in of_node if (s := self.score(entry)) is not None), key=oriented, default=None)
            beaten = None
            if score is not None and board is not None and board.scores:
                beaten = standing(board.scores, score, lower_is_better=self.card.lower_is_better).win_rate
            nodes[node] = (public, beaten)
        return nodes

    def report(self) -> dict[str, Any]:
        """Return the fields of MLE-bench's report, filled from the leaderboard."""
        team, entry = self.leaderboard.standing if self.leaderboard else None, self.counting_entry
        score = None if entry is None else self.score(entry)
        rank = team.rank if team and entry else None
        teams = (team.teams or 0) if team else 0
        medal = team.medal if team and rank else None
        lines = team.lines if team else {}
        median, oriented = lines.get("median"), self.card.oriented
        remark, team_score = dict[str, str](), self.team_score
        if score is None:
            message = next((entry.row.message for entry in reversed(self.entries) if entry.row.message), None)
            missing = "the site has not shown a score yet" if self.entries else "nothing was submitted"
            remark["message"] = message or missing
        elif team_score is not None and not same_score(team_score, score):
            remark["note"] = f"the team's rank is based on a score of {team_score:g}, which is not from this run"
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
            "submission_exists": entry is not None,
            "valid_submission": score is not None,
            "is_lower_better": self.card.lower_is_better,
            "submissions": [
                {
                    "tag": entry.row.tag,
                    "node": entry.row.node,
                    "validation": entry.validation,
                    "public": entry.public,
                    "private": entry.private,
                    "at": entry.time,
                }
                for entry in self.entries
            ],
            **remark,
        }


def entries_of(session: Session, run_id: str, site_rows: Sequence[SiteSubmission]) -> list[ScoredSubmission]:
    """Return the submissions that the site has of this run and of earlier ones on the competition, oldest first.

    Only this run's own have validation scores: another run's may be of another metric.
    """
    by_ref, by_tag = ({getattr(site_row, name): site_row for site_row in site_rows} for name in ("ref", "tag"))
    query = select(Node.id, Node.score).where(Node.run_id == run_id, col(Node.score).is_not(None))
    validation = dict(session.exec(query).all())
    run = session.get_one(Run, run_id)
    runs = [run_row.id for run_row in live_runs(session, run.competition) if run_row.created_at < run.created_at]
    entries = []
    for row in (row for id in (*runs, run_id) for row in submissions_of(session, id)):
        site_row = by_tag.get(row.tag) or (by_ref.get(row.ref) if row.ref else None)
        if site_row is None and row.status != "confirmed":
            continue
        public, private = (site_row.public, site_row.private) if site_row else (row.score, None)
        time = (site_row.time if site_row else "") or iso(row.at)
        score = validation.get(row.node) if row.run_id == run_id else None
        entries.append(ScoredSubmission(row, score, public, private, time))
    return entries
