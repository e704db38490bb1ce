"""The end of a live run: what the leaderboard says takes the place of a hidden test, and the run's files are written."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from sqlmodel import Session, col, select

from bot.evaluation.leaderboard import MEDALS
from bot.evaluation.leaderboard import standing as formula
from bot.evaluation.worker import Worker
from bot.leaderboard.board import same_score
from bot.leaderboard.look import Look, look_at
from bot.leaderboard.sent import Sent
from bot.report.finish import leave
from bot.report.result import Ended, Graded, NodeScore
from bot.runs.context import RunContext
from bot.strategies.attempts import load_tree
from bot.submission.handing_in import HandedIn, HandedInAs
from scrapers.card import TaskCard
from state.outward import submissions_of
from state.store import iso
from state.tables import Node, Submission

__all__ = ["finish_live"]


@dataclass(frozen=True)
class _Entry:
    """A submission of the run that the site has, and how it stands there."""

    row: Submission
    validation: float | None
    public: float | None
    private: float | None
    at: str
    """ISO time."""

    def told(self) -> dict[str, Any]:
        return {
            "tag": self.row.tag,
            "node": self.row.node,
            "validation": self.validation,
            "public": self.public,
            "private": self.private,
            "at": self.at,
        }


async def finish_live(ended: Ended, files: Path, worker: Worker) -> dict[str, Any]:
    """Write result.json, report.html and all else that a run leaves, from what was polled; returns the result.

    It may be called again, before the end and after it, and writes all anew: once private scores and the board that
    ranks by them were polled, the result is of these, and its `score_kind` is `private`.

    Args:
        ended: the run; its folder names the database that it shares.
        files: the folder of what was sent, `<sha256>.csv` each.
        worker: draws the page.

    Raises:
        InfrastructureFailure: the worker process failed; only a page that cannot be drawn is passed over.
        OSError: the files cannot be written.
    """
    context, card = ended.context, ended.context.card
    with context.store.read() as session:
        look = look_at(session, card.slug, context.clock.now(), lower_is_better=card.lower_is_better)
        entries = _entries(session, context.run_id, look.sent if look else ())
    verdict = _Verdict(card, entries, look)
    counted = verdict.counted
    if counted is not None:
        _place(files / f"{counted.row.file_sha}.csv", ended.folder.submission)
    pairs = [(one.validation, one.public) for one in entries if one.validation is not None and one.public is not None]
    correlation = await worker.call(
        "rank_correlation", validation=[pair[0] for pair in pairs], hidden=[pair[1] for pair in pairs]
    )
    report = verdict.report() | {
        "created_at": context.clock.now().isoformat(),
        "submission_path": str(ended.folder.submission),
    }
    graded = Graded(report, verdict.nodes(), correlation, verdict.regret())
    return await leave(ended, _handed(context, verdict), graded, worker)


@dataclass(frozen=True)
class _Verdict:
    """What the leaderboard says of a run's submissions."""

    card: TaskCard
    entries: Sequence[_Entry]
    look: Look | None

    @property
    def private(self) -> bool:
        """Whether private scores are told, and all is by them."""
        if self.look is not None and self.look.board is not None:
            return self.look.standing.private
        return any(one.private is not None for one in self.entries)

    def score(self, entry: _Entry) -> float | None:
        return entry.private if self.private else entry.public

    @property
    def best(self) -> float | None:
        """The best score of all that was sent."""
        known = [score for one in self.entries if (score := self.score(one)) is not None]
        return max(known, key=self.card.oriented, default=None)

    @property
    def counted(self) -> _Entry | None:
        """The submission that counts; without any score the latest."""
        public = sorted(
            (one for one in self.entries if one.public is not None),
            key=lambda one: self.card.oriented(one.public or 0.0),
            reverse=True,
        )
        if not self.private or not any(one.private is not None for one in self.entries):
            return public[0] if public else self.entries[-1] if self.entries else None
        told = [one for one in (*public, *self.entries) if one.private is not None]
        shown = self.look.standing.score if self.look else None
        selected = [one for one in told if same_score(shown, one.private or 0.0)]
        # Without a person's word a site takes the better of the two with the best public scores.
        usual = max(told[:2], key=lambda one: self.card.oriented(one.private or 0.0), default=None)
        return selected[0] if selected else usual

    def regret(self) -> float | None:
        score = None if self.counted is None else self.score(self.counted)
        return None if score is None or self.best is None else abs(self.best - score)

    def nodes(self) -> dict[int, NodeScore]:
        """Return the best public score of each node that was sent, and what share of the teams it beats."""
        board = self.look.board.scores if self.look is not None and self.look.board is not None else []
        return {node: self._node(node, board) for node in dict.fromkeys(one.row.node for one in self.entries)}

    def _node(self, node: int, board: Sequence[float]) -> NodeScore:
        own = [one for one in self.entries if one.row.node == node]
        public = max((one.public for one in own if one.public is not None), key=self.card.oriented, default=None)
        score = max((s for one in own if (s := self.score(one)) is not None), key=self.card.oriented, default=None)
        if score is None or not board:
            return NodeScore(public, None)
        return NodeScore(public, formula(board, score, lower_is_better=self.card.lower_is_better).win_rate)

    def report(self) -> dict[str, Any]:
        """Return what takes the place of MLE-bench's report, under its names."""
        standing, counted = self.look.standing if self.look else None, self.counted
        score = None if counted is None else self.score(counted)
        rank = standing.rank if standing is not None and counted is not None else None
        teams = (standing.teams or 0) if standing is not None else 0
        medal = standing.medal if standing is not None and rank is not None else None
        lines = standing.lines if standing is not None else {}
        median, oriented = lines.get("median"), self.card.oriented
        told = {"message": self._missing()} if score is None else {}
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
            "submissions": [one.told() for one in self.entries],
            **told,
            **self._note(score),
        }

    def _missing(self) -> str:
        refused = next((one.row.message for one in reversed(self.entries) if one.row.message), None)
        return refused or ("the site has not told a score" if self.entries else "nothing was sent")

    def _note(self, score: float | None) -> dict[str, str]:
        shown = self.look.standing.score if self.look else None
        if score is None or shown is None or same_score(shown, score):
            return {}
        return {"note": f"the team's place is of a score of {shown:g}, of a submission that this run did not send"}


