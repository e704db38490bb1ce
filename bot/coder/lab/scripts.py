"""Scored scripts of a lab, where scripts are submitted: run clean on the hold-out view, each a node."""

import ast
import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import indent

from bot.coder.lab.cards import gain_in_words
from bot.engine.attempts import attempt, code, infer_code, load_tree
from bot.engine.context import RunContext
from bot.engine.experiments import nodes_of_lab
from bot.engine.families import families
from bot.engine.notebook_check import notebook_check_of
from bot.engine.rounding import rounded_score, with_error
from bot.engine.scripts import ScriptTimeLimits, best_seconds, run_script
from bot.engine.strategy import Action, Script
from bot.engine.tree import Tree
from bot.models.quoting import in_quotes
from sandbox import Lease
from state.errors import BudgetExceeded
from state.progress import create_node, end_node, update_node

_OUTPUT = 3_000
"""Characters of a failed script's output that its coder sees."""
_PLAN = 4_000
_MAX_SCRIPTS = 40
"""Scripts that one lab may have scored: each rounded score says a little about the labels of withheld rows."""
_MIN_SECONDS = 5.0
"""Seconds that a scored script needs."""


class ScriptRefused(Exception):
    """A call is refused; the message is a sentence for its coder."""


def script_seconds(context: RunContext, room: float) -> float:
    """Return the time limit (seconds) of a script that is scored now.

    Args:
        context: the run.
        room: seconds that its lab has left.

    Raises:
        ScriptRefused: there is too little time.
    """
    seconds = context.budget.execution_seconds(best_seconds(context, load_tree(context)))
    if seconds is None or room < _MIN_SECONDS:
        raise ScriptRefused("no time left to run a script")
    return min(seconds, room)


