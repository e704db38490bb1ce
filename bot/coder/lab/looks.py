"""Looks: a lab's scripts, run clean on the hold-out view and scored; each is a node."""

import ast
import asyncio
import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from bot.coder.lab.cards import best_shown, families, share_line, shown, shown_gain
from bot.engine.attempts import attempt, code, infer_code, load_tree
from bot.engine.context import RunContext
from bot.engine.dress_rehearsal import rehearsal_of
from bot.engine.scripts import Limits, best_seconds, run_script
from bot.engine.strategy import Action, Script
from bot.engine.tree import Tree
from sandbox import Lease
from state.errors import BudgetExceeded
from state.progress import create_node, end_node, update_node

_OUTPUT = 3_000
"""Characters of a failed script's output that its coder sees."""
_PLAN = 4_000
_MOST_FAILED = 12
"""Scripts without a score that one lab may run."""
_LEAST = 5.0
"""Seconds that a scored script needs."""
_BLEND_SECONDS = 2.0
"""That an answer waits for the blend with its script."""


class NoLook(Exception):
    """A script is not scored; the message is a sentence for its coder."""


def look_seconds(context: RunContext, room: float) -> float:
    """Return the time limit (seconds) of a script that is scored now.

    Args:
        context: the run.
        room: seconds that its lab has left.

    Raises:
        NoLook: there is too little time.
    """
    seconds = context.budget.execution_seconds(best_seconds(context, load_tree(context)))
    if seconds is None or room < _LEAST:
        raise NoLook("no time is left to run a script")
    return min(seconds, room)


