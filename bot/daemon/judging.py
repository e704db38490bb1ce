"""Judging: gathers the facts about one file, asking the site for its quota, and has the policy decide."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from bot.daemon.affairs import Affairs, affairs_now
from bot.daemon.candidates import Candidates
from bot.daemon.settings import CompetitionSettings
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.evaluation.guarding import node_findings
from bot.evaluation.guards.findings import doubts_of
from bot.submission import Submitter
from bot.submission.policy import Decision, Facts, decide
from state.approvals import let_pass
from state.errors import InfrastructureFailure, KaggleError, SiteUnavailable
from state.outward import OPEN, may_be_there
from state.tables import Submission

__all__ = ["AGAIN", "Asked", "Judge"]

AGAIN = timedelta(minutes=10)
"""After which a site that could not be asked, or a worker that failed, is asked again."""


@dataclass(frozen=True)
class Asked:
    """What is asked about: a node's file."""

    node: int
    sha256: str | None = None
    """None: the file is not made yet."""
    row: Submission | None = None
    """Its submission, which counts neither as sent nor as what it has to be better than."""
    wished: bool = False
    approved: bool = False


class Judge:
    """Decides for one live run, by how things stand at the moment."""

    def __init__(
        self, context: RunContext, settings: CompetitionSettings, submitter: Submitter, candidates: Candidates
    ) -> None:
        self._context = context
        self.settings = settings
        """What the owner allows; another one may be put in its place while it runs."""
        self._submitter = submitter
        self._candidates = candidates

    def affairs(self) -> Affairs:
        """Return how things stand."""
        context = self._context
        with context.store.read() as session:
            return affairs_now(
                session, context.run_id, self.settings, context.spending, context.clock.now(), context.card.deadline
            )

    def scores(self) -> Mapping[int, float]:
        """Return the oriented validation scores of the nodes that have one."""
        return {node.id: node.score for node in load_tree(self._context).valid() if node.score is not None}

    async def decide(self, asked: Asked) -> Decision:
        """Decide about a file; the site is asked only if nothing that is known here settles it."""
        affairs = self.affairs()
        best, bar = self._best(asked, affairs)
        facts = self._facts(asked, affairs, bar)
        early = decide(replace(facts, noise=0.0), self.settings)
        if early.verdict in ("never", "wait"):
            return early
        try:
            if bar is not None and not asked.wished:
                facts = replace(facts, noise=await self._candidates.noise(asked.node, best))
            facts = await self._with_quota(await self._with_file(facts, asked, affairs))
        except (SiteUnavailable, KaggleError, InfrastructureFailure) as error:
            return Decision("wait", f"it could not be decided: {error}", self._context.clock.now() + AGAIN)
        return decide(replace(facts, now=self._context.clock.now()), self.settings)

    def _best(self, asked: Asked, affairs: Affairs) -> tuple[int | None, float | None]:
        """Return what has to be bettered: the best that was sent; of something new, the best that is to be too.

        That is a node of this run and its oriented score, None where an earlier run's is as good, and None, None without any.
        """
        scores = self.scores()
        others = affairs.there if asked.row is not None else [*affairs.there, *affairs.open]
        nodes = {row.node for row in others if asked.row is None or row.id != asked.row.id} & scores.keys()
        best = max(nodes, key=lambda node: (scores[node], -node), default=None)
        before = max(map(self._context.card.oriented, affairs.comparable), default=None)
        if before is not None and (best is None or before >= scores[best]):
            return None, before
        return best, None if best is None else scores[best]

    def _facts(self, asked: Asked, affairs: Affairs, best_sent: float | None) -> Facts:
        now, row, cap = self._context.clock.now(), asked.row, affairs.capped
        counted = row is not None and may_be_there(row)
        today = counted and row is not None and row.sent_at is not None and row.sent_at.date() == now.date()
        return Facts(
            now=now,
            deadline=affairs.deadline,
            remaining_today=None,
            remaining_total=None,
            sent_today=affairs.sent_today - today,
            sent=affairs.sent - counted,
            score=self.scores().get(asked.node),
            best_sent=best_sent,
            noise=None,
            entered=affairs.entered,
            closed=affairs.closed,
            rules_changed=affairs.rules_changed,
            capped=None if cap is None or cap.renews else cap.why,
            capped_today=cap.why if cap is not None and cap.renews else None,
            doubts=doubts_of(node_findings(self._context.store, self._context.run_id, asked.node)),
            approved=asked.approved,
            wished=asked.wished,
            self_reported=self._context.executor.self_reported is not None,
        )

    async def _with_file(self, facts: Facts, asked: Asked, affairs: Affairs) -> Facts:
        if asked.sha256 is None:
            return facts
        checked = await self._candidates.checked(asked.sha256)
        like = await self._candidates.likest(asked.node)
        found = replace(facts, invalid=checked.invalid, copied=checked.copied, again=self._again(asked, affairs))
        return found if like is None else replace(found, alike=like.share, kernel=like.kernel)

    def _again(self, asked: Asked, affairs: Affairs) -> str | None:
        """Say as what the same file was sent before, or put before the owner in vain; None: neither."""
        same = [row for row in (*affairs.earlier, *affairs.rows) if row.file_sha == asked.sha256]
        if asked.row is not None:
            same = [row for row in same if row.tag != asked.row.tag]
        with self._context.store.read() as session:
            passed = [] if asked.approved else let_pass(session, same)
        for row in passed:
            return f"it was put before you as {_named(row, self._context.run_id)}, and you did not let it go"
        for row in same:
            if may_be_there(row):
                return f"it was sent as {_named(row, self._context.run_id)}"
            if row.status in OPEN and (asked.row is None or int(row.id) < int(asked.row.id)):
                return f"it is to be sent as {_named(row, self._context.run_id)}"
        return None

    async def _with_quota(self, facts: Facts) -> Facts:
        quota = await self._submitter.quota()
        if quota.remaining is not None and quota.resets_at is None:
            return replace(facts, remaining_total=quota.remaining)
        return replace(facts, remaining_today=quota.remaining)


def _named(row: Submission, run_id: str) -> str:
    return f"submission {row.id}, of node {row.node}{'' if row.run_id == run_id else f' of {row.run_id}'}"
