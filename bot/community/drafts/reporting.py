"""The reporter: a report on each closed draft."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from bot.community.drafts.planning import provenance
from bot.community.ideas.evidence import WHOLE_DRAFT
from bot.community.ideas.pool import idea_texts
from bot.community.ideas.uses import added, credited, uses
from bot.community.prompt_views import ComponentNote, IdeaText, ReportAnswer, item_time
from bot.community.report_pool import best_attempt, keep_report, lineage, numbers, reports_of
from bot.engine.attempts import NodeFeedback, load_tree
from bot.engine.context import RunContext
from bot.execution.task import TaskText
from bot.models import Item
from bot.models.parsing import json_answer
from bot.models.quoting import line
from bot.models.template import TemplatePrompt
from state.errors import ModelRefused, Unparsable
from state.tables import Draft


@dataclass(frozen=True)
class WriteReport(TemplatePrompt[ReportAnswer]):
    """Ask for the report on a finished draft."""

    template: ClassVar[str] = "write_report.j2"

    task: TaskText
    title: str
    draft: str
    attempts: tuple[NodeFeedback, ...]
    ideas: tuple[IdeaText, ...] = ()
    """Ideas of the pool that the draft carries out."""
    sources: tuple[Item, ...] = ()
    best: int | None = None
    """The node of the best of its scripts, or of the last one if none has a score."""

    def parse(self, text: str) -> ReportAnswer:
        """Read the JSON answer; a component carries out an idea of the draft, or none."""
        answer = json_answer(text, ReportAnswer)
        ideas = {idea.number for idea in self.ideas}
        if unknown := [part.idea for part in answer.components if part.idea is not None and part.idea not in ideas]:
            raise Unparsable(
                f"the draft does not use idea {unknown[0]}: set `idea` to one of {sorted(ideas)}, or to null"
            )
        return answer

    def items(self) -> Sequence[Item]:
        """Return the draft's sources, its ideas and the owner's notes."""
        return (*self.sources, *(idea.item for idea in self.ideas), *self.task.items())


async def report_on(
    context: RunContext, draft: Draft, attempts: Sequence[NodeFeedback], codebase_node: int | None = None
) -> None:
    """Ask a model for the report on a closed draft and store it; its scores and its gain are the evaluator's.

    Attempts are its scripts, oldest first; without any there is no report.
    """
    if any(r.draft_id == draft.id for r in reports_of(context)) or not attempts:
        return
    prompt = WriteReport(
        context.task,
        draft.title,
        draft.description,
        tuple(attempts),
        tuple(idea for idea in idea_texts(context) if idea.number in draft.idea_ids),
        provenance(context, draft),
        (best_attempt(context, attempts) or attempts[-1]).node,
    )
    try:
        answer = await context.asker.ask(prompt, role="reporter", name=f"report:{draft.id}")
    except ModelRefused as error:
        answer = ReportAnswer(method=draft.description, limitations=f"no report: {error}")
    parts = await measured_parts(context, attempts, codebase_node)
    measured_ideas = {part.idea for part in answer.components if part.gain is not None}
    # One comparison must not count twice.
    parts = tuple(
        part.model_copy(update={"idea": None, "ideas": ()}) if part.idea in measured_ideas else part for part in parts
    )
    findings = [f"node {a.node}: {finding}" for a in attempts for finding in a.findings]
    answer = answer.model_copy(
        update={
            "components": (*parts, *answer.components),
            "numbers": numbers(attempts),
            "limitations": "; ".join(filter(None, (answer.limitations, *findings))),
        }
    )
    # The draft may carry out an idea that the prompt no longer shows.
    known_at = max(draft.known_at, item_time(prompt.items(), draft.known_at))
    keep_report(context, draft.id, draft.title, answer, attempts, known_at, lineage(context, draft))


async def measured_parts(
    context: RunContext, attempts: Sequence[NodeFeedback], codebase_node: int | None
) -> tuple[ComponentNote, ...]:
    """Return the gains of a draft, each from a paired comparison on the same hold-out rows.

    First its gain over the script that it builds on, then that of each of its scripts (`attempts`, oldest first) over the
    one before it.
    """
    best, parts = best_attempt(context, attempts), []
    if best is not None and codebase_node is not None and context.executor.self_reported is None:
        score = await context.executor.score(best.node, codebase_node)
        if score is not None and (gain := score.gain) is not None and gain.std_error is not None:
            comparison = (
                f"node {best.node} compared with node {codebase_node} (the draft's codebase) on the same hold-out rows"
            )
            parts.append(
                ComponentNote(name=WHOLE_DRAFT, analysis=comparison, gain=gain.value, gain_error=gain.std_error)
            )
    tree, by_node = load_tree(context), {a.node: a for a in attempts}
    texts = {idea.number: idea.text for idea in idea_texts(context)}
    for improved in attempts:
        before = next(iter(tree[improved.node].parents), None)
        gain = improved.score.gain if improved.score else None
        if gain is not None and before in by_node:
            name = f"node {improved.node} over node {before}"
            own_uses, reference = (uses({"script.py": a.code}, a.plan, texts) for a in (improved, by_node[before]))
            parts.append(
                ComponentNote(
                    name=name,
                    analysis=line(improved.plan),
                    idea=credited(own_uses, reference),
                    ideas=tuple(sorted(added(own_uses, reference))),
                    gain=gain.value,
                    gain_error=gain.std_error,
                )
            )
    return tuple(parts)
