"""The facts that a decision on a file rests on: from the database, from the site and from the file itself."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from bot.budgets.kinds import Kind, words
from bot.budgets.levels import Level
from bot.configuration.competition import CompetitionSettings
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.evaluation.answers.findings import doubts_of
from bot.execution.guarding import node_findings
from bot.submission import Submitter
from bot.submission.files import Files
from bot.submission.policy import Decision, DecisionInputs, decide
from bot.submission.rules import CompetitionRules, rules_of
from scrapers.snapshots.card import TaskCard
from state.approvals import refused_submissions, undecided
from state.errors import BudgetExceeded, InfrastructureFailure, KaggleError, SiteUnavailable
from state.live import deadline_of, live_runs
from state.series import last_reading
from state.submissions import OPEN, may_be_there, submissions_of
from state.tables import Node, Run, Submission

RETRY = timedelta(minutes=10)
"""Time until the next try after the site could not be asked, or a worker failed."""


@dataclass(frozen=True)
class SubmissionState:
    """What the database holds on a live run's submissions and on the site at one moment."""

    rows: Sequence[Submission]
    earlier: Sequence[Submission]
    """Those of the competition's other live runs."""
    comparable: Sequence[float]
    """Validation scores, in the metric's own sign, of what earlier runs with comparable scores have sent."""
    sent_rows: Sequence[Submission]
    """What the site has or may have, of any run."""
    awaiting_approval: frozenset[str]
    """The numbers of the run's submissions that wait for their owner's decision."""
    deadline: datetime | None
    has_entered: bool | None
    closed: str | None
    rules: CompetitionRules
    cap: BudgetExceeded | None
    key: str
    """Unchanged as long as there is no reason to decide again; time changes it only with the day and the reserve."""

    @property
    def open(self) -> list[Submission]:
        """The submissions that are not settled."""
        return [row for row in self.rows if row.status in OPEN]

    @property
    def rows_on_site(self) -> list[Submission]:
        """The submissions that the site has or may have."""
        return [row for row in self.rows if row.status in ("sending", "doubtful", "confirmed")]


@dataclass(frozen=True)
class Proposal:
    """A file to decide on: a node's."""

    node: int
    sha256: str | None = None
    """None: the file does not exist yet."""
    row: Submission | None = None
    """Its own submission, which counts neither as sent nor as one to beat."""
    requested: bool = False
    approved: bool = False


