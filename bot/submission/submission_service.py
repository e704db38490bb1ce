"""Everything that one live run submits, from the choice of a node to the proposal of the final files."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from sqlmodel import col, func, select

from bot.configuration.competition import CompetitionSettings
from bot.engine.context import RunContext
from bot.engine.tree import BASELINE
from bot.evaluation.client.worker import Worker
from bot.notify import Notice
from bot.notify.outbox import notify
from bot.submission import Submitter
from bot.submission.exactly_once import ExactlyOnce
from bot.submission.facts import RETRY, Proposal, Reviewer, SubmissionState
from bot.submission.files import Files, SubmissionFile
from bot.submission.policy import Decision
from bot.submission.pushes import NotebookRuns, Pushes
from bot.submission.scores import PublicScores
from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.settings import KaggleSection
from state import errors
from state.approvals import (
    RequestState,
    answer_request,
    approval_of,
    ask_approval,
    decide_approval,
    open_requests,
    refused_submissions,
    request_of,
)
from state.clock import Clock, SystemClock, back_off, midnight
from state.errors import InfrastructureFailure, InvalidSubmission, KaggleError, SiteUnavailable, SubmissionInDoubt
from state.notebooks import notebook_state, record_stage
from state.store import Transaction
from state.submissions import CONSIDERED
from state.tables import Approval, Event, Node, Submission, SubmissionRequest
from state.words import iso

_LOCK = ".submission.lock"
"""In the competition's folder; held while a file is sent."""
_MOST_SENDS = 4
"""Attempts to send a file, after which it is given up unless the site lists it."""
_FIRST_PAUSE, _LONGEST_PAUSE = 60.0, 3600.0
_LAST_DAY = timedelta(days=1)
_ACCEPTED = ("send", "hold")
_OVERTAKEN, _UNWANTED = "replaced by a better file", "you refused it"
"""Reasons for a withdrawal that are no news to the owner."""


@dataclass(frozen=True)
class _OpenSubmission:
    """A submission that is not settled, and the owner's decisions about it."""

    row: Submission
    approval: Approval | None
    request: SubmissionRequest | None
    score: float
    pushed: bool = False
    """Whether its notebook is being brought to Kaggle, so that no better one replaces it before it has run."""

    @property
    def approved(self) -> bool:
        return self.approval is not None and self.approval.decision == "approved"

    @property
    def begun(self) -> bool:
        """Whether the site may have it."""
        return self.row.status in ("sending", "doubtful")

    @property
    def wanted_by_owner(self) -> bool:
        """Whether the owner wants it sent, so that no other replaces it."""
        return self.approved or self.request is not None


