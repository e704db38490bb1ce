"""Boards, ranks and submissions as polls would have stored them, for the tests of their readers."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from state.polling import mark_read
from state.series import take_reading
from state.store import Store
from state.words import iso

SLUG = "wine"
OURS = "we"
Score = float | str | None
Row = tuple[str, Score]
"""A team's name, which is its id too, and its score."""


def rows(scores: Sequence[Score], prefix: str = "t") -> list[Row]:
    """Return teams of these scores, named by their places."""
    return [(f"{prefix}{place}", score) for place, score in enumerate(scores, 1)]


def placed(scores: Sequence[Score], at: int, score: Score) -> list[Row]:
    """Return teams of these scores, with ours at a rank."""
    found = rows(scores)
    return [*found[: at - 1], (OURS, score), *found[at - 1 :]]


@dataclass(frozen=True)
class Polls:
    """Stores what a poll would have read, now."""

    store: Store
    competition: str = SLUG

    def whole(self, board: Sequence[Row]) -> None:
        """Store the whole board."""
        content = [
            {"rank": rank, "team_id": team, "team": team, "score": score, "submissions": 1}
            for rank, (team, score) in enumerate(board, 1)
        ]
        self._board("whole", content, "board")

    def top(self, board: Sequence[Row]) -> None:
        """Store the top, whose scores are text."""
        content = [
            {"team_id": team, "team": team, "score": "" if score is None else str(score), "at": None}
            for team, score in board
        ]
        self._board("top", content, "top")

    def facts(self, rank: int | None, teams: int) -> None:
        """Store the rank and the number of teams as the list of competitions shows them."""
        with self.store.write() as tx:
            take_reading(tx, self.competition, "standing", "", {"team_count": teams, "user_rank": rank})
            mark_read(tx, "", "competitions", {}, tx.now())

    def deadline(self, at: datetime) -> None:
        """Store when the competition ends."""
        with self.store.write() as tx:
            take_reading(tx, self.competition, "competition", "", {"deadline": iso(at), "title": "Wine"})

    def sent(
        self, ref: str, public: Score, private: Score = None, *, team: str = OURS, tag: str = "", **more: Any
    ) -> None:
        """Store a submission as the site shows it."""
        with self.store.write() as tx:
            data = {
                "status": "COMPLETE",
                "date": iso(tx.now()),
                "public_score": "" if public is None else str(public),
                "private_score": "" if private is None else str(private),
                "description": tag,
                "team_name": team,
            }
            take_reading(tx, self.competition, "submission", ref, data | more)
            mark_read(tx, self.competition, "submissions", {}, tx.now())

    def _board(self, name: str, content: Sequence[dict[str, Any]], part: str) -> None:
        with self.store.write() as tx:
            about = {"teams": len(content)}
            take_reading(tx, self.competition, "board", name, about, content=json.dumps(content), served_at=tx.now())
            mark_read(tx, self.competition, part, {}, tx.now())