@dataclass
class ScoredScripts:
    """The scored scripts of one lab."""

    context: RunContext
    lab: int
    draft_id: int | None
    parents: tuple[int, ...]
    title: str
    seconds_left: Callable[[], float]
    """Returns the seconds that the lab has left."""
    logs: Path
    """The folder in which coders find what scored scripts printed."""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def nodes(self) -> list[int]:
        """Numbers of the nodes that the lab has used, oldest first."""
        context = self.context
        return nodes_of_lab(context.store, context.run_id, context.decisions, self.lab)

    def _own_nodes(self, tree: Tree) -> list[int]:
        return [node for node in self.nodes if node in {n.id for n in tree.nodes} and code(self.context, node)]

    def best(self) -> int | None:
        """Return the lab's best node, or the one that it starts from; None without either."""
        tree = load_tree(self.context)
        own_nodes = [tree[node] for node in self._own_nodes(tree) if tree[node].valid]
        top = max(own_nodes, key=lambda node: (node.fitness, -node.id), default=None)
        return top.id if top is not None else next(iter(self.parents), None)

    async def score(self, script: str, note: str, lease: Lease | None, infer: str | None = None) -> str:
        """Run and score a script, and return the answer to its coder.

        Args:
            script: its source.
            note: what is new, in a line.
            lease: the lease of the command that asks; None: the script waits for its own.
            infer: the script that predicts in a notebook; None: there is none.

        Raises:
            ScriptRefused: it is not scored.
            BudgetExceeded: no time or money is left for it.
        """
        for name, text in (("the script", script), ("the inference script", infer or "")):
            try:
                ast.parse(text)
            except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
                raise ScriptRefused(f"{name} does not compile: {error}") from None
        async with self._lock:
            if (node := self.node_of(script, infer)) is not None:
                return f"this script has already been scored. {self.answer(node)}"
            if len(self.nodes) >= _MAX_SCRIPTS:
                raise ScriptRefused(f"this lab has reached its limit of {_MAX_SCRIPTS} scripts")
            seconds = script_seconds(self.context, self.seconds_left())
            node = await self._begin(script, infer, note)
            await self._run(node, script, infer, note, seconds, lease)
        return self.answer(node)

    def node_of(self, script: str, infer: str | None = None) -> int | None:
        """Return the node of this lab, or the one it starts from, that has just this script, and this second one."""
        context, nodes = self.context, (*self.nodes, *self.parents)
        return next((n for n in nodes if code(context, n) == script and infer_code(context, n) == infer), None)

    async def _begin(self, script: str, infer: str | None, note: str) -> int:
        context, best = self.context, self.best()
        kind, parents = ("improve", (best,)) if best is not None else ("draft", ())
        numbering = context.experiments.numbering if context.experiments else asyncio.Lock()
        async with numbering:
            action = Action(
                "improve" if kind == "improve" else "draft",
                parents,
                self.draft_id,
                lab=self.lab,
                look=len(self.nodes) + 1,
            )
            node = await context.decisions.number_of(action)
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
        reference = next(iter(tree[node].parents), None)
        if reference is None and (best := tree.best()) is not None:
            reference = best.id
        new_script = Script(self._plan(note), script, "draft" if not tree[node].parents else "improve", infer)
        try:
            await run_script(
                context,
                node,
                new_script,
                best_seconds(context, tree),
                ScriptTimeLimits(seconds, None),
                reference,
                None,
                lease,
            )
        except BudgetExceeded as error:
            with context.store.write() as tx:
                end_node(tx, context.run_id, node, "failed", error=str(error))
            raise
        self.logs.mkdir(parents=True, exist_ok=True)  # a cleanup on the host may have removed it
        await asyncio.to_thread(self._log(node).write_text, attempt(context, node).output, encoding="utf-8")

    def _log(self, node: int) -> Path:
        return self.logs / f"node{node}.txt"

    async def finish_begun(self) -> list[str]:
        """Finish the scores that an earlier start of the bot had started, and return the answers to them."""
        answers = []
        async with self._lock:
            tree = load_tree(self.context)
            for node in self._own_nodes(tree):
                if tree[node].state == "running":
                    try:
                        seconds = script_seconds(self.context, self.seconds_left())
                    except ScriptRefused as error:
                        with self.context.store.write() as tx:
                            end_node(tx, self.context.run_id, node, "failed", error=str(error))
                    else:
                        scripts = code(self.context, node), infer_code(self.context, node)
                        await self._run(node, *scripts, "", seconds, None)
                    answers.append(self.answer(node))
        return answers

    def _notebook_line(self, node: int) -> str:
        """Return the result of the check of a scored node's notebook."""
        check = notebook_check_of(self.context, node)
        if check is None:
            return "without --infer its notebook would train again on Kaggle, which takes a long time"
        return (
            f"its notebook passed its local check in {check.seconds:.1f} s; {check.scaled:,.0f} s are expected for "
            f"{check.rows:,} hidden rows; the limit is {self.context.notebook_limits.seconds:,.0f} s"
        )

    def answer(self, node: int) -> str:
        """Return the answer to the coder on a node."""
        context = self.context
        result, tree = attempt(context, node), load_tree(context)
        if result.score is None:
            output = indent(result.output.strip()[-_OUTPUT:], "| ", lambda _: True)
            return f"node {node} has no score: {in_quotes(result.error or 'it did not finish', _OUTPUT)}\n{output}".rstrip()
        score = with_error(rounded_score(result.score.value, result.score.std_error), result.score.std_error)
        lines = [f"node {node} has a score; its output is in /lab/logs/{self._log(node).name}"]
        if context.takes_notebooks:
            lines.append(self._notebook_line(node))
        lines += [f"a check found: {finding}" for finding in result.findings]
        # What matters comes last, as coders often ask for the tail of an output.
        lines.append(
            f"node {node}: {context.card.metric.name} {score} "
            f"({context.card.metric.direction}) on validation rows, {result.seconds:.0f} s"
        )
        if result.score.gain is not None:
            base = next(iter(tree[node].parents), None)
            reference = f"node {base}" if base is not None else "the best earlier node"
            lines.append(f"against {reference}, paired: {gain_in_words(result.score.gain)}")
        return "\n".join(lines)
