"""The blend of a run's scored scripts: fitted again whenever one more has a score, and a node once it may be handed in."""

import asyncio
from collections.abc import Sequence
from typing import Any

from pydantic import TypeAdapter
from sqlmodel import col, select

from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.engine.strategy import Action
from bot.engine.tree import NodeView
from bot.evaluation.answers.blends import Blended, Member
from bot.evaluation.client.worker import Worker
from bot.execution.record import GUARDED, Execution, Score, kept_execution, readable_files, step_of
from sandbox import ExitReason
from state.errors import BotError, NoBlend
from state.progress import create_node, end_node
from state.store import Store
from state.tables import Event, Step

FEWEST = 2
"""Scripts with a score, from which on there is a blend."""
_FITTED = "blend.fitted"
"""Type of the event with the newest blend; it has no final score."""
_STEP = "blend"
_SHARE, _SECONDS = 0.005, 15.0
"""Share of a run's time, and most seconds, for one fit."""
_BLENDED = TypeAdapter(Blended)


class Blending:
    """The blends of one run; they are fitted in a worker of their own, so that no score waits for one."""

    def __init__(self, context: RunContext, worker: Worker) -> None:
        self._context = context
        self._worker = worker
        self._fitting = asyncio.Lock()

    async def keep_fitted(self) -> None:
        """Fit the blend whenever a script has a score, until cancelled."""
        context = self._context
        while True:
            await context.scored.wait()
            context.scored.clear()
            try:
                await self.fit()
            except BotError as error:
                context.say(f"no blend was fitted: {error}")

    async def fit(self) -> Blended | None:
        """Return the blend of all scripts that have a score, fitted once; None: nothing can be blended.

        Raises:
            InfrastructureFailure: the worker failed.
        """
        async with self._fitting:
            members = self._members()
            if len(members) < FEWEST:
                return None
            found = await self._context.steps.once(_STEP, lambda: self._fit(members), attempt=len(members))
            return _BLENDED.validate_python(found["blend"]) if found["blend"] else None

    async def as_node(self) -> NodeView | None:
        """Make a node of the blend of all scripts that have a score, with its members as parents; None: there is no blend.

        Asked again without news, it returns the same node.

        Raises:
            InfrastructureFailure: the worker failed.
        """
        context, blended = self._context, await self.fit()
        if blended is None:
            return None
        parents = tuple(sorted(blended.recipe.weights))
        node = await context.decisions.ensemble(Action("ensemble", parents, look=len(self._members())))
        with context.store.write() as tx:
            create_node(tx, context.run_id, id=node, action="ensemble", parents=parents, plan=_plan(blended))
        await context.steps.once(_STEP, lambda: _stored(blended), node=node)
        found = await context.steps.once(step_of(GUARDED), lambda: self._execution(node, blended), node=node)
        tree = load_tree(context)
        if tree[node].state == "running":
            seconds, score = sum(tree[parent].seconds for parent in parents), Execution.model_validate(found).value
            with context.store.write() as tx:
                end_node(tx, context.run_id, node, "valid", score=score, seconds=seconds)
        return load_tree(context)[node]

    async def _fit(self, members: Sequence[Member]) -> dict[str, Any]:
        context = self._context
        view, bank = await context.executor.view(GUARDED), context.executor.folder.bank
        seconds = min(_SECONDS, _SHARE * context.budget.seconds)
        try:
            blended = await self._worker.blend(view, members, bank, context.seed, seconds)
        except NoBlend as error:
            context.say(f"no blend: {error}")
            return {"blend": None}
        noise = blended.noise
        with context.store.write() as tx:
            tx.record(
                _FITTED,
                run_id=context.run_id,
                score=blended.score,
                score_error=noise.score_error,
                gain=noise.gain,
                gain_error=noise.gain_error,
                space=blended.recipe.space,
                weights={str(node): weight for node, weight in blended.recipe.weights.items()},
                of=[one.node for one in members],
            )
        return await _stored(blended)

    async def _execution(self, node: int, blended: Blended) -> dict[str, Any]:
        """Return what stands in for a script's hold-out run: the blend's own file, checked as a script's is."""
        executor = self._context.executor
        view, id = await executor.view(GUARDED), f"n{node}-blend"
        file = executor.folder.executions / id / "submission.csv"
        file.parent.mkdir(parents=True, exist_ok=True)
        tests = {one.node: one.submission for one in self._members() if one.node in blended.recipe.weights}
        await self._worker.write_blend(blended.recipe, tests, view.data, self._context.card, file)
        score = Score(
            value=blended.score,
            noise=blended.noise,
            final=blended.final,
            predictions=blended.predictions,
            submission=blended.submission,
        )
        found = await executor.guards_of(node, id, score)
        score = score.model_copy(update={"guards": found, "spoiled": any(one.spoils for one in found)})
        execution = Execution(
            id=id,
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


def blend_of(store: Store, run_id: str, node: int) -> Blended | None:
    """Return the blend that a node is made of; None: it is a script's."""
    with store.read() as session:
        step = session.get(Step, (run_id, node, _STEP, 0))
    return None if step is None or step.result is None else _BLENDED.validate_python(step.result["blend"])


def newest_blend(store: Store, run_id: str) -> dict[str, Any] | None:
    """Return the event's data of a run's newest blend: `score`, `score_error`, `gain`, `gain_error`, `space`, `weights`, `of`."""
    with store.read() as session:
        query = select(Event).where(Event.run_id == run_id, Event.type == _FITTED).order_by(col(Event.seq).desc())
        event = session.exec(query.limit(1)).first()
        return None if event is None else event.data


async def _stored(blended: Blended) -> dict[str, Any]:
    return {"blend": _BLENDED.dump_python(blended, mode="json")}


def _plan(blended: Blended) -> str:
    weights = sorted(blended.recipe.weights.items(), key=lambda item: (-item[1], item[0]))
    named = ", ".join(f"{node} ({weight:.2f})" for node, weight in weights)
    return f"Blend of the nodes {named}, combined as {blended.recipe.space}."
