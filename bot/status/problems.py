"""Problems that need the owner, and since when; stored as events of no run."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from sqlmodel import Session

from state.latest_events import latest, latest_of_each
from state.store import NO_RUN, Transaction

# Notices are imported where one is sent: `bot status` reads problems, and starts faster without them.
if TYPE_CHECKING:
    from bot.notify import Notice

_STARTED, _STOPPED = "problem.began", "problem.ended"


@dataclass(frozen=True)
class OpenProblem:
    """One problem that is not resolved."""

    key: str
    """Identifies it, such as `rules/titanic`."""
    sentence: str
    """What is wrong and what the owner should do about it."""
    since: datetime


def begin(tx: Transaction, key: str, sentence: str, notice: "Notice | None" = None, *, asks: bool = False) -> bool:
    """Record that a problem began, and notify the owner; return False, and do nothing, if it is open already.

    With `asks`, the sentence asks the owner for something, and another sentence is a new problem.
    """
    before = latest(tx.session, NO_RUN, (_STARTED, _STOPPED), "key", key)
    if before is not None and before.type == _STARTED and (not asks or before.data["sentence"] == sentence):
        return False
    tx.record(_STARTED, run_id=NO_RUN, key=key, sentence=sentence)
    if notice is not None:
        from bot.notify.outbox import notify

        notify(tx, notice)
    return True


def begin_work_broken(tx: Transaction, key: str, part: str, reason: str, patience: timedelta = timedelta(0)) -> bool:
    """Record what keeps the bot from its work, notify the owner once it lasts for `patience`, and return whether it is new."""
    from bot.notify import Notice
    from bot.notify.outbox import notify

    is_new = begin(tx, key, f"{part}: {reason}")
    since = next(problem.since for problem in current(tx.session) if problem.key == key)
    if tx.now() - since >= patience:
        notify(tx, Notice("problem.work", "", {"since": since, "of": part, "why": reason}))
    return is_new


def end(tx: Transaction, key: str) -> None:
    """Record that a problem is over, if there was one."""
    before = latest(tx.session, NO_RUN, (_STARTED, _STOPPED), "key", key)
    if before is not None and before.type == _STARTED:
        tx.record(_STOPPED, run_id=NO_RUN, key=key)


def end_all_of(tx: Transaction, name: str) -> None:
    """End all problems with this name, such as those of a competition that is no longer worked on."""
    for problem in current(tx.session):
        if problem.key.split("/")[1:] == [name]:
            end(tx, problem.key)


def current(session: Session) -> list[OpenProblem]:
    """Return the open problems, oldest first."""
    events = latest_of_each(session, NO_RUN, (_STARTED, _STOPPED), "key")
    return [OpenProblem(key, row.data["sentence"], row.at) for key, row in events.items() if row.type == _STARTED]
