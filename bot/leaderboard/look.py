"""One look at a competition: the board, our submissions, and where the team stands by them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session, func, select

from bot.leaderboard.board import Board, Seen, Stood, own_place, read_board, shown, stood
from bot.leaderboard.sent import Sent, sent_files
from bot.leaderboard.standing import Ranked, Standing, stands
from state.polled import Reading, watermark

__all__ = ["Look", "inputs_of", "look_at"]


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
    facts = _facts(session, competition)
    sent = sent_files(session, competition)
    if board is None and facts is None and not sent:
        return None
    own = own_place(board.places, sent) if board else None
    rank, teams = (facts.reading.data.get(name) if facts else None for name in ("user_rank", "team_count"))
    told = Ranked(rank, teams or None, facts.at) if facts and rank else None
    standing = stands(competition, now, board, sent, own, told, teams=teams or None, lower_is_better=lower_is_better)
    shown = [one.shown_at for one in (board, facts) if one is not None]
    return Look(standing, sent, board, own, max(shown, default=now))


def inputs_of(session: Session, competition: str, *, lower_is_better: bool) -> str:
    """Return what a look depends on, in short; where it is the same, another look would see the same.

    No body is read for it: the board of a large competition takes a tenth of a second.
    """
    board, facts = shown(session, competition), _facts(session, competition)
    whole, top = (board.whole, board.top) if board is not None else (None, None)
    latest = select(func.max(Reading.pk)).where(Reading.competition == competition, Reading.kind == "submission")
    order = [facts is not None and one is not None and facts.at > one.at for one in (whole, top)]
    known = [one.reading.pk if one is not None else None for one in (whole, top, facts)]
    late = board is not None and board.after_deadline
    return "/".join(map(str, (*known, session.exec(latest).one(), *order, late, lower_is_better)))


def _facts(session: Session, competition: str) -> Stood | None:
    return stood(session, competition, "standing", "", watermark(session, "", "competitions").at)
