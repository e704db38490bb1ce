"""Proposed task cards: stored as events, so that the owner confirms with one command what was read on the pages."""

from collections.abc import Mapping
from typing import Any

from sqlmodel import Session

from scrapers.kaggle.card.derive import toml_line
from scrapers.kaggle.card.overrides import CardOverrides
from state.closed_model import ClosedModel
from state.errors import UsageError
from state.latest_events import latest
from state.store import NO_RUN, Transaction

_PROPOSED, _CONFIRMED = "card.proposed", "card.confirmed"


class CardProposal(ClosedModel):
    """What is proposed of a competition's task."""

    values: dict[str, Any]
    """Keys of `CardOverrides`; empty: only a choice settles the task."""
    quotes: tuple[str, ...] = ()
    """The sentences of the pages that say so; none: only Kaggle's field does."""
    reader: str
    """Who has read it: a model's name, or Kaggle's field."""
    note: str = ""
    """What is uncertain, and what the leaderboard shows."""
    choices: Mapping[str, dict[str, Any]] = {}
    """Other answers, each the values that settle the task."""

    @property
    def overrides(self) -> CardOverrides:
        """What it says, as it would be written into bot.toml."""
        return CardOverrides.model_validate(self.values)

    @property
    def lines(self) -> tuple[str, ...]:
        """What it says, as lines of bot.toml."""
        return tuple(toml_line(name, value) for name, value in self.values.items())

    @property
    def source(self) -> str:
        """Who says so, with the quoted words."""
        return "; ".join((f"{self.reader} says so", *(f'"{quote}"' for quote in self.quotes)))


def propose(tx: Transaction, competition: str, proposal: CardProposal) -> None:
    """Record a proposal, unless it waits for an answer already."""
    if unanswered(tx.session, competition) != proposal:
        tx.record(_PROPOSED, run_id=NO_RUN, competition=competition, proposal=proposal.model_dump(mode="json"))


def confirm(tx: Transaction, competition: str, confirmer: str, choice: str = "") -> CardProposal:
    """Record that the owner confirms the last proposal, or one of its choices. Raises UsageError: there is no such thing."""
    data = (_last(tx.session, _PROPOSED, competition) or {}) | {"choices": {}}
    if choice:
        proposal = unanswered(tx.session, competition)
        values = None if proposal is None else proposal.choices.get(choice)
        if values is None:
            raise UsageError(f"{choice!r} is not an answer to the current question on {competition}: open it again")
        data |= {"values": values, "reader": confirmer, "quotes": [], "note": ""}
    if not data.get("values"):
        raise UsageError(f"no task spec has been proposed for {competition}; `bot status` shows what is missing")
    if _last(tx.session, _CONFIRMED, competition) != data:
        tx.record(_CONFIRMED, run_id=NO_RUN, competition=competition, proposal=data, by=confirmer)
    return CardProposal.model_validate(data)


def unanswered(session: Session, competition: str) -> CardProposal | None:
    """Return what was proposed since the owner confirmed something; None: nothing."""
    event = latest(session, NO_RUN, (_PROPOSED, _CONFIRMED), "competition", competition)
    return None if event is None or event.type == _CONFIRMED else CardProposal.model_validate(event.data["proposal"])


def confirmed(session: Session, competition: str) -> CardProposal | None:
    """Return what the owner has confirmed last; None: nothing."""
    data = _last(session, _CONFIRMED, competition)
    return None if data is None else CardProposal.model_validate(data)


def _last(session: Session, type: str, competition: str) -> dict[str, Any] | None:
    event = latest(session, NO_RUN, (type,), "competition", competition)
    return None if event is None else event.data["proposal"]
