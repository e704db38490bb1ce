"""The blend of a run's scored scripts: fitted after each new score, and a node once it may be submitted."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace

from bot.engine.attempts import BLEND, load_tree
from bot.engine.context import RunContext
from bot.engine.experiment import Experiment, rank_experiments
from bot.engine.notebook_check import check_notebook, packable
from bot.engine.results import BLENDED, FITTED_ON_HOLDOUT, FITTED_OUT_OF_FOLD, BlendFit, members_in_words, newest_blend
from bot.engine.strategy import Action
from bot.engine.tree import NodeView
from bot.evaluation.answers.blends import FittedBlend, Member
from bot.evaluation.client.worker import Worker
from bot.execution.record import EXECUTED, GUARDED, ExecutionRecord, kept_execution, readable_files
from sandbox import ExitReason
from state.errors import BotError, NoBlend
from state.progress import NodeStatus, create_node, end_node
from state.steps import Key, StepKind

FEWEST = 2
"""Minimum number of members."""
_OUT_OF_FOLD = 10_000
"""Offset of the numbers of out-of-fold fits, which differ from those of fits on the hold-out view; times its node for a stack."""
MEAN_WITH_STACK = StepKind("ensemble with a stack", BlendFit)


class Blending:
    """The blends of one run; they are fitted in a separate worker, so that no score waits for one."""

    def __init__(self, context: RunContext, worker: Worker) -> None:
        self._context = context
        self._worker = worker
        self._busy, self._may_fit = asyncio.Lock(), True
        self.on_fitted: Callable[[], None] | None = None
        """Called after each fit during the search."""

    async def keep_fitted(self) -> None:
        """Fit the blend now, and whenever a script has a score, until cancelled."""
        context = self._context
        while True:
            context.new_score.clear()
            try:
                async with self._busy:
                    if context.experiments is not None:
                        await context.experiments.write_submissions(self._worker)
                    _, blended = await self._newest()
                    if context.experiments is not None:
                        members = frozenset() if blended is None else frozenset(blended.recipe.weights)
                        await asyncio.to_thread(context.experiments.trim, members)
                if self.on_fitted is not None:
                    self.on_fitted()
            except BotError as error:
                context.say(f"no blend was fitted: {error}")
            if not context.new_score.is_set():
                context.blended.set()
            await context.new_score.wait()

    async def settle(self, seconds: float) -> None:
        """Wait up to `seconds` for the running fit, which a submitted blend would have to repeat; then do without it."""
        try:
            async with asyncio.timeout(seconds), self._busy:
                with suppress(BotError):
                    await self._newest()  # of the last score too, which came while another was being fitted
        except TimeoutError:
            self._may_fit = False
            self._context.say("the ensemble was not fitted in time")

    async def as_node(self, *, may_fit: bool = True, over: bool = False) -> NodeView | None:
        """Create a node of the blend of all scored scripts, with its members as parents; None: none is fitted, nor may be.

        When the search is `over`, a second node is the mean of this blend and the best stack, if it scores better. Called again
        without new scores, it returns the same node. A node is created once it is complete, so a kill leaves none unfinished.
        In a notebook competition its notebook is checked first; if it is refused, the node has no score.

        Raises:
            InfrastructureFailure: the worker failed.
            BudgetExceeded: the notebook check does not fit into a budget.
        """
        async with self._busy:
            may_fit = may_fit and self._may_fit
            number, blended = await self._newest(may_fit=may_fit)
            if blended is None:
                return None
            look = number + _OUT_OF_FOLD if blended.score.oof is not None else number
            node = await self._created(blended, look)
            stacks = [e for e in rank_experiments(self._complete(), self._context.card) if e.kind == "stack"]
            if over and may_fit and stacks and blended.score.oof is not None:
                mean = await self._with_stack(number, blended, self._member(stacks[0]))
                if mean is not None:
                    await self._created(mean, look + _OUT_OF_FOLD * stacks[0].node)
        return load_tree(self._context)[node]

    async def _created(self, blended: FittedBlend, look: int) -> int:
        context, recipe = self._context, blended.recipe
        parents = tuple(sorted(recipe.weights))
        node = await context.decisions.number_of(Action("ensemble", parents, look=look))

        async def fit() -> BlendFit:
            return BlendFit(blended)

        await context.steps.once(BLEND, fit, Key(node))
        execution = await context.steps.once(EXECUTED, lambda: self._execution(node, blended), Key(node, GUARDED))
        refusal = (await check_notebook(context, node)).reason if context.takes_notebooks else None
        tree = load_tree(context)
        if all(ensemble.id != node for ensemble in tree.ensembles):
            seconds = sum(tree[parent].seconds for parent in parents)
            calibrated = f"; calibrated by {', '.join(recipe.calibration)}" if recipe.calibration else ""
            plan = f"Ensemble of {members_in_words(recipe.weights)}, combined by {recipe.space}{calibrated}."
            with context.store.write() as tx:
                create_node(tx, context.run_id, id=node, action="ensemble", parents=parents, plan=plan)
                score = execution.value if refusal is None else None
                status: NodeStatus = "valid" if refusal is None else "buggy"
                end_node(tx, context.run_id, node, status, score=score, error=refusal, seconds=seconds)
        return node

    async def _with_stack(self, number: int, blended: FittedBlend, stack: Member) -> FittedBlend | None:
        """Return the mean of a blend of experiments and a stack, or None if it is no better."""
        context, members, bank = self._context, self._members(), self._context.executor.folder.bank
        folds, withheld = await context.executor.fold_view(), await context.executor.view(GUARDED)

        async def fit() -> BlendFit:
            try:
                mean = await self._worker.blend(
                    folds or withheld, members, bank, context.seed, withheld, (blended, stack)
                )
            except NoBlend:
                return BlendFit(None)
            is_better = context.card.oriented(mean.score.value) > context.card.oriented(blended.score.value)
            return BlendFit(mean if is_better else None)

        return (await context.steps.once(MEAN_WITH_STACK, fit, Key(stack.node, attempt=number))).blend

    async def _newest(self, *, may_fit: bool = True) -> tuple[int, FittedBlend | None]:
        """Return the number of the fit of the present candidates, and their blend; None: it gains nothing, or is not fitted."""
        context, members = self._context, self._members()
        candidates = tuple(member.node for member in members)
        if len(members) < FEWEST:
            # Members of the newest blend may have been withdrawn.
            if newest_blend(context.store, context.run_id) is not None:
                self._record_none(candidates, "too few scripts are left")
            return 0, None
        kind = FITTED_OUT_OF_FOLD if _out_of_fold(members) else FITTED_ON_HOLDOUT
        if not may_fit:
            # The newest that is stored and has no member that was withdrawn.
            fits = ((key.attempt, fit.blend) for key, fit in reversed(context.steps.all(kind).items()))
            return next((fit for fit in fits if fit[1] and set(fit[1].recipe.weights).issubset(candidates)), (0, None))
        number, fit = await context.steps.newest(
            kind, lambda fit: fit.candidates == candidates, lambda: self._fit(members)
        )
        return number, fit.blend

    def _record_none(self, candidates: Sequence[int], reason: str) -> None:
        with self._context.store.write() as tx:
            sentence = f"no blend: {reason}"
            tx.record(BLENDED, run_id=self._context.run_id, of=list(candidates), sentence=sentence)

    async def _fit(self, members: Sequence[Member]) -> BlendFit:
        context = self._context
        bank, withheld = context.executor.folder.bank, await context.executor.view(GUARDED)
        folds = await context.executor.fold_view() if _out_of_fold(members) else None
        candidates = tuple(member.node for member in members)
        if context.takes_notebooks:
            fit = packable(context)
            members = [member for member in members if member.node in fit]
        try:
            blended = await self._worker.blend(
                folds or withheld, members, bank, context.seed, None if folds is None else withheld
            )
        except NoBlend as error:
            self._record_none(candidates, str(error))
            return BlendFit(None, candidates)
        recipe, score, gain = blended.recipe, blended.score, blended.score.gain
        with context.store.write() as tx:
            # Without the final score, which is secret until the run's end.
            tx.record(
                BLENDED,
                run_id=context.run_id,
                of=list(candidates),
                weights={str(node): weight for node, weight in recipe.weights.items()},
                space=recipe.space,
                score=score.value,
                noise=score.std_error,
                gain=None if gain is None else gain.value,
                gain_error=None if gain is None else gain.std_error,
                sentence=f"the ensemble of {members_in_words(recipe.weights)} scores {score.value:.6g}",
            )
        return BlendFit(blended, candidates)

    async def _execution(self, node: int, blended: FittedBlend) -> ExecutionRecord:
        """Return the execution in place of a script's hold-out run: the blend's own file, checked as a script's."""
        executor = self._context.executor
        view, (folder, _) = await executor.view(GUARDED), executor.folder.blends_of(node)
        folder.mkdir(parents=True, exist_ok=True)
        members = {m.node: m for m in (*map(self._member, self._complete()), *self._members())}
        tests = {node: members[node].submission for node in blended.recipe.weights}
        await self._worker.write_blend(blended.recipe, tests, view.data, self._context.card, folder / "submission.csv")
        guards = await executor.guards_of(node, folder.name, blended.score)
        return ExecutionRecord(
            id=folder.name,
            view=GUARDED,
            reason=ExitReason.FINISHED,
            seconds=0.0,
            fine=True,
            score=replace(blended.score, guards=guards),
        )

    def _members(self) -> list[Member]:
        """Return the candidates: experiments with out-of-fold predictions, or, if these are too few, all nodes.

        Nodes that a guard found worthless are left out, and stacks, whose out-of-fold predictions are too good.
        """
        if self._context.needs_scripts:
            return self._scripts()
        members = [self._member(experiment) for experiment in self._complete() if not experiment.fitted_on_others]
        return members if len(members) >= FEWEST else self._scripts()

    def _complete(self) -> list[Experiment]:
        log = self._context.experiments
        experiments = [] if log is None else [e for e in log.all() if e.complete]
        return [e for e in experiments if e.result.arrays.oof and e.result.arrays.validation]

    def _member(self, experiment: Experiment) -> Member:
        bank, arrays = self._context.executor.folder.bank, experiment.result.arrays
        files = [bank / (name or "") for name in (arrays.oof, arrays.test, arrays.validation)]
        return Member(experiment.node, files[0], files[1], experiment.seconds or 0.0, files[2])

    def _scripts(self) -> list[Member]:
        """Return the nodes with a score on the hold-out view, as members that predict its rows."""
        context, members = self._context, []
        with context.store.read() as session:
            for node in load_tree(context).valid():
                execution = kept_execution(session, context.run_id, node.id)
                if node.spoiled or not node.complete or execution is None or execution.score is None:
                    continue
                if execution.score.predictions is None:
                    continue
                predictions, submission = readable_files(context.executor.folder, execution.id, execution.score)
                members.append(Member(node.id, predictions, submission, execution.seconds))
        return members


def _out_of_fold(members: Sequence[Member]) -> bool:
    """Return whether members are experiments with out-of-fold predictions."""
    return all(member.validation is not None for member in members)