def _entries(session: Session, run_id: str, sent: Sequence[Sent]) -> list[_Entry]:
    """Return the run's submissions that the site has, in the order in which they were made."""
    by_ref, by_tag = ({getattr(one, name): one for one in sent} for name in ("ref", "tag"))
    query = select(Node.id, Node.score).where(Node.run_id == run_id, col(Node.score).is_not(None))
    validation = dict(session.exec(query).all())
    found = []
    for row in submissions_of(session, run_id):
        there = by_tag.get(row.tag) or (by_ref.get(row.ref) if row.ref else None)
        if there is None and row.status != "confirmed":
            continue
        public, private = (there.public, there.private) if there else (row.score, None)
        at = (there.at if there else "") or iso(row.at)
        found.append(_Entry(row, validation.get(row.node), public, private, at))
    return found


def _handed(context: RunContext, verdict: _Verdict) -> HandedIn:
    counted = verdict.counted
    if counted is None:
        best = load_tree(context).best()
        if best is None:
            return HandedIn(None, None, "nothing was sent, as no node has a score")
        return HandedIn(best.id, None, f"nothing was sent; node {best.id} has the best validation score")
    how: HandedInAs = next((name for name in get_args(HandedInAs) if name == counted.row.handed_in), "holdout")
    if verdict.score(counted) is None:
        why = "is the latest"
    else:
        why = "counts on the private leaderboard" if verdict.private else "has the best public score"
    return HandedIn(counted.row.node, how, f"what was sent as {counted.row.tag}, which {why}")


def _place(file: Path, destination: Path) -> None:
    """Put a copy of what was sent beside the result; without the file the result does without."""
    if not file.is_file():
        return
    partial = destination.with_name(destination.name + ".partial")
    shutil.copyfile(file, partial)
    partial.replace(destination)
