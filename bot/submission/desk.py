"""The desk: all that one live run submits, from the node that is worth it to the files that should count in the end."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlmodel import col, func, select

from bot.configuration.competition import CompetitionSettings
from bot.engine.context import RunContext
from bot.evaluation.client.worker import Worker
from bot.notify.events import (
    ApprovalAsked,
    RulesNotAccepted,
    SubmissionFailed,
    SubmissionRefused,
    SubmissionScored,
)
from bot.notify.outbox import notify
from bot.submission import Submitter
from bot.submission.exactly_once import ExactlyOnce, Patience
from bot.submission.facts import AGAIN, Asked, Reviewer, SubmissionState
from bot.submission.files import Candidate, Files
from bot.submission.policy import Decision
from bot.submission.scores import PublicScores
from state import errors
from state.approvals import (
    WishState,
    answer_wish,
    approval_of,
    ask_approval,
    decide_approval,
    declined,
    open_wishes,
    wish_for,
)
from state.errors import InfrastructureFailure, InvalidSubmission, KaggleError, SiteUnavailable, SubmissionInDoubt
from state.store import Transaction
from state.submissions import CONSIDERED
from state.tables import Approval, Event, Node, Submission, Wish
from state.words import iso

_LOCK = ".submission.lock"
"""In the competition's folder: whose turn it is to send."""
_MOST_SENDS = 4
"""Times that a file is begun to be sent, after which it is given up unless the site lists it."""
_FIRST_PAUSE, _LONGEST_PAUSE = timedelta(minutes=1), timedelta(hours=1)
_GOES = ("send", "hold")
_OVERTAKEN, _UNWANTED = "another node's file is better", "its owner refused it"
"""Reasons of a withdrawal that are no news to the owner."""


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