class SubmissionService:
    """Submits for one live run; all its state is stored, so that it may be killed at any point.

    Each method may be called repeatedly and concurrently with the others. None raises if the site cannot be asked;
    StateUnavailable and StateCorrupted are passed on.
    """

    def __init__(
        self,
        context: RunContext,
        folder: Path,
        settings: CompetitionSettings,
        submitter: Submitter,
        worker: Worker,
        client: KaggleClient | None = None,
        kaggle: KaggleSection | None = None,
        owner_clock: Clock | None = None,
    ) -> None:
        """Take up a run, which may have submitted before; files to be sent are kept in the competition's `folder`.

        `owner_clock` (None: the machine's) says when the owner is reminded: however fast the run's is, a person's day is a day.
        Where the competition takes notebooks, `client` pushes them before they are submitted. `kaggle` (None: the real one) is
        the site whose pages messages link to.
        """
        self._context, self._settings, self._slug = context, settings, context.card.slug
        self._files = Files(context, folder, worker)
        self._reviewer = Reviewer(context, settings, submitter, self._files)
        self._once = ExactlyOnce(context.store, context.run_id, submitter, context.clock, folder / _LOCK, self._changed)
        self._kaggle = kaggle or KaggleSection()
        address = self._kaggle.page_of(self._slug, "submissions")
        self.scores = PublicScores(context, self._reviewer, self._once, self._changed, address)
        self._pushes = None if client is None else Pushes(context, self._files, client)
        self._owner_clock = owner_clock or SystemClock()
        self._choosing, self._sending = asyncio.Lock(), asyncio.Lock()
        self._requests: dict[int | None, dict[str, Any]] = {}
        self._not_before: dict[str, datetime] = {}
        self._failures: dict[str, int] = {}

    async def consider(self) -> Decision | None:
        """Decide on the next file, make it if it may go, and record the intent or the reason; None: all is decided.

        The next file is one that the owner asked for, else the best node's. The event `submission.considered` holds the
        decision on a node. A node is considered again when the day, the quota, the settings or what is known of the site
        has changed, or its waiting time is over.
        """
        async with self._choosing:
            state = self._reviewer.state()
            with self._context.store.read() as session:
                requests = open_requests(session, self._context.run_id)
            for request in requests:
                if not self._still_holds(self._requests.get(request.id), state):
                    return await self._grant(request, state)
            node = self._next_node(state)
            if node is None:
                return None
            decision, candidate = await self._decide(Proposal(node))
            self._record_decision(node, decision, state, candidate)
            return decision

    async def send(self) -> None:
        """Send what may go now, one file after the other, and withdraw what should no longer go.

        What may be at the site already comes first, then what the owner wants, then the best.
        """
        async with self._sending:
            # Sending one may change what holds for a later one, so each is read again when its turn comes.
            for id in [submission.row.id for submission in self._open()]:
                submission = next((submission for submission in self._open() if submission.row.id == id), None)
                until = self._not_before.get(id)
                if submission is not None and (until is None or self._now() >= until):
                    await self._advance(submission)

    async def give_up(self, reason: str) -> None:
        """Send nothing more: withdraw what is not at the site, and refuse requests.

        Raises SiteUnavailable, KaggleError: the site cannot be asked what it has; SubmissionInDoubt if it may have a file.
        """
        async with self._choosing, self._sending:
            for row in self._reviewer.state().open:
                row = await self._once.withdraw(row.id, reason)
                self._context.say(f"{row.tag} is {row.status}: {reason}")
                if self._pushes is not None and row.status == "withdrawn":
                    await self._pushes.cancel(row)
            with self._context.store.write() as tx:
                for request in open_requests(tx.session, self._context.run_id):
                    answer_request(tx, request.id or 0, "refused", reason)

    async def tidy(self) -> None:
        """Remove from Kaggle the weights of notebooks that are neither under way nor may count in the end, once others count."""
        counting = self.scores.counting()
        if self._pushes is None or not counting:
            return
        state = self._reviewer.state()
        unsettled = {row.file_sha for row in (*state.open, *state.rows_on_site) if row.score is None}
        try:
            await self._pushes.remove({str(sha) for sha in unsettled | counting})
        except (SiteUnavailable, KaggleError) as error:
            self._context.say(f"old weights could not be removed from Kaggle: {error}")

    def next_check(self) -> datetime | None:
        """Return when `send` should be called next, as Kaggle runs a notebook; None: nothing is known to be due."""
        pushed = [submission.row.id for submission in self._open() if submission.pushed]
        return min((self._not_before[id] for id in pushed if id in self._not_before), default=None)

    def _now(self) -> datetime:
        return self._context.clock.now()

    def _next_node(self, state: SubmissionState) -> int | None:
        """Return the best node that beats what was or will be sent, and has no decision that still holds."""
        scores = self._reviewer.scores()
        considered = select(Event).where(Event.run_id == self._context.run_id, Event.type == CONSIDERED)
        with self._context.store.read() as session:
            decided_nodes = {row.node for row in refused_submissions(session, state.rows)}
            events = session.exec(considered.order_by(col(Event.seq))).all()
        decisions = {event.node: event.data for event in events}
        if self._baseline_may_wait(state, scores):
            decided_nodes.add(BASELINE)
        decided_nodes |= {row.node for row in state.rows if row.status != "withdrawn"}
        going = [scores[row.node] for row in (*state.rows_on_site, *state.open) if row.node in scores]
        floor = max((*going, *map(self._context.card.oriented, state.comparable)), default=None)
        for node in sorted(scores, key=lambda node: (-scores[node], node)):
            if floor is not None and scores[node] <= floor:
                return None
            if node in decided_nodes:
                continue
            decision = decisions.get(node)
            if not self._still_holds(decision, state):
                return node
            if decision is not None and not decision["of_file"]:
                return None
        return None

    def _baseline_may_wait(self, state: SubmissionState, scores: Mapping[int, float]) -> bool:
        """Return whether the baseline is not offered yet: until the last day, as long as nothing else has a score."""
        if self._settings.approve == "auto" or state.deadline is None or self._now() > state.deadline - _LAST_DAY:
            return False
        return scores.keys() == {BASELINE}

    def _notify(self, notice: Notice) -> None:
        with self._context.store.write() as tx:
            notify(tx, notice, self._context.run_id)

    def _still_holds(self, decision: dict[str, Any] | None, state: SubmissionState) -> bool:
        """Return whether a decision still holds, so that there is no reason to decide again."""
        if decision is None or decision["state"] != state.key:
            return False
        return decision["until"] is None or self._now() < datetime.fromisoformat(decision["until"])

    async def _decide(self, proposal: Proposal) -> tuple[Decision, SubmissionFile | None]:
        """Decide; if the node may go, make its file and decide again with it. Without a file it does not go."""
        decision = await self._reviewer.decide(proposal)
        if decision.verdict not in _ACCEPTED:
            self._report_delay(proposal.node, decision.refusal)
            return decision, None
        try:
            candidate = await self._files.make(proposal.node)
        except InvalidSubmission as error:
            if self._pushes is not None:
                facts = {"node": proposal.node, "why": str(error), "log": ""}
                self._notify(Notice("notebook.failed", self._slug, facts))
            return Decision("never", str(error), of_file=True), None
        except InfrastructureFailure as error:
            return Decision("wait", str(error), self._now() + RETRY), None
        decision = await self._reviewer.decide(Proposal(proposal.node, candidate.sha256, requested=proposal.requested))
        return decision, candidate if decision.verdict in _ACCEPTED else None

    def _report_delay(self, node: int, refusal: str | None) -> None:
        """Notify the owner if the site refuses a file for now, or to say what a decision needs."""
        if refusal is not None:
            facts = {"node": node, "words": refusal, "day": self._now().date()}
            self._notify(Notice("submission.delayed", self._slug, facts))

    async def _grant(self, request: SubmissionRequest, state: SubmissionState) -> Decision:
        """Decide on what the owner asked for, under the same rules, but whatever its gain."""
        row = next((row for row in state.rows if row.node == request.node and row.status != "withdrawn"), None)
        submission, candidate = None, None
        if row is not None:
            decision = Decision("never", f"node {request.node} already has submission {row.tag} ({row.status})")
            submission = row.id if row in state.open else None
        elif request.node not in self._reviewer.scores():
            decision = Decision("never", f"node {request.node} has no validation score")
        else:
            decision, candidate = await self._decide(Proposal(request.node, requested=True))
        record = self._record_decision(request.node, decision, state, candidate, request=request, submission=submission)
        if candidate is None:
            self._requests[request.id] = record
        return decision

    def _record_decision(
        self,
        node: int,
        decision: Decision,
        state: SubmissionState,
        candidate: SubmissionFile | None,
        *,
        request: SubmissionRequest | None = None,
        submission: str | None = None,
    ) -> dict[str, Any]:
        """Record the decision on a node; with a file, also the intent, a request for approval and the request's answer."""
        run_id, until = self._context.run_id, None if decision.until is None else iso(decision.until)
        decision_facts = {"decision": decision.verdict, "until": until, "of_file": decision.of_file, "state": state.key}

        def record(tx: Transaction, reason: str, submission: str | None, answer: RequestState) -> None:
            tx.record(CONSIDERED, run_id=run_id, node=node, reason=reason, submission=submission, **decision_facts)
            if request is not None:
                later = "" if until is None else f"; next decision at {until}"
                answer_request(tx, request.id or 0, answer, reason + later, submission)
            if self._settings.submit and (state.has_entered is False or state.rules.changed):
                url = self._kaggle.page_of(self._slug, "rules")
                notify(tx, Notice("problem.rules", self._slug, {"url": url, "rules_sha": state.rules.sha}), run_id)

        def intended(tx: Transaction, row: Submission) -> None:
            record(tx, f"{decision.reason}; {candidate.note if candidate else ''}", row.id, "intended")
            if decision.verdict == "hold":
                self._hold(tx, row, decision.reason)

        if candidate is not None:
            self._context.say(f"node {node} is queued for submission: {decision.reason}")
            self._once.intend(candidate.file, node=node, source=candidate.source, on_change=intended)
        else:
            answer: RequestState = "intended" if submission else "open" if decision.verdict == "wait" else "refused"
            with self._context.store.write() as tx:
                record(tx, decision.reason, submission, answer)
        return decision_facts

    def _hold(self, tx: Transaction, row: Submission, reason: str) -> None:
        """Hold a submission until the owner has decided, and ask."""
        approval = ask_approval(tx, row.run_id, row.id, reason=reason)
        if self._is_due(approval):
            self._announce(tx, row, approval)

    def _is_due(self, approval: Approval) -> bool:
        """Return whether the owner is to be told of a held file: at first, and whenever `approval_hours` have passed."""
        return approval.announce_at is None or self._owner_clock.now() >= approval.announce_at

    def _announce(self, tx: Transaction, row: Submission, approval: Approval) -> None:
        now = self._owner_clock.now()
        approval.announce_at = now + timedelta(hours=self._settings.approval_hours)
        tx.add(approval)
        facts_of_row = {"tag": row.tag, "node": row.node, "validation_score": _validation(tx, row)}
        facts = {**facts_of_row, "id": approval.id, "why": approval.reason, "at": now}
        notify(tx, Notice("approval.asked", self._slug, facts), row.run_id)

    def _open(self) -> list[_OpenSubmission]:
        rows, scores, run_id = self._reviewer.state().open, self._reviewer.scores(), self._context.run_id
        with self._context.store.read() as session:
            open_submissions = [
                _OpenSubmission(
                    row,
                    approval_of(session, run_id, row.id),
                    request_of(session, run_id, row.id),
                    scores.get(row.node, float("-inf")),
                    self._pushes is not None and self._pushes.state(row) is not None,
                )
                for row in rows
            ]
        return sorted(
            open_submissions, key=lambda s: (not s.begun, not s.pushed, not s.wanted_by_owner, -s.score, int(s.row.id))
        )

    async def _advance(self, submission: _OpenSubmission) -> None:
        """Send, hold, postpone or withdraw a submission, by one more decision right before it goes."""
        row = submission.row
        if (reason := self._reason_to_withdraw(submission)) is not None:
            await self._withdraw(row, reason)
            return
        if submission.approval is not None and submission.approval.decision is None:
            if self._is_due(submission.approval):
                with self._context.store.write() as tx:
                    self._announce(tx, row, tx.session.merge(submission.approval))
            return
        proposal = Proposal(
            row.node, row.file_sha, row, requested=submission.request is not None, approved=submission.approved
        )
        decision = await self._reviewer.decide(proposal)
        if decision.verdict == "send":
            if decision.trial:
                self._notify(Notice("submission.quota", self._slug, {"tag": row.tag, "node": row.node}))
            await self._send(row)
        elif decision.verdict == "hold":
            with self._context.store.write() as tx:
                self._hold(tx, row, decision.reason)
        elif decision.verdict == "wait":
            self._report_delay(row.node, decision.refusal)
            # Not for long, as the owner may change what is allowed.
            soon = self._now() + timedelta(seconds=_LONGEST_PAUSE)
            self._not_before[row.id] = soon if decision.until is None else min(decision.until, soon)
        else:
            await self._withdraw(row, decision.reason)

    def _reason_to_withdraw(self, submission: _OpenSubmission) -> str | None:
        """Return why a submission must not be sent, whatever the policy decides; None: it may be."""
        approval, state = submission.approval, self._reviewer.state()
        deadline = state.deadline
        if approval is not None and approval.decision == "refused":
            return _UNWANTED
        if approval is not None and approval.decision is None and deadline is not None and self._now() >= deadline:
            return "you had not approved it when the competition ended"
        if submission.begun:
            sends = self._sends(submission.row.id)
            return f"it was sent {sends} times, but the site does not list it" if sends >= _MOST_SENDS else None
        if submission.pushed or submission.wanted_by_owner:
            return None
        scores, rivals = self._reviewer.scores(), [row for row in state.rows if row.status in ("intended", "confirmed")]
        if any(scores.get(row.node, submission.score) > submission.score for row in rivals):
            return _OVERTAKEN
        return None

    def _sends(self, id: str) -> int:
        of_it = (Event.run_id == self._context.run_id, Event.type == "submission.sending")
        with self._context.store.read() as session:
            count = select(func.count()).select_from(Event).where(*of_it)
            return session.exec(count.where(col(Event.data)["submission"].as_string() == id)).one()

    async def _send(self, row: Submission) -> None:
        file = self._files.path_of(str(row.file_sha))
        try:
            if self._pushes is not None:
                await self._pushes.advance(row, file)
            async with self._context.spending.reserve(submissions=1) as reservation:
                await self._once.complete(row.id, file)
                reservation.spend(submissions=1)
            self._context.say(f"submitted node {row.node} as {row.tag}")
        except errors.SubmissionRefused as error:
            self._context.say(f"{row.tag} was refused: {error}")
        except NotebookRuns as error:
            self._not_before[row.id] = error.next_check
        except InvalidSubmission as error:
            await self._withdraw(row, str(error))
        except errors.StateUnavailable:
            raise
        except (errors.FileChanged, InfrastructureFailure, OSError) as error:
            await self._withdraw(row, f"its file is missing or has changed: {error}")
        except SubmissionInDoubt as error:
            facts = {"tag": row.tag, "node": row.node, "reason": str(error)}
            self._notify(Notice("submission.failed", self._slug, facts))
            self._postpone(row, error)
        except (errors.BudgetExceeded, errors.NotSent, SiteUnavailable, KaggleError) as error:
            self._postpone(row, error)

    async def _withdraw(self, row: Submission, reason: str) -> None:
        try:
            row = await self._once.withdraw(row.id, reason)
            self._context.say(f"{row.tag} will not be submitted: {reason}")
            if self._pushes is not None and row.status == "withdrawn":
                await self._pushes.cancel(row)
        except (SiteUnavailable, SubmissionInDoubt, KaggleError) as error:
            self._postpone(row, error)

    def _postpone(self, row: Submission, error: Exception) -> None:
        """Try a submission again later, after a longer pause each time; the owner reads why the site did not take it."""
        now = self._now()
        self._failures[row.id] = times = self._failures.get(row.id, 0) + 1
        self._not_before[row.id] = now + timedelta(seconds=back_off(times, _FIRST_PAUSE, _LONGEST_PAUSE))
        if isinstance(error, errors.QuotaReached):
            self._not_before[row.id] = midnight(now, 1)  # the site's word is taken, and nothing is tried before
        self._context.say(f"{row.tag} is waiting: {error}")
        if isinstance(error, KaggleError) or (isinstance(error, errors.NotSent) and error.refused):
            self._report_delay(row.node, str(error))

    def _changed(self, tx: Transaction, row: Submission) -> None:
        """Notify the owner of a submission's change, and close its approval once there is nothing left to decide."""
        approval = approval_of(tx.session, row.run_id, row.id)
        if row.status in ("confirmed", "refused", "withdrawn") and approval is not None and approval.decision is None:
            decide_approval(tx, approval.id or 0, "withdrawn", "bot")
        facts_of_row: dict[str, Any] = {"tag": row.tag, "node": row.node}
        if row.status == "refused":
            facts = {**facts_of_row, "words": row.message or "none"}
            notify(tx, Notice("submission.refused", self._slug, facts), row.run_id)
            if self._pushes is not None:
                failure = (
                    "its notebook was rejected" if row.ref is None else "its notebook failed on the hidden test data"
                )
                reason = f"{failure}: {row.message or 'no reason given'}"
                record_stage(tx, row.run_id, row.node, str(row.file_sha), "failed", reason=reason)
        if row.status == "confirmed" and row.score is not None:
            facts = {**facts_of_row, "public_score": row.score, "validation_score": _validation(tx, row)}
            notify(tx, Notice("submission.scored", self._slug, facts), row.run_id)
        # A withdrawal is no news where the owner never heard of the submission, or has heard that its notebook failed.
        request = request_of(tx.session, row.run_id, row.id)
        notebook = notebook_state(tx.session, row.run_id, str(row.file_sha))
        is_news = approval is not None or row.sent_at is not None or request is not None
        is_news = is_news and (notebook is None or notebook.stage != "failed")
        if row.status == "withdrawn" and is_news and row.message not in (_OVERTAKEN, _UNWANTED):
            facts = {**facts_of_row, "reason": row.message or ""}
            notify(tx, Notice("submission.failed", self._slug, facts), row.run_id)


def _validation(tx: Transaction, row: Submission) -> float | None:
    node = tx.session.get(Node, (row.run_id, row.node))
    return None if node is None else node.score
