"""Trouble that needs a person: when it began and whether it is over, kept as events of no run."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlmodel import Session

from state.latest import latest, latest_of_each
from state.store import NO_RUN, Transaction

# Notices are imported where one is sent: `bot status` reads troubles, and starts faster without them.
if TYPE_CHECKING:
    from bot.notify.events import Event

__all__ = ["Trouble", "begin", "begin_work_broken", "current", "end", "end_all_of"]

_BEGAN, _ENDED = "trouble.began", "trouble.ended"


@dataclass(frozen=True)
class Trouble:
    """One trouble that is not over."""

    key: str
    """By which it is begun and ended, such as `rules/titanic`."""
    what: str
    """Of which kind it is, such as `trouble.rules`."""
    sentence: str
    """What is wrong and what a person is to do about it."""
    since: datetime


def begin(tx: Transaction, key: str, sentence: str, event: "Event | None" = None, *, asks: bool = False) -> bool:
    """Write down that a trouble began, and tell the owner; one that has begun already is left as it is.

    Args:
        tx: the transaction of what was found.
        key: what the trouble is, such as `rules/titanic`; what is to be told anew needs a key of its own.
        sentence: what is wrong and what a person is to do about it.
        event: what the owner is told; None: nothing.
        asks: whether the sentence asks the owner for something; where it asks for something else than before, it is new.

    Returns:
        Whether it is new.
    """
    before = latest(tx.session, NO_RUN, (_BEGAN, _ENDED), "key", key)
    if before is not None and before.type == _BEGAN and (not asks or before.data["sentence"] == sentence):
        return False
    what = key.split("/")[0] if event is None else event.kind
    tx.record(_BEGAN, run_id=NO_RUN, what=what, key=key, sentence=sentence)
    if event is not None:
        from bot.notify.outbox import notify

        notify(tx, event.notice())
    return True


def begin_work_broken(tx: Transaction, key: str, of: str, why: str, patience: timedelta = timedelta(0)) -> None:
    """Write down what keeps the bot from its work; the owner is told of what has lasted for longer than that."""
    from bot.notify.events import WorkBroken
    from bot.notify.outbox import notify

    begin(tx, key, f"{of}: {why}")
    since = next(one.since for one in current(tx.session) if one.key == key)
    if tx.now() - since >= patience:
        notify(tx, WorkBroken(since, of, why).notice())


def end(tx: Transaction, key: str) -> bool:
    """Write down that a trouble is over; returns whether there was one."""
    before = latest(tx.session, NO_RUN, (_BEGAN, _ENDED), "key", key)
    if before is None or before.type == _ENDED:
        return False
    tx.record(_ENDED, run_id=NO_RUN, key=key)
    return True


def end_all_of(tx: Transaction, name: str) -> None:
    """Write down that what troubled something, such as a competition that is not worked on any more, is over."""
    for one in current(tx.session):
        if one.key.split("/")[1:] == [name]:
            end(tx, one.key)


def current(session: Session) -> list[Trouble]:
    """Return the troubles that are not over, the oldest first."""
    told = latest_of_each(session, NO_RUN, (_BEGAN, _ENDED), "key")
    return [
        Trouble(key, row.data["what"], row.data["sentence"], row.at) for key, row in told.items() if row.type == _BEGAN
    ]
