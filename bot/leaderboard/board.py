"""The leaderboard as it was last read: the full board, with a newer top merged into it."""

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
"""Two spellings of one score may differ by this much, relative to it: boards show five digits."""


@dataclass(frozen=True)
class SiteSubmission:
    """One submission at the site; a score is None until the site shows it."""

    ref: str
    tag: str
    """Its description, by which we recognise our own."""
    time: str
    """ISO time by the site's clock."""
    public: float | None
    private: float | None
    team: str
    """The name of the team."""


@dataclass(frozen=True)
class Place:
    """One team's place; its score is None where the site masks it."""

    team_id: str
    team: str
    score: float | None


@dataclass(frozen=True)
class BoardParts:
    """Hashes of the bodies that a board is made of; `top` is None if it adds nothing to the full board."""

    full: str | None = None
    top: str | None = None


@dataclass(frozen=True)
class SeriesReading:
    """The last reading, and when it was last confirmed: a series has no second row for what did not change."""

    reading: Reading
    read_at: datetime
    """Our time."""
    shown_at: datetime
    """The site's time, if it sent one."""


@dataclass(frozen=True)
class Board:
    """The places in the site's order, the first of rank 1."""

    places: tuple[Place, ...]
    complete: bool
    """Whether all teams are on it."""
    after_deadline: bool
    """Whether it was read after the deadline, when nothing more could be sent."""
    shown_at: datetime
    """When the site showed its newest part."""
    full_at: datetime | None
    """Our time of reading the full board; None: only a top was read."""
    top_at: datetime | None
    """Our time of reading the top, if it is newer."""
    in_top: int
    """How many places come from the top."""
    parts: BoardParts

    @property
    def scores(self) -> list[float]:
        """The scores that are known, in the order of places."""
        return [place.score for place in self.places if place.score is not None]

    def read_at(self, index: int) -> datetime | None:
        """Return when a place was read, by our clock."""
        return self.top_at if index < self.in_top else self.full_at

    def is_private(self, submissions: Sequence[SiteSubmission], own_index: int | None) -> bool:
        """Return whether it is the private board, which a site shows some time after the deadline.

        A board read after the deadline may still be the public one, so our own row must show one of our private scores;
        without a row of ours it is enough that private scores are known.
        """
        private = [submission.private for submission in submissions if submission.private is not None]
        if not self.after_deadline or not private:
            return False
        score = None if own_index is None else self.places[own_index].score
        return score is None or any(same_score(score, value) for value in private)


def read_board(session: Session, competition: str, *, lower_is_better: bool) -> Board | None:
    """Return the board as it was last read, None if none was."""
    full = latest_reading(session, competition, "board", "whole", watermark(session, competition, "board").at)
    top = latest_reading(session, competition, "board", "top", watermark(session, competition, "top").at)
    deadline = deadline_of(session, competition)
    # With the deadline between the two, one may be the public board and the other the private one.
    if full and top and (top.read_at <= full.read_at or (deadline and full.shown_at < deadline <= top.shown_at)):
        top = None
    newest = top or full
    if newest is None:
        return None
    parts = BoardParts(*(reading.reading.sha256 if reading is not None else None for reading in (full, top)))
    places, in_top = read_places(session, parts, lower_is_better=lower_is_better)
    return Board(
        places=places,
        complete=full is not None,
        after_deadline=deadline is not None and newest.shown_at >= deadline,
        shown_at=newest.shown_at,
        full_at=full.read_at if full else None,
        top_at=top.read_at if top else None,
        in_top=in_top,
        parts=parts,
    )


def read_places(session: Session, parts: BoardParts, *, lower_is_better: bool) -> tuple[tuple[Place, ...], int]:
    """Return the places of a board made of these parts, and how many of them come from the top.

    A newer top replaces all teams that were at least as good as its last one: those it does not show have left the
    board.
    """
    top, full = _places(session, parts.top), _places(session, parts.full)
    team_ids = {place.team_id for place in top}
    last_score = top[-1].score if top else None
    sign = -1.0 if lower_is_better else 1.0
    further = [
        place
        for place in full
        if place.team_id not in team_ids
        and not (last_score is not None and place.score is not None and sign * place.score > sign * last_score)
    ]
    return (*top, *further), len(top)


def latest_reading(
    session: Session, competition: str, kind: ReadingKind, name: str, polled_at: datetime | None
) -> SeriesReading | None:
    """Return the last reading of a series, None if there is none, or its subject is gone."""
    reading = last_reading(session, competition, kind, name)
    if reading is None or reading.sha256 is None:
        return None
    shown_at = reading.served_at or reading.at
    if polled_at is None or polled_at <= reading.at:
        return SeriesReading(reading, reading.at, shown_at)
    return SeriesReading(reading, polled_at, shown_at + (polled_at - reading.at))


def own_place(places: Sequence[Place], submissions: Sequence[SiteSubmission]) -> int | None:
    """Return the team's index, by the name under which it last submitted; of several such, the one with our score."""
    team = next((submission.team for submission in reversed(submissions) if submission.team), None)
    indices = [index for index, place in enumerate(places) if team is not None and place.team == team]
    if len(indices) < 2:
        return indices[0] if indices else None
    scores = [
        score for submission in submissions for score in (submission.public, submission.private) if score is not None
    ]
    matching = (index for index in indices if any(same_score(places[index].score, score) for score in scores))
    return next(matching, None)


def same_score(first: float | None, second: float) -> bool:
    """Return whether two numbers that the site shows are the same score."""
    return first is not None and abs(first - second) <= _CLOSE * max(1.0, abs(first), abs(second))


def _places(session: Session, sha256: str | None) -> list[Place]:
    if sha256 is None:
        return []
    try:
        rows = json.loads(read_blob(session, sha256))
    except KeyError:
        return []
    return [Place(str(row["team_id"]), str(row["team"]), number(row["score"])) for row in rows]


def site_submissions(session: Session, competition: str) -> list[SiteSubmission]:
    """Return the team's submissions, the earliest first; those that failed have no score."""
    submissions = []
    for (_, ref), row in last_readings(session, competition, "submission").items():
        data, is_complete = row.data, row.data.get("status") == "COMPLETE"
        tag, time, team = (str(data.get(name) or "") for name in ("description", "date", "team_name"))
        public, private = (number(data.get(f"{kind}_score")) if is_complete else None for kind in ("public", "private"))
        submissions.append(SiteSubmission(ref, tag, time, public, private, team))
    submissions.sort(key=lambda s: (s.time, int(s.ref) if s.ref.isdecimal() else 0, s.ref))
    return submissions


def best_of(submissions: Sequence[SiteSubmission], *, lower_is_better: bool) -> SiteSubmission | None:
    """Return the submission with the best public score; of equals, the earliest."""
    scored_submissions = [submission for submission in submissions if submission.public is not None]
    sign = -1.0 if lower_is_better else 1.0
    return max(scored_submissions, key=lambda submission: sign * (submission.public or 0.0), default=None)


def number(value: object) -> float | None:
    """Read a score as a site writes it; None if it is masked, missing or not finite."""
    try:
        score = float(str(value))
    except ValueError:
        return None
    return score if math.isfinite(score) else None
