"""The leaderboard as it was read last: the whole one, with what its top has become since put in."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from state.live import deadline_of
from state.polling import watermark
from state.series import ReadingKind, last_reading, last_readings
from state.store import read_blob
from state.tables import Reading

_CLOSE = 1e-5
"""Two spellings of one score may be so far apart: boards show five digits."""


@dataclass(frozen=True)
class Sent:
    """One submission at the site; a score is None while the site does not tell it."""

    ref: str
    tag: str
    """Its description, by which it is ours."""
    at: str
    """ISO time of the site."""
    public: float | None
    private: float | None
    team: str
    """The name of the team."""


@dataclass(frozen=True)
class Place:
    """One team's; its score is None where the site masks it."""

    team_id: str
    team: str
    score: float | None


@dataclass(frozen=True)
class Seen:
    """The bodies that a board is made of, by their hashes; `top` None: it adds nothing to the whole."""

    whole: str | None = None
    top: str | None = None


@dataclass(frozen=True)
class Stood:
    """A reading, and when it was last seen to hold: in a series there is no second row for what did not change."""

    reading: Reading
    at: datetime
    """Our time."""
    shown_at: datetime
    """The site's, where it told it."""


@dataclass(frozen=True)
class Board:
    """The places in the site's order, the first of rank 1."""

    places: tuple[Place, ...]
    complete: bool
    """Whether all teams are on it."""
    after_deadline: bool
    """Whether it was read when nothing more could be sent."""
    shown_at: datetime
    """When the site showed its newest part."""
    whole_at: datetime | None
    """Our time of the reading of the whole; None: there is only a top."""
    top_at: datetime | None
    """And of the top, where that is newer."""
    in_top: int
    """How many places are the top's."""
    seen: Seen

    @property
    def scores(self) -> list[float]:
        """Those that are known, in the order of places."""
        return [place.score for place in self.places if place.score is not None]

    def read_at(self, index: int) -> datetime | None:
        """Return our time at which a place was read."""
        return self.top_at if index < self.in_top else self.whole_at

    def is_private(self, sent: Sequence[Sent], own: int | None) -> bool:
        """Return whether it is the private board, which a site shows some time after the deadline.

        What was read after the deadline may still be the public one, so our own row must have one of our private scores;
        without a row of ours, that private scores are known has to do.
        """
        private = [one.private for one in sent if one.private is not None]
        if not self.after_deadline or not private:
            return False
        score = None if own is None else self.places[own].score
        return score is None or any(same_score(score, one) for one in private)


def read_board(session: Session, competition: str, *, lower_is_better: bool) -> Board | None:
    """Return the board as it was read last, None where none was."""
    whole = stood(session, competition, "board", "whole", watermark(session, competition, "board").at)
    top = stood(session, competition, "board", "top", watermark(session, competition, "top").at)
    deadline = deadline_of(session, competition)
    if whole is not None and top is not None and (top.at <= whole.at or _apart(whole, top, deadline)):
        top = None  # it adds nothing to the whole
    newest = top or whole
    if newest is None:
        return None
    seen = Seen(*(one.reading.sha256 if one is not None else None for one in (whole, top)))
    places, in_top = read_seen(session, seen, lower_is_better=lower_is_better)
    return Board(
        places=places,
        complete=whole is not None,
        after_deadline=deadline is not None and newest.shown_at >= deadline,
        shown_at=newest.shown_at,
        whole_at=whole.at if whole is not None else None,
        top_at=top.at if top is not None else None,
        in_top=in_top,
        seen=seen,
    )


def read_seen(session: Session, seen: Seen, *, lower_is_better: bool) -> tuple[tuple[Place, ...], int]:
    """Return the places of a board that was made of these, and how many of them are the top's.

    A newer top takes the place of all who were as good as its last team: whoever of them it does not show is there no
    more.
    """
    top, whole = _places(session, seen.top), _places(session, seen.whole)
    known = {place.team_id for place in top}
    last_score = top[-1].score if top else None
    sign = -1.0 if lower_is_better else 1.0
    rest = [
        place
        for place in whole
        if place.team_id not in known
        and not (last_score is not None and place.score is not None and sign * place.score > sign * last_score)
    ]
    return (*top, *rest), len(top)


def stood(session: Session, competition: str, kind: ReadingKind, name: str, polled_at: datetime | None) -> Stood | None:
    """Return how something stood last, None where it is not there.

    Args:
        session: to read with.
        competition: whose.
        kind: of the reading.
        name: which of its kind.
        polled_at: our time at which it was last polled, whether it had changed or not.
    """
    reading = last_reading(session, competition, kind, name)
    if reading is None or reading.sha256 is None:
        return None
    shown = reading.served_at or reading.at
    if polled_at is None or polled_at <= reading.at:
        return Stood(reading, reading.at, shown)
    return Stood(reading, polled_at, shown + (polled_at - reading.at))


def own_place(places: Sequence[Place], sent: Sequence[Sent]) -> int | None:
    """Return where the team is, by the name under which it sent last; of several of that name the one with our score."""
    team = next((one.team for one in reversed(sent) if one.team), None)
    found = [index for index, place in enumerate(places) if team is not None and place.team == team]
    if len(found) < 2:
        return found[0] if found else None
    scores = [score for one in sent for score in (one.public, one.private) if score is not None]
    ours = (index for index in found if any(same_score(places[index].score, score) for score in scores))
    return next(ours, None)


def same_score(shown: float | None, told: float) -> bool:
    """Return whether two texts of the site mean the same score."""
    return shown is not None and abs(shown - told) <= _CLOSE * max(1.0, abs(shown), abs(told))


def _apart(whole: Stood, top: Stood, deadline: datetime | None) -> bool:
    """Return whether the deadline lies between them: then one may be the public board and the other the private one."""
    return deadline is not None and whole.shown_at < deadline <= top.shown_at


def _places(session: Session, sha256: str | None) -> list[Place]:
    if sha256 is None:
        return []
    try:
        rows = json.loads(read_blob(session, sha256))
    except KeyError:
        return []
    return [Place(str(row["team_id"]), str(row["team"]), number(row["score"])) for row in rows]


def sent_files(session: Session, competition: str) -> list[Sent]:
    """Return the team's submissions, the earliest first; those that failed have no score."""
    found = [
        Sent(
            ref=ref,
            tag=str(row.data.get("description") or ""),
            at=str(row.data.get("date") or ""),
            public=number(row.data.get("public_score")) if row.data.get("status") == "COMPLETE" else None,
            private=number(row.data.get("private_score")) if row.data.get("status") == "COMPLETE" else None,
            team=str(row.data.get("team_name") or ""),
        )
        for (_, ref), row in last_readings(session, competition, "submission").items()
    ]
    return sorted(found, key=lambda one: (one.at, int(one.ref) if one.ref.isdecimal() else 0, one.ref))


def best_of(sent: Sequence[Sent], *, lower_is_better: bool) -> Sent | None:
    """Return the one with the best public score, the earliest of equals."""
    scored = [(one, one.public) for one in sent if one.public is not None]
    sign = -1.0 if lower_is_better else 1.0
    return max(scored, key=lambda pair: sign * pair[1])[0] if scored else None


def number(value: object) -> float | None:
    """Return a score as a site writes it, None where it is masked, missing or not finite."""
    try:
        score = float(str(value))
    except ValueError:
        return None
    return score if math.isfinite(score) else None