@dataclass
class Looks:
    """The scored scripts of one lab."""

    context: RunContext
    lab: int
    draft_id: int | None
    parents: tuple[int, ...]
    title: str
    allowed: int
    left: Callable[[], float]
    """Returns the seconds that the lab has left, those kept for its last look among them."""
    logs: Path
    """The folder in which coders find what scored scripts printed."""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    _running: tuple[int, float, float] | None = None
    """Node, start of its script (monotonic), and time limit (seconds)."""

    @property
    def nodes(self) -> list[int]:
        """Numbers of the nodes that have been begun, oldest first."""
        return self._in(load_tree(self.context))

    def _in(self, tree: Tree) -> list[int]:
        known = {node.id for node in tree.nodes}
        numbers = [number for number in self.context.decisions.of_lab(self.lab) if number in known]
        # The first one is there from the start, and waits for a script.
        return [number for number in numbers if number != self.lab or code(self.context, number)]

    @property
    def used(self) -> int:
        """Looks that were spent: scripts with a score, as others have shown nothing of the withheld rows."""
        tree = load_tree(self.context)
        return sum(tree[node].valid for node in self._in(tree))

    def best(self) -> int | None:
        """Return the lab's best node, or the one that it starts from; None without either."""
        tree = load_tree(self.context)
        own = [tree[node] for node in self.nodes if tree[node].valid]
        top = max(own, key=lambda node: (node.fitness, -node.id), default=None)
        return top.id if top is not None else next(iter(self.parents), None)

    async def score(
        self, script: str, note: str, lease: Lease | None, closing: bool = False, infer: str | None = None
    ) -> str:
        """Run and score a script, and return the answer to its coder.

        Args:
            script: its source.
            note: what is new, in a line.
            lease: the lease of the command that asks; None: the script waits for its own.
            closing: whether it is the look that is kept for the lab's end.
            infer: the script that predicts in a notebook; None: there is none.

        Raises:
            NoLook: it is not scored, and costs no look.
            BudgetExceeded: no time or money is left for it.
        """
        for name, text in (("the script", script), ("the script that predicts", infer or "")):
            try:
                ast.parse(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                raise NoLook(f"{name} does not compile: {error}; that cost no look") from None
        async with self._lock:
            if (node := self.scored(script, infer)) is not None:
                return f"this script was scored before, which cost no look. {self.answer(node)}"
            kept = 0 if closing else 1
            if self.used >= self.allowed - kept:
                raise NoLook(
                    "no looks are left; the last is kept for the end, when work/solution.py is scored: compare on folds, "
                    "and keep your best script there"
                )
            if len(self.nodes) - self.used >= _MOST_FAILED:
                raise NoLook(f"{_MOST_FAILED} scripts of this lab had no score, which is the most that are run")
            seconds = look_seconds(self.context, self.left())
            node = await self._begin(script, infer, note)
            await self._run(node, script, infer, note, seconds, lease)
        return self.answer(node)

    def scored(self, script: str, infer: str | None = None) -> int | None:
        """Return the node of this lab, or the one it starts from, that has just this script, and this second one."""
        context, known = self.context, (*self.nodes, *self.parents)
        return next((n for n in known if code(context, n) == script and infer_code(context, n) == infer), None)

    async def _begin(self, script: str, infer: str | None, note: str) -> int:
        context, best = self.context, self.best()
        kind, parents = ("improve", (best,)) if best is not None else ("draft", ())
        action = Action(
            "improve" if kind == "improve" else "draft",
            parents,
            self.draft_id,
            lab=self.lab,
            look=len(self.nodes) + 1,
        )
        node = await context.decisions.look(action)
        with context.store.write() as tx:
            create_node(
                tx,
                context.run_id,
                id=node,
                action=kind,
                parents=parents,
                draft_id=None if self.draft_id is None else str(self.draft_id),
                model=context.model_name,
            )
            plan, kinds = self._plan(note), families(script)
            update_node(tx, context.run_id, node, plan=plan, code=script, infer=infer, families=kinds)
        context.say(f"lab {self.lab}: node {node}" + (f": {note[:100]}" if note else ""))
        return node

    def _plan(self, note: str) -> str:
        return (f"{self.title}: {note}" if note else self.title)[:_PLAN]

    async def _run(
        self, node: int, script: str, infer: str | None, note: str, seconds: float, lease: Lease | None
    ) -> None:
        context, tree = self.context, load_tree(self.context)
        compared = next(iter(tree[node].parents), None)
        if compared is None and (best := tree.best()) is not None:
            compared = best.id
        self._running = node, time.monotonic(), seconds
        written = Script(self._plan(note), script, "draft" if not tree[node].parents else "improve", infer)
        try:
            await run_script(
                context, node, written, best_seconds(context, tree), Limits(seconds, None), compared, None, lease
            )
        except BudgetExceeded as error:
            with context.store.write() as tx:
                end_node(tx, context.run_id, node, "failed", error=str(error))
            raise
        finally:
            self._running = None
        if context.blender is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_BLEND_SECONDS):
                    await context.blended.wait()
        self.logs.mkdir(parents=True, exist_ok=True)  # whoever cleans up on the host may have taken it away
        await asyncio.to_thread(self._log(node).write_text, attempt(context, node).output, encoding="utf-8")

    def _log(self, node: int) -> Path:
        return self.logs / f"node{node}.txt"

    @property
    def progress(self) -> str | None:
        """The progress of the script that is being scored; None: there is none."""
        if self._running is None:
            return None
        node, start, limit = self._running
        return f"node {node} is being scored: {time.monotonic() - start:.0f} s of at most {limit:.0f} s"

    async def finish_begun(self) -> list[str]:
        """Finish the scores that an earlier start of the bot had begun, and return the answers to them."""
        answers = []
        async with self._lock:
            tree = load_tree(self.context)
            for node in self.nodes:
                if tree[node].state == "running":
                    try:
                        seconds = look_seconds(self.context, self.left())
                    except NoLook as error:
                        with self.context.store.write() as tx:
                            end_node(tx, self.context.run_id, node, "failed", error=str(error))
                    else:
                        scripts = code(self.context, node), infer_code(self.context, node)
                        await self._run(node, *scripts, "", seconds, None)
                    answers.append(self.answer(node))
        return answers

    def _rehearsed(self, node: int) -> str:
        """Return what the dress rehearsal of a scored node's notebook found."""
        found = rehearsal_of(self.context, node)
        if found is None:
            return "without --infer its notebook would train again on Kaggle, which takes long there"
        return (
            f"its notebook passed the dress rehearsal in {found.seconds:.1f} s; {found.scaled:,.0f} s are reckoned for "
            f"{found.rows:,} hidden rows, of {self.context.notebook_limits.seconds:,.0f} s at the most"
        )

    def answer(self, node: int) -> str:
        """Return the answer to the coder on a node."""
        context = self.context
        done, tree = attempt(context, node), load_tree(context)
        left = max(0, self.allowed - 1 - self.used)
        taken = sum(attempt(context, one).seconds for one in self.nodes)
        looks = f"Looks left: {left}, and one for the end. Scored scripts of this lab have run for {taken:.0f} s."
        if done.score is None:
            output = done.output.strip()[-_OUTPUT:]
            error = done.error or "it did not end"
            return f"node {node} has no score, which cost no look: {error}\n{output}\n{looks}".replace("\n\n", "\n")
        noise = f" ± {done.noise:.2g}" if done.noise is not None else ""
        # What matters stands last: coders are used to ask for the tail of an output.
        score = [
            f"node {node}: {context.card.metric.name} {shown(done.score, done.noise)}{noise} "
            f"({context.card.metric.direction}) on the withheld rows, {done.seconds:.0f} s"
        ]
        if done.gain is not None:
            base = next(iter(tree[node].parents), None)
            against = f"node {base}" if base is not None else "the best before it"
            score.append(f"against {against}, paired, above 0 is better: {shown_gain(done.gain, done.gain_error)}")
        lines = [f"node {node} has a score; its output: /lab/logs/{self._log(node).name}"]
        if context.takes_notebooks:
            lines.append(self._rehearsed(node))
        lines += [f"a check found: {finding}" for finding in done.findings]
        best = tree.best()
        if best is not None and best.id != node:
            lines.append(f"best of the run: {best_shown(context, best)}")
        if (share := share_line(context, node)) is not None:
            lines.append(share)
        if best is not None and best.id == node and (kept := context.budget.kept_in_words(done.seconds)):
            lines.append(f"{kept}; the time left is less by that")
        return "\n".join([*lines, looks, *score])