class Reviewer:
    """Decides on the files of one live run, by the current facts."""

    def __init__(self, context: RunContext, settings: CompetitionSettings, submitter: Submitter, files: Files) -> None:
        self._context = context
        self._settings = settings
        self._submitter = submitter
        self._files = files

    def state(self) -> SubmissionState:
        """Read the state from the database."""
        context, settings, now = self._context, self._settings, self._context.clock.now()
        with context.store.read() as session:
            run = session.get_one(Run, context.run_id)
            runs, rows = live_runs(session, run.competition), submissions_of(session, run.id)
            earlier = [row for r in runs if r.id != run.id for row in submissions_of(session, r.id)]
            reading = last_reading(session, run.competition, "competition")
            limits = last_reading(session, run.competition, "limits")
            deadline = deadline_of(session, run.competition, configured=settings.deadline, card=context.card.deadline)
            rules = rules_of(session, run.competition, read=settings.rules_read)
            awaiting_approval = frozenset(approval.submission for approval in undecided(session, run.id))
            ids = {r.id for r in runs if r.config.get("scores") == run.config.get("scores")}
            sent_before = [row for row in earlier if row.run_id in ids and may_be_there(row)]
            nodes = [session.get(Node, (row.run_id, row.node)) for row in sent_before]
        sent_rows = [row for row in (*earlier, *rows) if may_be_there(row)]
        site: Mapping[str, Any] = (
            {} if reading is None else reading.data if reading.sha256 is not None else {"gone": True}
        )
        is_late = deadline is not None and now >= deadline - timedelta(days=settings.reserved_days)
        quota = (
            {} if limits is None else {name: limits.data.get(name) for name in ("num_allowed_now", "limited_by_total")}
        )
        closed, has_entered = _closed(site, context.card), site.get("user_has_entered")
        cap = _cap_reached(context.spending)
        state_key = (now.date(), is_late, len(sent_rows), deadline, has_entered, closed, rules, quota, cap is None)
        return SubmissionState(
            rows=rows,
            earlier=earlier,
            comparable=[node.score for node in nodes if node is not None and node.score is not None],
            sent_rows=sent_rows,
            awaiting_approval=awaiting_approval,
            deadline=deadline,
            has_entered=has_entered,
            closed=closed,
            rules=rules,
            cap=cap,
            key=hashlib.sha256(repr((state_key, settings.model_dump_json())).encode()).hexdigest()[:12],
        )

    def scores(self) -> Mapping[int, float]:
        """Return the oriented validation scores of the nodes that have one."""
        return {node.id: node.fitness for node in load_tree(self._context).candidates()}

    async def decide(self, proposal: Proposal) -> Decision:
        """Decide on a file; the site is asked only if what is known here does not settle it."""
        state = self.state()
        best, bar = self._best(proposal, state)
        waits = best is not None and best not in {row.node for row in state.rows_on_site}
        facts = replace(self._facts(proposal, state, bar), best_waits=waits)
        early = decide(replace(facts, noise=0.0), self._settings)
        if early.verdict in ("never", "wait"):
            return early
        try:
            if bar is not None and not proposal.requested:
                facts = replace(facts, noise=await self._files.noise(proposal.node, best))
            facts, quota = await self._with_file(facts, proposal, state), await self._submitter.quota()
        except (SiteUnavailable, KaggleError, InfrastructureFailure) as error:
            until, refusal = self._context.clock.now() + RETRY, str(error) if isinstance(error, KaggleError) else None
            return Decision("wait", f"cannot decide whether to submit: {error}", until, refusal=refusal)
        facts = replace(facts, now=self._context.clock.now(), quota_known=quota.known)
        if quota.remaining is not None and quota.resets_at is None:
            return decide(replace(facts, remaining_total=quota.remaining), self._settings)
        return decide(replace(facts, remaining_today=quota.remaining), self._settings)

    def _best(self, proposal: Proposal, state: SubmissionState) -> tuple[int | None, float | None]:
        """Return what a file must beat: the best file sent; for a new one, also the best that will be sent.

        What waits for its owner is no bar: any better file takes its place.
        The result is a node of this run and its oriented score; the node is None if an earlier run's score is as good, and
        both are None if nothing was sent.
        """
        scores = self.scores()
        approved_rows = [row for row in state.open if row.id not in state.awaiting_approval]
        rivals = state.rows_on_site if proposal.row is not None else [*state.rows_on_site, *approved_rows]
        nodes = {row.node for row in rivals if proposal.row is None or row.id != proposal.row.id} & scores.keys()
        best = max(nodes, key=lambda node: (scores[node], -node), default=None)
        before = max(map(self._context.card.oriented, state.comparable), default=None)
        if before is not None and (best is None or before >= scores[best]):
            return None, before
        return best, None if best is None else scores[best]

    def _facts(self, proposal: Proposal, state: SubmissionState, best_sent: float | None) -> DecisionInputs:
        now, cap = self._context.clock.now(), state.cap
        daily_limits = (self._context.card.max_daily_submissions, state.rules.number("daily submissions"))
        other_sent = [row for row in state.sent_rows if proposal.row is None or row.tag != proposal.row.tag]
        return DecisionInputs(
            now=now,
            deadline=state.deadline,
            remaining_today=None,
            remaining_total=None,
            sent_today=sum(row.sent_at is not None and row.sent_at.date() == now.date() for row in other_sent),
            sent_count=len(other_sent),
            score=self.scores().get(proposal.node),
            best_sent=best_sent,
            noise=None,
            has_entered=state.has_entered,
            closed=state.closed,
            rules_changed=state.rules.changed,
            rules_confirmed=state.rules.confirmed,
            daily=min(filter(None, daily_limits), default=None),
            capped=None if cap is None or cap.renews else str(cap),
            capped_today=str(cap) if cap is not None and cap.renews else None,
            doubts=doubts_of(node_findings(self._context.store, self._context.run_id, proposal.node)),
            approved=proposal.approved,
            requested=proposal.requested,
            self_reported=self._context.executor.self_reported is not None,
        )

    async def _with_file(self, facts: DecisionInputs, proposal: Proposal, state: SubmissionState) -> DecisionInputs:
        if proposal.sha256 is None:
            return facts
        checked = await self._files.checked(proposal.sha256)
        kernel, share = await self._files.most_similar_kernel(proposal.node)
        repeat = self._repetition(proposal, state)
        return replace(
            facts, invalid=checked.invalid, copied=checked.copied, repetition=repeat, kernel_share=share, kernel=kernel
        )

    def _repetition(self, proposal: Proposal, state: SubmissionState) -> str | None:
        """Describe how the same file was sent before, or refused by the owner; None: neither."""
        same_file = [row for row in (*state.earlier, *state.rows) if row.file_sha == proposal.sha256]
        if proposal.row is not None:
            same_file = [row for row in same_file if row.tag != proposal.row.tag]
        with self._context.store.read() as session:
            refused_rows = [] if proposal.approved else refused_submissions(session, same_file)
        for row in refused_rows:
            return f"you refused it as {self._in_words(row)}"
        for row in same_file:
            if may_be_there(row):
                return f"it was submitted as {self._in_words(row)}"
            if row.status in OPEN and (proposal.row is None or int(row.id) < int(proposal.row.id)):
                return f"it will be submitted as {self._in_words(row)}"
        return None

    def _in_words(self, row: Submission) -> str:
        run_words = "" if row.run_id == self._context.run_id else f" of {row.run_id}"
        return f"submission {row.id} (node {row.node}{run_words})"


def _cap_reached(spending: Level) -> BudgetExceeded | None:
    """Return the budget's cap that keeps a file from being sent; None: none does."""
    for level in reversed(spending.levels):
        cap, money_spent = level.caps.cap_of(Kind.MONEY), level.amount_spent(Kind.MONEY)
        if cap is not None and money_spent > cap:
            cap_in_words = f"{words(Kind.MONEY, money_spent)} spent of {words(Kind.MONEY, cap)}"
            return BudgetExceeded(
                f"the {level.name}'s spending cap has been exceeded: {cap_in_words}", renews=level.renews
            )
    return spending.refusal(submissions=1)


def _closed(site: Mapping[str, Any], card: TaskCard) -> str | None:
    if site.get("gone"):
        return "the site no longer lists the competition"
    if site.get("is_kernels_submissions_only") and card.kind == "csv":
        return "the competition accepts notebooks, not files"
    return "the site accepts no more submissions" if site.get("submissions_disabled") else None
