"""A live run with open services, and what tasks do with it while its search runs."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.agents import open_agent
from bot.community.news import take_in_news
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.engine.results import BlendSoFar
from bot.engine.search import SolutionSearch
from bot.engine.tree import NodeView
from bot.execution.own_grader import grader_text
from bot.execution.stopwatch import Stopwatch
from bot.live.live_run import LiveRun, open_run_context
from bot.live.preparation import deadline_of
from bot.live.services import Shared
from bot.live.slots import LivePacing, urgency
from bot.notify import Notice
from bot.notify.outbox import notify
from bot.submission.files import OUTPUTS
from bot.submission.kaggle import KaggleSubmitter, NotebookSubmitter
from bot.submission.submission_service import SubmissionService
from scrapers.kaggle.outputs import PublicOutputs
from state.errors import BudgetExceeded, InfrastructureFailure
from state.steering import control
from state.tables import Node
from state.tasks import put_task
from state.words import iso

_RECENT = 10
"""Latest nodes by which a competition's promise is judged."""
_SLACK_BYTES, _TIMES_SAMPLE = 10_000_000, 20
"""A public file larger than 20 times the sample plus this slack is no submission of this competition."""
_MIN_CHECK_SECONDS = 2.0
"""Real seconds between two checks of a notebook, however fast the clock is."""
_ALL_OUTPUTS_BYTES = 200_000_000
"""Most bytes of one competition's public files; each file of ours is compared with all of them."""


@dataclass
class OpenRun:
    """A run, its search, and its submissions."""

    shared: Shared
    run: LiveRun
    context: RunContext
    stopwatch: Stopwatch
    submission_service: SubmissionService
    grader: str
    """The text of the owner's grader, which scores the run; empty without one."""
    turns: LivePacing = field(init=False)
    search: SolutionSearch = field(init=False)
    _notified_best: int | None = None
    _next_check: datetime | None = None

    def __post_init__(self) -> None:
        """Create its search, which does not start yet."""
        shared, run = self.shared, self.run
        self.agent = open_agent(run.settings.agent, self.context)
        self.turns = LivePacing(
            shared.slots,
            run.card.slug,
            shared.store,
            run.id,
            shared.clock,
            run.competition_settings.nodes_per_day,
            run.settings.lab.labs_per_day if self.agent.opens_labs else None,
            is_paused=self._is_paused,
            on_node_ended=self._node_ended,
        )
        self.search = SolutionSearch(self.context, self.agent, run.settings.parallel, self.turns)
        if self.search.blending is not None:
            self.search.blending.on_fitted = self._blend_fitted

    async def learn(self) -> None:
        """Have new posts analysed, if the agent reads posts; a strong one opens another round of drafts."""
        if not self.agent.reads_posts:
            return
        if (await take_in_news(self.context)).strong:
            self.shared.say(self.run.card.slug, "starting another round of drafts because of a strong new post")
            self.turns.renew()

    async def submit(self) -> None:
        """Consider the best script or blend, and send what may go."""
        if self.search.blending is not None and self._leading_blend is not None:
            try:
                await self.search.blending.as_node()
                self._node_ended()
            except (InfrastructureFailure, BudgetExceeded) as error:
                self.context.say(f"skipping the ensemble: {error}")
        await self.submission_service.consider()
        await self.submission_service.send()
        self._schedule_check(self.submission_service.next_check())

    def _schedule_check(self, due: datetime | None) -> None:
        """Have a notebook that runs at Kaggle looked at again, once however often this is called for the same time."""
        now = self.shared.clock.now()
        if due is None or (self._next_check is not None and now < self._next_check):
            return
        self._next_check = max(due, now + timedelta(seconds=_MIN_CHECK_SECONDS * self.shared.speed))
        with self.shared.store.write() as tx:
            key = f"submit:{self.run.id}:notebook at {iso(self._next_check)}"
            put_task(tx, key, "submit", competition=self.run.card.slug, due_at=self._next_check)

    async def settle(self) -> None:
        """Record new public scores, and warn the owner if ours do not correlate with them."""
        await self.submission_service.scores.settle()
        self.submission_service.scores.check_correlation()
        await self.submission_service.tidy()

    async def propose_final(self) -> None:
        """Propose the final submissions to the owner."""
        self.submission_service.scores.propose()

    @property
    def outputs(self) -> PublicOutputs:
        """The files that public kernels wrote, in the competition's folder."""
        shared, card = self.shared, self.run.card
        sample = self.context.executor.settings.data / "sample_submission.csv"
        largest = _SLACK_BYTES + _TIMES_SAMPLE * (sample.stat().st_size if sample.is_file() else 0)
        folder = shared.competition(card.slug) / OUTPUTS
        return PublicOutputs(
            shared.client, shared.store, card.slug, folder, card.submission_file, largest, _ALL_OUTPUTS_BYTES
        )

    def weight(self) -> float:
        """Return its current share of the machine, relative to others."""
        nodes = [node for node in load_tree(self.context).nodes if node.state != "running"]
        gains, has_score = _gains(nodes), any(node.valid for node in nodes)
        deadline = deadline_of(self.shared, self.run.card, self.run.competition_settings)
        recent = gains[-_RECENT:]
        now = self.shared.clock.now()
        return self.run.competition_settings.weight * urgency(
            now, deadline, recent=len(recent), gains=sum(recent), scored=has_score
        )

    @property
    def _leading_blend(self) -> BlendSoFar | None:
        """The newest blend if it is to become a node: it beats all nodes by more than an error of its gain.

        A blend that is a little better with each script would else be a node with each script.
        """
        blend, best = self.context.blend, load_tree(self.context).best_candidate()
        if blend is None or best is None:
            return None
        gain = self.context.card.oriented(blend.score.value) - best.fitness
        over = blend.score.gain
        return blend if gain > ((over and over.std_error) or 0.0) else None

    def _blend_fitted(self) -> None:
        """Have the submission of a new blend considered, if it is better than what there is."""
        if (blend := self._leading_blend) is not None:
            with self.shared.store.write() as tx:
                key = f"submit:{self.run.id}:blend of {len(blend.nodes)}"
                put_task(tx, key, "submit", competition=self.run.card.slug)

    def _node_ended(self) -> None:
        """Notify the owner of a new best node, and have its submission considered."""
        tree, card = load_tree(self.context), self.context.card
        best = tree.best_candidate()
        if best is None or best.id == self._notified_best:
            return
        earlier = max((n for n in tree.candidates() if n.id < best.id), key=lambda n: n.fitness, default=None)
        with self.shared.store.write() as tx:
            row = tx.session.get_one(Node, (self.run.id, best.id))
            title = row.plan.strip().splitlines()[0][:200] if row.plan.strip() else row.action
            facts = {
                "run": self.run.id,
                "node": best.id,
                "score": best.score,
                "earlier": None if earlier is None else earlier.score,
                "title": title,
            }
            notify(tx, Notice("run.best", card.slug, facts), self.run.id)
            put_task(tx, f"submit:{self.run.id}:node {best.id}", "submit", competition=card.slug)
        self._notified_best = best.id

    def _is_paused(self) -> bool:
        with self.shared.store.read() as session:
            return control(session, self.run.card.slug) == "paused"


