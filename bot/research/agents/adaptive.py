"""Self-adaptive coding: a simple plan's script is written at once, a complex one's in substeps that are run one by one.

As AutoMind has it (arXiv 2506.10974, section 3.3). The paper gives neither the threshold nor how often a substep is rewritten,
nor what a substep is run on; here it is a small sample of the data.
"""

import ast
import asyncio
import hashlib

from bot.agents.tree.settings import AdaptiveSettings
from bot.coder.playbook import (
    SAMPLE_SECONDS,
    Assignment,
    Briefing,
    ScriptPlaybook,
    ScriptWriteResult,
    action_after,
)
from bot.engine.budget import SAMPLE_SHARE
from bot.engine.context import RunContext
from bot.engine.scripts import ScriptTimeLimits, best_seconds, seconds_left
from bot.engine.strategy import Script
from bot.engine.tree import Tree
from bot.execution.record import DEBUG, ExecutionRecord
from bot.research.agents.automind_prompts import (
    MOST_SUBSTEPS,
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
_LEAST_SECONDS = 15.0
"""Of a run on a sample, where the scored run has as many: imports alone may take some."""


class AdaptivePlaybook(ScriptPlaybook):
    """Carries out plans; every answer and every run is a step, so that a killed run goes on where it was."""

    def __init__(self, context: RunContext, briefing: Briefing) -> None:
        super().__init__(context, briefing)
        self._context = context
        self._settings = context.settings_of(AdaptiveSettings)
        self._judging = asyncio.Lock()

    async def write(self, assignment: Assignment, node: int, tree: Tree, limits: ScriptTimeLimits) -> ScriptWriteResult:
        """Have the script written, in substeps where the plan is complex and there is time for them; raises as `Asker.ask`."""
        substeps = await self._substeps(assignment, node, tree, limits)
        if not substeps:
            return await super().write(assignment, node, tree, limits)
        self._context.say(f"node {node}: a complex plan, in {len(substeps)} substeps")
        return await _InSubsteps(self._context, self._settings, assignment, node, tree, limits, substeps).write()

    async def _substeps(
        self, assignment: Assignment, node: int, tree: Tree, limits: ScriptTimeLimits
    ) -> tuple[str, ...]:
        """Return the substeps of a complex plan; none where it is simple, or where they cannot be run in time."""
        context, plan = self._context, assignment.plan

        async def fits() -> bool:
            # A decision of a run whose budget is counted in steps depends on no machine's speed.
            room = context.budget.usable(best_seconds(context, tree)) if context.budget.steps is None else None
            needed_seconds = (MOST_SUBSTEPS + 1) * context.answer_seconds + limits.seconds
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


class _InSubsteps:
    def __init__(
        self,
        context: RunContext,
        settings: AdaptiveSettings,
        assignment: Assignment,
        node: int,
        tree: Tree,
        limits: ScriptTimeLimits,
        substeps: tuple[str, ...],
    ) -> None:
        self._context = context
        self._settings = settings
        self._assignment = assignment
        self._node = node
        self._best = best_seconds(context, tree)
        self._limits = limits
        self._substeps = substeps
        self._so_far: WorkingSubsteps | None = None
        """The substeps that work."""
        self._runs = 0

    async def write(self) -> ScriptWriteResult:
        """Write, check and run one substep after the other; the whole script has run when the last one has."""
        for number in range(1, len(self._substeps) + 1):
            failed = await self._substep(number)
            if failed is not None:
                script_so_far = self._script(_joined(self._so_far, failed.code))
                return ScriptWriteResult(script_so_far, given_up=f"substep {number}: {failed.error}")
        return ScriptWriteResult(self._script(_joined(self._so_far)), tried=True)

    async def _substep(self, number: int) -> FailedSubstep | None:
        """Have a substep written until it works, and add it to the script; return how it failed at last."""
        failed: FailedSubstep | None = None
        step = f"node {self._node}: substep {number} of {len(self._substeps)}"
        for attempt in range(self._settings.rewrites + 1):
            self._context.say(f"{step}{', again' if attempt else ''}")
            # Raises where too little time is left for the scored run.
            seconds_left(self._context, self._best, self._limits)
            code = await self._context.asker.ask(
                self._prompt(number, failed), role="coder", name=f"substep {number}: {attempt}", node=self._node
            )
            failed = await self._try(number, code)
            self._context.say(f"{step} works" if failed is None else f"{step} failed: {failed.error}")
            if failed is None:
                return None
        return failed

    def _prompt(self, number: int, failed: FailedSubstep | None) -> WriteSubstep:
        context, assignment = self._context, self._assignment
        return WriteSubstep(
            task=context.task,
            preview=context.preview,
            machine=context.machine,
            plan=assignment.plan or "",
            substeps=self._substeps,
            number=number,
            earlier_substeps=self._so_far,
            failed=failed,
            parent=assignment.attempts[-1] if assignment.attempts else None,
            seconds=self._limits.seconds,
            sample_seconds=self._sample_seconds,
            known_items=assignment.known_items,
        )

    @property
    def _sample_seconds(self) -> float:
        return min(SAMPLE_SECONDS, self._limits.seconds, max(_LEAST_SECONDS, SAMPLE_SHARE * self._limits.seconds))

    async def _try(self, number: int, code: str) -> FailedSubstep | None:
        """Parse and run the script up to a substep; keep the substep if it works, else return how it failed."""
        script = _joined(self._so_far, code)
        try:
            ast.parse(script)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return FailedSubstep(code, f"it is not valid Python: {error}", "")
        execution = await self._run(script)
        if execution.reason is not ExitReason.FINISHED:
            # Files that are complete at the time limit count for a scored run; what does not end on a sample will not on more.
            return FailedSubstep(code, execution.error or "it was still running at its time limit", execution.output)
        if number == len(self._substeps) and execution.error is not None:
            return FailedSubstep(code, execution.error, execution.output)
        self._so_far = WorkingSubsteps(script, execution.output, execution.seconds)
        return None

    async def _run(self, script: str) -> ExecutionRecord:
        attempt, self._runs = self._runs, self._runs + 1
        return await self._context.executor.execute(self._node, script, DEBUG, self._sample_seconds, attempt=attempt)

    def _script(self, code: str) -> Script:
        return Script(self._assignment.plan or "", code, action_after(self._assignment.attempts))


def _joined(working: WorkingSubsteps | None, *further: str) -> str:
    parts = (*((working.code,) if working else ()), *further)
    return "\n\n\n".join(part.strip() for part in parts) + "\n"
