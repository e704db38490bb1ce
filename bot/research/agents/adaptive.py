"""Self-adaptive coding: a simple plan's script is written at once, a complex one's in substeps that are run one by one.

As AutoMind has it (arXiv 2506.10974, section 3.3). The paper gives neither the threshold nor how often a substep is rewritten,
nor what a substep is run on; here it is a small sample of the data.
"""

import ast
import asyncio
import hashlib
from dataclasses import dataclass

from bot.agents.tree.settings import AdaptiveSettings
from bot.coder.playbook import SAMPLE_SECONDS, Assignment, Briefing, ScriptPlaybook, ScriptWriteResult, action_after
from bot.engine.budget import SAMPLE_SHARE
from bot.engine.context import RunContext
from bot.engine.scripts import ScriptTimeLimits, best_seconds, seconds_left
from bot.engine.strategy import Script
from bot.engine.tree import Tree
from bot.execution.record import DEBUG
from bot.research.agents.automind_prompts import (
    MAX_SUBSTEPS,
    FailedSubstep,
    ScorePlan,
    SplitPlan,
    WorkingSubsteps,
    WriteSubstep,
)
from sandbox import ExitReason
from state.errors import ModelRefused
from state.steps import Key, StepKind

_FIT = StepKind("substeps fit", bool)
_MIN_SAMPLE_SECONDS = 15.0
"""Of a run on a sample, where the scored run has as many: imports alone may take some."""


class AdaptivePlaybook(ScriptPlaybook):
    """Carries out plans; every answer and every run is a step, so that a killed run continues where it was."""

    def __init__(self, context: RunContext, briefing: Briefing) -> None:
        super().__init__(context, briefing, alone=True)
        self._context = context
        self._settings = context.settings_of(AdaptiveSettings)
        self._judging = asyncio.Lock()

    async def write(self, assignment: Assignment, node: int, tree: Tree, limits: ScriptTimeLimits) -> ScriptWriteResult:
        """Have the script written, in substeps where the plan is complex and there is time for them; raises as `Asker.ask`."""
        substeps = await self._substeps(assignment, node, tree, limits)
        if not substeps:
            return await super().write(assignment, node, tree, limits)
        self._context.say(f"node {node}: the plan is complex and was split into {len(substeps)} substeps")
        best = best_seconds(self._context, tree)
        return await _SubstepWriter(self._context, self._settings, assignment, node, limits, substeps, best).write()

    async def _substeps(
        self, assignment: Assignment, node: int, tree: Tree, limits: ScriptTimeLimits
    ) -> tuple[str, ...]:
        """Return the substeps of a complex plan; empty if it is simple or too little time is left."""
        context, plan = self._context, assignment.plan

        async def fits() -> bool:
            # A decision of a run whose budget is counted in steps depends on no machine's speed.
            room = context.budget.usable(best_seconds(context, tree)) if context.budget.steps is None else None
            needed_seconds = (MAX_SUBSTEPS + 1) * context.answer_seconds + limits.seconds
            return room is None or needed_seconds <= room

        # Where no labels are withheld no view is smaller than the data.
        if plan is None or context.executor.self_reported is not None or self._settings.threshold == 5:
            return ()
        try:
            if await self._complexity(plan, assignment) <= self._settings.threshold:
                return ()
            if not await context.steps.once(_FIT, fits, Key(node)):
                return ()
            codebase = assignment.attempts[-1].code if assignment.attempts else ""
            prompt = SplitPlan(context.task, context.preview, plan, codebase, assignment.known_items)
            return (await context.asker.ask(prompt, role="planner", name="substeps", node=node)).substeps
        except ModelRefused:
            return ()

    async def _complexity(self, plan: str, assignment: Assignment) -> int:
        """Return a plan's complexity, from 1 to 5; equal plans are judged once a run."""
        name = f"complexity:{hashlib.sha256(plan.encode(errors='surrogatepass')).hexdigest()[:16]}"
        # A step that is asked for by two slots at a time would be asked twice.
        async with self._judging:
            prompt = ScorePlan(plan, assignment.known_items)
            return (await self._context.asker.ask(prompt, role="analyzer", name=name)).complexity


@dataclass
class _SubstepWriter:
    context: RunContext
    settings: AdaptiveSettings
    assignment: Assignment
    node: int
    limits: ScriptTimeLimits
    substeps: tuple[str, ...]
    best_seconds: float | None
    working: WorkingSubsteps | None = None
    """The substeps that work."""
    runs: int = 0

    async def write(self) -> ScriptWriteResult:
        """Write, check and run one substep after the other; the whole script has run when the last one has."""
        for number in range(1, len(self.substeps) + 1):
            failed = await self._substep(number)
            if failed is not None:
                script_so_far = self._script(_joined(self.working, failed.code))
                return ScriptWriteResult(script_so_far, given_up=f"substep {number}: {failed.error}")
        return ScriptWriteResult(self._script(_joined(self.working)), tried=True)

    async def _substep(self, number: int) -> FailedSubstep | None:
        """Have a substep written until it works, and add it to the script; return how it failed at last."""
        failed: FailedSubstep | None = None
        step = f"node {self.node}: substep {number} of {len(self.substeps)}"
        for attempt in range(self.settings.rewrites + 1):
            self.context.say(f"{step}{', again' if attempt else ''}")
            # Raises where too little time is left for the scored run.
            seconds_left(self.context, self.best_seconds, self.limits)
            code = await self.context.asker.ask(
                self._prompt(number, failed), role="coder", name=f"substep {number}: {attempt}", node=self.node
            )
            failed = await self._try(number, code)
            self.context.say(f"{step} works" if failed is None else f"{step} failed: {failed.error}")
            if failed is None:
                return None
        return failed

    def _prompt(self, number: int, failed: FailedSubstep | None) -> WriteSubstep:
        context, assignment = self.context, self.assignment
        return WriteSubstep(
            task=context.task,
            preview=context.preview,
            machine=context.machine,
            plan=assignment.plan or "",
            substeps=self.substeps,
            number=number,
            earlier_substeps=self.working,
            failed=failed,
            parent=assignment.attempts[-1] if assignment.attempts else None,
            seconds=self.limits.seconds,
            sample_seconds=self._sample_seconds,
            known_items=assignment.known_items,
        )

    @property
    def _sample_seconds(self) -> float:
        return min(SAMPLE_SECONDS, self.limits.seconds, max(_MIN_SAMPLE_SECONDS, SAMPLE_SHARE * self.limits.seconds))

    async def _try(self, number: int, code: str) -> FailedSubstep | None:
        """Parse and run the script up to a substep; keep the substep if it works, else return how it failed."""
        script = _joined(self.working, code)
        try:
            ast.parse(script)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return FailedSubstep(code, f"not valid Python: {error}", "")
        execution = await self.context.executor.execute(
            self.node, script, DEBUG, self._sample_seconds, attempt=self.runs
        )
        self.runs += 1
        if execution.reason is not ExitReason.FINISHED:
            # Files that are complete at the time limit count for a scored run; what does not end on a sample will not on more.
            return FailedSubstep(code, execution.error or "still running at its time limit", execution.output)
        if number == len(self.substeps) and execution.error is not None:
            return FailedSubstep(code, execution.error, execution.output)
        self.working = WorkingSubsteps(script, execution.output, execution.seconds)
        return None

    def _script(self, code: str) -> Script:
        return Script(self.assignment.plan or "", code, action_after(self.assignment.attempts))


def _joined(working: WorkingSubsteps | None, *further: str) -> str:
    parts = (*((working.code,) if working else ()), *further)
    return "\n\n\n".join(part.strip() for part in parts) + "\n"