@asynccontextmanager
async def open_live_run(shared: Shared, run: LiveRun) -> AsyncIterator[OpenRun]:
    """Open a run's services, and let it take part in the slots meanwhile; raises what `open_run_context` raises."""
    slug, stopwatch = run.card.slug, Stopwatch()
    async with open_run_context(shared, run, stopwatch) as context:
        file, client = run.card.submission_file, None
        submitter = KaggleSubmitter(shared.client, slug, file)
        if run.card.kind == "code":
            submitter, client = NotebookSubmitter(shared.client, slug, file, shared.store, run.id), shared.client
        submission_service = SubmissionService(
            context,
            shared.competition(slug),
            run.competition_settings,
            submitter,
            shared.machinery.worker,
            client=client,
            kaggle=shared.settings.kaggle,
        )
        open_run = OpenRun(shared, run, context, stopwatch, submission_service, grader_of(run))
        shared.slots.join(slug, open_run.weight)
        try:
            yield open_run
        finally:
            shared.slots.leave(slug)


def grader_of(run: LiveRun) -> str:
    """Return the text of a run's own copy of its grader."""
    return grader_text(run.folder.grader) if run.folder.grader.exists() else ""


def _gains(nodes: list[NodeView]) -> list[bool]:
    """Return for each node whether it was better than all before it."""
    best, gains = float("-inf"), []
    for node in nodes:
        better = node.valid and node.fitness > best
        gains.append(better)
        best = node.fitness if better else best
    return gains
