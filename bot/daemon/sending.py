"""Sending: brings what is intended to its end, one file at a time, each decided about once more right before it goes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlmodel import col, func, select

from bot.daemon.candidates import Candidates
from bot.daemon.considering import hold
from bot.daemon.judging import Asked, Judge
from bot.daemon.telling import OVERTAKEN, UNWANTED
from bot.engine.context import RunContext
from bot.notify.events import SubmissionFailed
from bot.notify.outbox import notify
from bot.submission.exactly_once import ExactlyOnce
from bot.submission.policy import Decision
from state.approvals import approval_of, decide_approval, wish_for
from state.errors import (
    BudgetExceeded,
    FileChanged,
    KaggleError,
    NotSent,
    SiteUnavailable,
    SubmissionInDoubt,
    SubmissionRefused,
)
from state.tables import Approval, Event, Submission, Wish

__all__ = ["MOST_SENDS", "Sending"]

MOST_SENDS = 4
"""Times that a file is begun to be sent, after which it is given up unless the site lists it."""
_FIRST_PAUSE = timedelta(minutes=1)
_LONGEST_PAUSE = timedelta(hours=1)


@dataclass(frozen=True)
class _Open:
    """A submission of which something is left to be done, and what its owner said."""

    row: Submission
    held: Approval | None
    wish: Wish | None
    score: float

    @property
    def approved(self) -> bool:
        return self.held is not None and self.held.decision == "approved"

    @property
    def begun(self) -> bool:
        """Whether the site may have it."""
        return self.row.status in ("sending", "doubtful")

    @property
    def settled_by_owner(self) -> bool:
        """Whether a person wants it to go, so that no other goes in its place."""
        return self.approved or self.wish is not None


class Sending:
    """Sends what is intended, in one live run."""

    def __init__(self, context: RunContext, judge: Judge, candidates: Candidates, once: ExactlyOnce) -> None:
        self._context = context
        self._judge = judge
        self._candidates = candidates
        self._once = once
        self._not_before: dict[str, datetime] = {}
        self._failures: dict[str, int] = {}

    async def all(self) -> None:
        """Send what may go now; first what may be at the site already, then what its owner wants, then the best."""
        # What the owner says may put off a later one, so that each is looked at as it stands then.
        for id in [one.row.id for one in self._open()]:
            found = self._open()
            one = next((one for one in found if one.row.id == id), None)
            if one is not None and self._rested(id):
                await self._one(one, found)

    async def give_up(self, why: str) -> None:
        """Withdraw all that is not confirmed, but what turns out to be at the site; raises as `ExactlyOnce.withdraw`."""
        for row in self._judge.affairs().open:
            row = await self._once.withdraw(row.id, why)
            self._context.say(f"{row.tag} is {row.status}: {why}")

    def _open(self) -> list[_Open]:
        rows, scores, run_id = self._judge.affairs().open, self._judge.scores(), self._context.run_id
        with self._context.store.read() as session:
            found = [
                _Open(
                    row,
                    approval_of(session, run_id, row.id),
                    wish_for(session, run_id, row.id),
                    scores.get(row.node, float("-inf")),
                )
                for row in rows
            ]
        return sorted(found, key=lambda one: (not one.begun, not one.settled_by_owner, -one.score, int(one.row.id)))

    def _rested(self, id: str) -> bool:
        until = self._not_before.get(id)
        return until is None or self._context.clock.now() >= until

    async def _one(self, one: _Open, found: Sequence[_Open]) -> None:
        row = one.row
        if (why := self._given_up(one, found)) is not None:
            await self._withdraw(row, why)
            return
        if one.held is not None and one.held.decision is None:
            return
        asked = Asked(row.node, row.file_sha, row, wished=one.wish is not None, approved=one.approved)
        decision = await self._judge.decide(asked)
        if decision.verdict == "send":
            await self._act(row)
        elif decision.verdict == "hold":
            with self._context.store.write() as tx:
                hold(tx, row, self._context.card.slug, decision.why, self._judge.settings.approval_hours)
        elif decision.verdict == "wait":
            self._wait(row.id, decision)
        else:
            await self._withdraw(row, decision.why)

    def _given_up(self, one: _Open, found: Sequence[_Open]) -> str | None:
        """Return why a submission is not to be sent, whatever the policy says; None: it may be."""
        held, hours = one.held, self._judge.settings.approval_hours
        if held is not None and held.decision == "refused":
            return UNWANTED
        if held is not None and held.decision is None and self._context.clock.now() >= held.expires_at:
            with self._context.store.write() as tx:
                held = decide_approval(tx, held.id or 0, "expired", "bot")
        if held is not None and held.decision == "expired":
            return f"nobody approved it within {hours:g} hours"
        if one.begun:
            sends = self._sends(one.row.id)
            return f"it was sent {sends} times, and the site does not list it" if sends >= MOST_SENDS else None
        if not one.settled_by_owner and any(other.score > one.score for other in found if not other.begun):
            return OVERTAKEN
        return None

    def _sends(self, id: str) -> int:
        with self._context.store.read() as session:
            query = (
                select(func.count())
                .select_from(Event)
                .where(
                    Event.run_id == self._context.run_id,
                    Event.type == "submission.sending",
                    col(Event.data)["submission"].as_string() == id,
                )
            )
            return session.exec(query).one()

    async def _act(self, row: Submission) -> None:
        if row.file_sha is None:
            await self._withdraw(row, "it is not known which file it is")
            return
        try:
            with self._context.spending.reserve(submissions=1) as held:
                await self._once.complete(row.id, self._candidates.kept(row.file_sha))
                held.spend(submissions=1)
            self._context.say(f"submitted node {row.node} as {row.tag}")
        except SubmissionRefused as error:
            self._context.say(f"{row.tag} was refused: {error}")
        except (FileChanged, OSError) as error:
            await self._withdraw(row, f"its file is not there as it was: {error}")
        except SubmissionInDoubt as error:
            with self._context.store.write() as tx:
                slug = self._context.card.slug
                notify(tx, SubmissionFailed(slug, row.tag, row.node, str(error)).notice(row.run_id))
            self._failed(row, error)
        except (BudgetExceeded, NotSent, SiteUnavailable, KaggleError) as error:
            self._failed(row, error)

    async def _withdraw(self, row: Submission, why: str) -> None:
        try:
            await self._once.withdraw(row.id, why)
        except (SiteUnavailable, SubmissionInDoubt, KaggleError) as error:
            self._failed(row, error)
            return
        self._context.say(f"{row.tag} is not submitted: {why}")

    def _failed(self, row: Submission, error: Exception) -> None:
        """Leave it alone for a while, longer each time."""
        self._failures[row.id] = times = self._failures.get(row.id, 0) + 1
        pause = min(_FIRST_PAUSE * 2 ** min(times - 1, 10), _LONGEST_PAUSE)
        self._not_before[row.id] = self._context.clock.now() + pause
        self._context.say(f"{row.tag} waits: {error}")

    def _wait(self, id: str, decision: Decision) -> None:
        """Leave it alone until it may go; but not for long, as its owner may change what is allowed."""
        soon = self._context.clock.now() + _LONGEST_PAUSE
        self._not_before[id] = soon if decision.until is None else min(decision.until, soon)
