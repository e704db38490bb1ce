"""A competition's rules: what was read of them, and whether the owner has confirmed the page as it stands."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from sqlmodel import Session, col, select

from state.closed_model import ClosedModel
from state.errors import UsageError
from state.latest_events import latest
from state.series import history, last_reading, last_readings
from state.store import NO_RUN, Transaction
from state.tables import Event

_READ = "rules.read"
ACCEPTED = "rules.accepted"
"""Event: the owner has read and accepted the rules; its `sha256` is the page's, None where there is no page."""

Topic = Literal[
    "external data",
    "pretrained models",
    "automated agents",
    "team size",
    "licence of winners",
    "sharing",
    "daily submissions",
    "final submissions",
]


class RuleLine(ClosedModel):
    """What a page of rules says of one topic."""

    topic: Topic
    allowed: Literal["yes", "no", "with conditions"] | None = None
    """None: the topic is no permission."""
    number: int | None = None
    """Of members or submissions, where the topic has one."""
    sentence: str
    quote: str
    """The sentence of the page that says so, word for word."""

    @property
    def short(self) -> str:
        """It without the quote."""
        values = [self.allowed or "", "" if self.number is None else str(self.number)]
        short = ", ".join(word for word in values if word)
        return f"{self.topic}{f' ({short})' if short else ''}: {self.sentence}"

    def __str__(self) -> str:
        return f'{self.short} "{self.quote}"'


@dataclass(frozen=True)
class CompetitionRules:
    """The rules as they stand for the bot."""

    sha: str | None
    """SHA-256 of the page as last read; None: it was not read, or there is none."""
    confirmed: bool
    """Whether the owner has confirmed this page, or that there is none."""
    changed: bool
    """Whether the owner has confirmed an earlier one."""
    lines: tuple[RuleLine, ...] = ()
    """What was confirmed of them last."""
    confirmed_at: datetime | None = None

    def forbid(self, topic: Topic) -> bool:
        """Whether what was confirmed forbids something."""
        return any(line.topic == topic and line.allowed == "no" for line in self.lines)

    def number(self, topic: Topic) -> int | None:
        """Return a limit that was confirmed."""
        return next((line.number for line in self.lines if line.topic == topic), None)


def rules_of(session: Session, competition: str, *, read: bool) -> CompetitionRules:
    """Return the state of a competition's rules; `read`: bot.toml says that the owner has read the page as first read."""
    page = last_reading(session, competition, "page", "rules")
    query = select(Event).where(Event.run_id == NO_RUN, Event.type == ACCEPTED).order_by(col(Event.seq))
    accepted = [event for event in session.exec(query) if event.data["competition"] == competition]
    shas = {event.data["sha256"] for event in accepted}
    if read:
        shas |= {version.sha256 for version in history(session, competition, "page", "rules")[:1]} or {None}
    lines = tuple(RuleLine.model_validate(line) for line in accepted[-1].data["lines"]) if accepted else ()
    sha, confirmed_at = None if page is None else page.sha256, accepted[-1].at if accepted else None
    return CompetitionRules(sha, sha in shas, bool(shas) and sha not in shas, lines, confirmed_at)


def to_confirm(slug: str) -> str:
    """Return the key of the problem that rules are not confirmed."""
    return f"rules to confirm/{slug}"


def lines_read(session: Session, competition: str) -> tuple[RuleLine, ...]:
    """Return what was read last of a page of rules."""
    event = latest(session, NO_RUN, (_READ,), "competition", competition)
    return () if event is None else tuple(RuleLine.model_validate(line) for line in event.data["lines"])


def note_reading(tx: Transaction, competition: str, lines: tuple[RuleLine, ...]) -> None:
    """Record what was read of a page of rules, for the owner to confirm, unless it is what was read last."""
    if lines_read(tx.session, competition) != lines:
        data = [line.model_dump(mode="json") for line in lines]
        tx.record(_READ, run_id=NO_RUN, competition=competition, lines=data)


def accept_rules(tx: Transaction, competition: str, owner: str) -> tuple[str | None, tuple[RuleLine, ...]]:
    """Record that the owner accepts the rules page as last read, with what was read of it; or that there is none.

    Returns the page's SHA-256, None where there is no page, and the lines. Raises UsageError: no page was read yet.
    """
    page = last_reading(tx.session, competition, "page", "rules")
    if page is None and not last_readings(tx.session, competition, "page"):
        raise UsageError(f"the pages of {competition} have not been read yet: start `bot run` to read them")
    sha = None if page is None else page.sha256
    lines = () if sha is None else lines_read(tx.session, competition)
    data = [line.model_dump(mode="json") for line in lines]
    tx.record(ACCEPTED, run_id=NO_RUN, competition=competition, sha256=sha, lines=data, by=owner)
    return sha, lines
