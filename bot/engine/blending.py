"""The blend of a run's scored scripts: fitted again whenever one more has a score, and a node once it may be handed in."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from bot.engine.attempts import BLEND, STORED_BLEND, load_tree
from bot.engine.context import RunContext
from bot.engine.dress_rehearsal import packable, rehearsed
from bot.engine.results import BLENDED, members_in_words
from bot.engine.strategy import Action
from bot.engine.tree import NodeView
from bot.evaluation.answers.blends import Blended, Member
from bot.evaluation.client.worker import Worker
from bot.execution.record import GUARDED, Execution, Score, kept_execution, readable_files, step_of
from sandbox import ExitReason
from state.errors import BotError, NoBlend
from state.progress import create_node, end_node

FEWEST = 2
"""Scripts with a score, from which on there is a blend."""
_SHARE, _SECONDS = 0.005, 15.0
"""Share of a run's time, and most seconds, for one fit."""


class Blending:
    """The blends of one run; they are fitted in a worker of their own, so that no score waits for one."""

    def __init__(self, context: RunContext, worker: Worker) -> None:
        self._context = context
        self._worker = worker
        self._busy = asyncio.Lock()
        self.on_fitted: Callable[[], None] | None = None
        """Called after each fit during the search."""

    async def keep_fitted(self) -> None:
        """Fit the blend now, and whenever a script has a score, until cancelled."""
        context = self._context
        while True:
            context.scored.clear()
            try:
                async with self._busy:
                    await self._newest()
                if self.on_fitted is not None:
                    self.on_fitted()
            except BotError as error:
                context.say(f"no blend was fitted: {error}")
            if not context.scored.is_set():
                context.blended.set()
            await context.scored.wait()

    async def settle(self) -> None:
        """Wait for the fit that runs, which a blend that is handed in would begin again were it cancelled."""
        async with self._busy:
            pass

    async def as_node(self) -> NodeView | None:
        """Make a node of the blend of all scripts that have a score, with its members as parents; None: there is no blend.

        Asked again without news, it returns the same node. The node is there once all about it is known, so that none stays
        unfinished where the bot is killed. Where notebooks are handed in, its own is rehearsed first; if it is refused, the node
        has no score.

        Raises:
            InfrastructureFailure: the worker failed.
            BudgetExceeded: the rehearsal does not fit into a budget.
        """
        context = self._context
        async with self._busy:
            of, blended = await self._newest()
            if blended is None:
                return None
            parents = tuple(sorted(blended.recipe.weights))
            node = await context.decisions.ensemble(Action("ensemble", parents, look=of))
            await context.steps.once(BLEND, lambda: _stored(blended), node=node)
            found = await context.steps.once(step_of(GUARDED), lambda: self._execution(node, blended), node=node)
            refused = (await rehearsed(context, node)).reason if context.takes_notebooks else None
        tree = load_tree(context)
        if all(one.id != node for one in tree.ensembles):
            seconds, score = sum(tree[parent].seconds for parent in parents), Execution.model_validate(found).value
            with context.store.write() as tx:
                create_node(tx, context.run_id, id=node, action="ensemble", parents=parents, plan=_plan(blended))
                if refused is None:
                    end_node(tx, context.run_id, node, "valid", score=score, seconds=seconds)
                else:
                    end_node(tx, context.run_id, node, "buggy", error=refused, seconds=seconds)
        return load_tree(context)[node]

    async def _newest(self) -> tuple[int, Blended | None]:
        """Return how many scripts may be members, and their blend, fitted once; None: blending them gains nothing."""
        members = self._members()
        if len(members) < FEWEST:
            return len(members), None
        found = await self._context.steps.once(BLEND, lambda: self._fit(members), attempt=len(members))
        blended = STORED_BLEND.validate_python(found["blend"]) if found["blend"] else None
        return len(members), blended

    async def _fit(self, members: Sequence[Member]) -> dict[str, Any]:
        context = self._context
        view, bank = await context.executor.view(GUARDED), context.executor.folder.bank
        seconds = min(_SECONDS, _SHARE * context.budget.seconds)
        of = [one.node for one in members]
        if context.takes_notebooks:
            fit = packable(context)
            members = [one for one in members if one.node in fit]
        try:
            blended = await self._worker.blend(view, members, bank, context.seed, seconds)
        except NoBlend as error:
            with context.store.write() as tx:
                tx.record(BLENDED, run_id=context.run_id, of=of, sentence=f"nothing is blended: {error}")
            return {"blend": None}
        recipe, noise = blended.recipe, blended.noise
        with context.store.write() as tx:
            # Without the final score, which nobody may know before the run's end.
            tx.record(
                BLENDED,
                run_id=context.run_id,
                of=of,
                weights={str(node): weight for node, weight in recipe.weights.items()},
                space=recipe.space,
                score=blended.score,
                noise=noise.score_error,
                gain=noise.gain,
                gain_error=noise.gain_error,
                sentence=f"the blend of {members_in_words(recipe.weights)} has the score {blended.score:.6g}",
            )
        return await _stored(blended)

    async def _execution(self, node: int, blended: Blended) -> dict[str, Any]:
        """Return what stands in for a script's hold-out run: the blend's own file, checked as a script's is."""
        executor = self._context.executor
        view, (folder, _) = await executor.view(GUARDED), executor.folder.blends_of(node)
        folder.mkdir(parents=True, exist_ok=True)
        tests = {one.node: one.submission for one in self._members() if one.node in blended.recipe.weights}
        await self._worker.write_blend(blended.recipe, tests, view.data, self._context.card, folder / "submission.csv")
        score = Score(
            value=blended.score,
            noise=blended.noise,
            final=blended.final,
            predictions=blended.predictions,
            submission=blended.submission,
        )
        found = await executor.guards_of(node, folder.name, score)
        score = score.model_copy(update={"guards": found, "spoiled": any(one.spoils for one in found)})
        execution = Execution(
            id=folder.name,
            view=GUARDED,
            reason=ExitReason.FINISHED,
            seconds=0.0,
            output="",
            fine=True,
            score=score,
            fault=None,
            error=None,
        )
        return execution.model_dump(mode="json")

    def _members(self) -> list[Member]:
        """Return the scripts whose predictions are kept, those that a guard found worthless left out."""
        context, found = self._context, []
        with context.store.read() as session:
            for node in load_tree(context).valid():
                done = kept_execution(session, context.run_id, node.id)
                if node.spoiled or done is None or done.score is None or done.score.predictions is None:
                    continue
                predictions, submission = readable_files(context.executor.folder, done.id, done.score)
                found.append(Member(node.id, predictions, submission, done.seconds))
        return found


async def _stored(blended: Blended) -> dict[str, Any]:
    return {"blend": STORED_BLEND.dump_python(blended, mode="json")}


def _plan(blended: Blended) -> str:
    recipe = blended.recipe
    calibrated = f"; calibrated by {', '.join(recipe.calibration)}" if recipe.calibration else ""
    return f"Blend of {members_in_words(recipe.weights)}, combined by {recipe.space}{calibrated}."