class Desk:
    """Submits for one live run; nothing of it is in memory alone, so that it may be killed at any point.

    Each method may be called again and again, and side by side with the others. None raises for a site that cannot be
    asked; StateUnavailable and StateCorrupted it lets through.
    """

    def __init__(
        self,
        context: RunContext,
        folder: Path,
        settings: CompetitionSettings,
        submitter: Submitter,
        worker: Worker,
        patience: Patience | None = None,
    ) -> None:
        """Take up a run, which may have submitted before.

        Args:
            context: the run, whose clock is the one that all goes by.
            folder: the competition's, in which files that are to be sent are kept.
            settings: what its owner allows.
            submitter: the site.
            worker: for all that needs numpy.
            patience: how long to wait for the site.
        """
        self._context, self._settings, self._slug = context, settings, context.card.slug
        self._files = Files(context, folder, worker)
        self._reviewer = Reviewer(context, settings, submitter, self._files)
        self._once = ExactlyOnce(
            context.store, context.run_id, submitter, context.clock, folder / _LOCK, patience, also=self._moved
        )
        self.scores = PublicScores(context, self._reviewer, self._once, self._moved)
        """What came of it all."""
        self._choosing, self._sending = asyncio.Lock(), asyncio.Lock()
        self._considered: dict[int, dict[str, Any]] | None = None
        self._wishes: dict[int | None, dict[str, Any]] = {}
        self._not_before: dict[str, datetime] = {}
        self._failures: dict[str, int] = {}

    async def consider(self) -> Decision | None:
        """Decide on the next file, make it if it may go, and write down the intent or the reason; None: all is decided.

        That is one that the owner wishes for, else the best node's. The event `submission.considered` holds what was decided
        on a node. A node is looked at again when the day, the quota, the settings or what is known of the site have changed,
        or the time has come until which it was to wait.
        """
        async with self._choosing:
            state = self._reviewer.state()
            with self._context.store.read() as session:
                wishes = open_wishes(session, self._context.run_id)
            for wish in wishes:
                if not self._stands(self._wishes.get(wish.id), state):
                    return await self._grant(wish, state)
            node = self._next_node(state)
            if node is None:
                return None
            decision, candidate = await self._decide(Asked(node))
            # Remembered once it is written down: what is not must be decided again.
            self._decided()[node] = self._write_down(node, decision, state, candidate)
            return decision

    async def send(self) -> None:
        """Send what may go now, one file after the other, and withdraw what shall not go any more.

        First what may be at the site already, then what its owner wants, then the best.
        """
        async with self._sending:
            # What the owner says may put off a later one, so that each is looked at as it stands then.
            for id in [one.row.id for one in self._open()]:
                found = self._open()
                one = next((one for one in found if one.row.id == id), None)
                until = self._not_before.get(id)
                if one is not None and (until is None or self._now() >= until):
                    await self._advance(one, found)

    async def give_up(self, why: str) -> None:
        """Send nothing more: what is not at the site is withdrawn, wishes are refused.

        Raises:
            SiteUnavailable, KaggleError: the site cannot be asked what it has; SubmissionInDoubt where it may have a file.
        """
        async with self._choosing, self._sending:
            for row in self._reviewer.state().open:
                row = await self._once.withdraw(row.id, why)
                self._context.say(f"{row.tag} is {row.status}: {why}")
            with self._context.store.write() as tx:
                for wish in open_wishes(tx.session, self._context.run_id):
                    answer_wish(tx, wish.id or 0, "refused", why)

    def _now(self) -> datetime:
        return self._context.clock.now()

    def _next_node(self, state: SubmissionState) -> int | None:
        """Return the best node that is better than what was or is to be sent, and not decided about as things stand."""
        scores = self._reviewer.scores()
        with self._context.store.read() as session:
            gone = {row.node for row in declined(session, state.rows)}
        gone |= {row.node for row in state.rows if row.status != "withdrawn"}
        going = [scores[row.node] for row in (*state.there, *state.open) if row.node in scores]
        floor = max((*going, *map(self._context.card.oriented, state.comparable)), default=None)
        for node in sorted(scores, key=lambda node: (-scores[node], node)):
            if floor is not None and scores[node] <= floor:
                return None
            if node in gone:
                continue
            known = self._decided().get(node)
            if not self._stands(known, state):
                return node
            if known is not None and not known["of_file"]:
                return None
        return None

    def _decided(self) -> dict[int, dict[str, Any]]:
        """Return what was decided last on each node, as its event has it."""
        if self._considered is None:
            with self._context.store.read() as session:
                query = select(Event).where(Event.run_id == self._context.run_id, Event.type == CONSIDERED)
                events = session.exec(query.order_by(col(Event.seq))).all()
            self._considered = {event.node: event.data for event in events if event.node is not None}
        return self._considered

    def _stands(self, known: dict[str, Any] | None, state: SubmissionState) -> bool:
        """Return whether there is no reason to decide anew."""
        if known is None or known["state"] != state.key:
            return False
        return known["until"] is None or self._now() < datetime.fromisoformat(known["until"])

    async def _decide(self, asked: Asked) -> tuple[Decision, Candidate | None]:
        """Decide, and if it may go make its file and decide with that; without a file it does not go."""
        decision = await self._reviewer.decide(asked)
        if decision.verdict not in _GOES:
            return decision, None
        try:
            candidate = await self._files.made(asked.node)
        except InvalidSubmission as error:
            return Decision("never", str(error), of_file=True), None
        except InfrastructureFailure as error:
            return Decision("wait", str(error), self._now() + AGAIN), None
        decision = await self._reviewer.decide(Asked(asked.node, candidate.sha256, wished=asked.wished))
        return decision, candidate if decision.verdict in _GOES else None

    async def _grant(self, wish: Wish, state: SubmissionState) -> Decision:
        """Decide on what the owner asked for: under the same rules, but whatever its gain is."""
        row = next((row for row in state.rows if row.node == wish.node and row.status != "withdrawn"), None)
        submission, candidate = None, None
        if row is not None:
            decision = Decision("never", f"node {wish.node} is {row.status} as {row.tag} already")
            submission = row.id if row in state.open else None
        elif wish.node not in self._reviewer.scores():
            decision = Decision("never", f"node {wish.node} has no validation score")
        else:
            decision, candidate = await self._decide(Asked(wish.node, wished=True))
        known = self._write_down(wish.node, decision, state, candidate, wish=wish, submission=submission)
        if candidate is None:
            self._wishes[wish.id] = known
        return decision

    def _write_down(
        self,
        node: int,
        decision: Decision,
        state: SubmissionState,
        candidate: Candidate | None,
        *,
        wish: Wish | None = None,
        submission: str | None = None,
    ) -> dict[str, Any]:
        """Write down what was decided on a node, and with a file the intent, what is asked of the owner and the wish."""
        run_id, until = self._context.run_id, None if decision.until is None else iso(decision.until)
        known = {"decision": decision.verdict, "until": until, "of_file": decision.of_file, "state": state.key}

        def record(tx: Transaction, why: str, submission: str | None, answer: WishState) -> None:
            tx.record(CONSIDERED, run_id=run_id, node=node, why=why, submission=submission, **known)
            if wish is not None:
                later = "" if until is None else f"; it is looked at again at {until}"
                answer_wish(tx, wish.id or 0, answer, why + later, submission)
            if self._settings.submit and (state.entered is False or state.rules_changed):
                url = f"https://www.kaggle.com/competitions/{self._slug}/rules"
                notify(tx, RulesNotAccepted(self._slug, url, state.rules_sha).notice(run_id))

        def intended(tx: Transaction, row: Submission) -> None:
            record(tx, f"{decision.why}; {candidate.note if candidate else ''}", row.id, "intended")
            if decision.verdict == "hold":
                self._hold(tx, row, decision.why)

        if candidate is not None:
            self._context.say(f"node {node} is to be submitted: {decision.why}")
            self._once.intend(candidate.file, node=node, handed_in=candidate.how, also=intended)
        else:
            answer: WishState = "intended" if submission else "open" if decision.verdict == "wait" else "refused"
            with self._context.store.write() as tx:
                record(tx, decision.why, submission, answer)
        return known

    def _hold(self, tx: Transaction, row: Submission, why: str) -> None:
        """Hold a submission until its owner has decided, and ask once."""
        until = tx.now() + timedelta(hours=self._settings.approval_hours)
        held = ask_approval(tx, row.run_id, row.id, expires_at=until, why=why)
        asked = ApprovalAsked(self._slug, row.tag, row.node, str(held.id), _validation(tx, row), why)
        notify(tx, asked.notice(row.run_id))

    def _open(self) -> list[_Open]:
        rows, scores, run_id = self._reviewer.state().open, self._reviewer.scores(), self._context.run_id
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

    async def _advance(self, one: _Open, found: Sequence[_Open]) -> None:
        """Send a submission, hold it, have it wait or withdraw it, by one more decision right before it goes."""
        row = one.row
        if (why := self._given_up(one, found)) is not None:
            await self._withdraw(row, why)
            return
        if one.held is not None and one.held.decision is None:
            return
        asked = Asked(row.node, row.file_sha, row, wished=one.wish is not None, approved=one.approved)
        decision = await self._reviewer.decide(asked)
        if decision.verdict == "send":
            await self._send(row)
        elif decision.verdict == "hold":
            with self._context.store.write() as tx:
                self._hold(tx, row, decision.why)
        elif decision.verdict == "wait":
            # But not for long, as its owner may change what is allowed.
            soon = self._now() + _LONGEST_PAUSE
            self._not_before[row.id] = soon if decision.until is None else min(decision.until, soon)
        else:
            await self._withdraw(row, decision.why)

    def _given_up(self, one: _Open, found: Sequence[_Open]) -> str | None:
        """Return why a submission is not to be sent, whatever the policy says; None: it may be."""
        held, hours = one.held, self._settings.approval_hours
        if held is not None and held.decision == "refused":
            return _UNWANTED
        if held is not None and held.decision is None and self._now() >= held.expires_at:
            with self._context.store.write() as tx:
                held = decide_approval(tx, held.id or 0, "expired", "bot")
        if held is not None and held.decision == "expired":
            return f"nobody approved it within {hours:g} hours"
        if one.begun:
            sends = self._sends(one.row.id)
            return f"it was sent {sends} times, and the site does not list it" if sends >= _MOST_SENDS else None
        if not one.settled_by_owner and any(other.score > one.score for other in found if not other.begun):
            return _OVERTAKEN
        return None

    def _sends(self, id: str) -> int:
        of_it = (Event.run_id == self._context.run_id, Event.type == "submission.sending")
        with self._context.store.read() as session:
            count = select(func.count()).select_from(Event).where(*of_it)
            return session.exec(count.where(col(Event.data)["submission"].as_string() == id)).one()

    async def _send(self, row: Submission) -> None:
        try:
            with self._context.spending.reserve(submissions=1) as held:
                await self._once.complete(row.id, self._files.kept(str(row.file_sha)))
                held.spend(submissions=1)
            self._context.say(f"submitted node {row.node} as {row.tag}")
        except errors.SubmissionRefused as error:
            self._context.say(f"{row.tag} was refused: {error}")
        except (errors.FileChanged, OSError) as error:
            await self._withdraw(row, f"its file is not there as it was: {error}")
        except SubmissionInDoubt as error:
            with self._context.store.write() as tx:
                notify(tx, SubmissionFailed(self._slug, row.tag, row.node, str(error)).notice(row.run_id))
            self._rest(row, error)
        except (errors.BudgetExceeded, errors.NotSent, SiteUnavailable, KaggleError) as error:
            self._rest(row, error)

    async def _withdraw(self, row: Submission, why: str) -> None:
        try:
            await self._once.withdraw(row.id, why)
            self._context.say(f"{row.tag} is not submitted: {why}")
        except (SiteUnavailable, SubmissionInDoubt, KaggleError) as error:
            self._rest(row, error)

    def _rest(self, row: Submission, error: Exception) -> None:
        """Leave a submission alone for a while, longer each time."""
        self._failures[row.id] = times = self._failures.get(row.id, 0) + 1
        self._not_before[row.id] = self._now() + min(_FIRST_PAUSE * 2 ** min(times - 1, 10), _LONGEST_PAUSE)
        self._context.say(f"{row.tag} waits: {error}")

    def _moved(self, tx: Transaction, row: Submission) -> None:
        """Write beside each move of a submission whom to notify, and that nobody need decide about it any more."""
        held = approval_of(tx.session, row.run_id, row.id)
        if row.status in ("confirmed", "refused", "withdrawn") and held is not None and held.decision is None:
            decide_approval(tx, held.id or 0, "moot", "bot")
        about = (self._slug, row.tag, row.node)
        if row.status == "refused":
            notify(tx, SubmissionRefused(*about, row.message or "none").notice(row.run_id))
        if row.status == "confirmed" and row.score is not None:
            notify(tx, SubmissionScored(*about, row.score, _validation(tx, row)).notice(row.run_id))
        # What the owner has not heard of is no news where it is withdrawn.
        known = held is not None or row.sent_at is not None or wish_for(tx.session, row.run_id, row.id) is not None
        if row.status == "withdrawn" and known and row.message not in (_OVERTAKEN, _UNWANTED):
            notify(tx, SubmissionFailed(*about, row.message or "").notice(row.run_id))


def _validation(tx: Transaction, row: Submission) -> float | None:
    node = tx.session.get(Node, (row.run_id, row.node))
    return None if node is None else node.score
