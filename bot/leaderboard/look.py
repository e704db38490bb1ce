"""One look at a competition: the board, our submissions, and where the team stands by them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from bot.leaderboard.board import Board, Seen, own_place, read_board, stood
from bot.leaderboard.sent import Sent, sent_files
from bot.leaderboard.standing import Ranked, Standing, stands
from state.watermarks import watermark

__all__ = ["Look", "look_at"]


@dataclass(frozen=True)
class Look:
    """What can be seen of a competition, as far as it was polled."""

    standing: Standing
    sent: Sequence[Sent]
    board: Board | None
    own: int | None
    """The index of our place on the board."""
    shown_at: datetime
    """When the site showed the newest of it."""

    @property
    def seen(self) -> Seen:
        """The bodies that the board is made of."""
        return self.board.seen if self.board else Seen()


def look_at(session: Session, competition: str, now: datetime, *, lower_is_better: bool) -> Look | None:
    """Return what can be seen; None while neither a board nor anything about us was read."""
    board = read_board(session, competition, lower_is_better=lower_is_better)
    facts = stood(session, competition, "standing", "", watermark(session, "", "competitions").at)
    sent = sent_files(session, competition)
    if board is None and facts is None and not sent:
        return None
    own = own_place(board.places, sent) if board else None
    rank, teams = (facts.reading.data.get(name) if facts else None for name in ("user_rank", "team_count"))
    told = Ranked(rank, teams or None, facts.at) if facts and rank else None
    standing = stands(competition, now, board, sent, own, told, teams=teams or None, lower_is_better=lower_is_better)
    shown = [one.shown_at for one in (board, facts) if one is not None]
    return Look(standing, sent, board, own, max(shown, default=now))
