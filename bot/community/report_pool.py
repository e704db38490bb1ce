"""The pool of reports, as known at the clock's time; it only grows."""

from collections.abc import Sequence
from datetime import datetime

from bot.community.prompt_views import ReportAnswer, ReportText
from bot.community.settings import ReadingSettings
from bot.engine.attempts import NodeFeedback, load_tree
from bot.engine.context import RunContext
from bot.engine.rounding import with_error
from bot.models import Item
from bot.models.quoting import line
from state.knowledge import add_report, drafts, reports, reproductions
from state.tables import Draft, Report


def reports_of(context: RunContext) -> list[Report]:
    """Return the run's reports, oldest first."""
    return sorted(reports(context.store, context.run_id, context.clock.as_of()), key=lambda r: int(r.id))


def report_texts(context: RunContext) -> list[ReportText]:
    """Return reports for a prompt, the best first; where not all fit, some failures are kept."""
    rows = reports_of(context)
    scored_reports = sorted(
        (r for r in rows if r.score is not None), key=lambda r: (-context.card.oriented(r.score or 0.0), int(r.id))
    )
    failed = [r for r in rows if r.score is None]
    limit = context.settings_of(ReadingSettings).shown_reports
    kept_failures = failed[-max(limit // 5, limit - len(scored_reports)) :] if failed else []
    return [
        ReportText(
            item=Item(f"report/{row.id}", row.known_at),
            number=int(row.id),
            title=row.title,
            score=row.score,
            node=row.best_node,
            baseline=row.draft_id is None,
            **row.model_dump(include=set(ReportAnswer.model_fields)),
        )
        for row in (*scored_reports[: limit - len(kept_failures)], *kept_failures)
    ]


def code_source(context: RunContext, node: int) -> Item | None:
    """Return the source of a node's script: a public kernel, the report on its draft, or the draft while it has none."""
    as_of = context.clock.as_of()
    kernels = reproductions(context.store, context.run_id, as_of)
    if (kernel := next((r for r in kernels if r.node == node), None)) is not None:
        return Item(kernel.id, kernel.known_at)
    draft = load_tree(context)[node].draft_id
    draft_id = None if draft is None else str(draft)
    report = next((r for r in reports_of(context) if r.draft_id == draft_id), None)
    if report is not None:
        return Item(f"report/{report.id}", report.known_at)
    known_drafts = drafts(context.store, context.run_id, as_of)
    return next((Item(f"draft/{d.id}", d.known_at) for d in known_drafts if d.id == draft_id), None)


def lineage(context: RunContext, draft: Draft) -> list[str]:
    """Return the items that a draft was made of: its ideas, the node whose script it extends, and the source of that."""
    items = [f"idea/{number}" for number in draft.idea_ids]
    if draft.codebase_node is not None:
        source = code_source(context, draft.codebase_node)
        items += [f"node/{draft.codebase_node}", *([source.id] if source is not None else [])]
    return items


def numbers(attempts: Sequence[NodeFeedback]) -> str:
    """Return each script's score and gain with their standard errors, and its seconds, or why it has none."""
    lines = []
    for attempt in attempts:
        if (score := attempt.score) is None:
            lines.append(f"node {attempt.node}: no score ({line(attempt.error or 'reason unknown')})")
            continue
        figures, gain = with_error(f"{score.value:.6g}", score.std_error), score.gain
        if gain is not None:
            figures += f", gain {with_error(f'{gain.value:+.3g}', gain.std_error)}"
        lines.append(f"node {attempt.node} ({attempt.action}): {figures}, {attempt.seconds:.0f} s")
    return "; ".join(lines)


def best_attempt(context: RunContext, attempts: Sequence[NodeFeedback]) -> NodeFeedback | None:
    """Return the attempt with the best score, the earliest of equals; None if none has a score."""
    candidates = [(context.card.oriented(a.score.value), -a.node, a) for a in attempts if a.score is not None]
    return max(candidates, key=lambda triple: triple[:2])[2] if candidates else None


def keep_report(
    context: RunContext,
    draft_id: str | None,
    title: str,
    answer: ReportAnswer,
    attempts: Sequence[NodeFeedback],
    known_at: datetime,
    made_of: Sequence[str] = (),
    artifacts: Sequence[str] = (),
) -> None:
    """Store a report: number 1 is the baseline's, which has no draft, and n + 1 that of draft n.

    So numbers do not depend on the order in which reports end, nor on a restart between them.
    """
    best = best_attempt(context, attempts)
    with context.store.write() as tx:
        report = Report(
            run_id=context.run_id,
            id=str(1 if draft_id is None else int(draft_id) + 1),
            created_at=tx.now(),
            draft_id=draft_id,
            title=title,
            known_at=known_at,
            best_node=best.node if best else None,
            score=best.score.value if best and best.score else None,
            lineage=list(made_of),
            artifacts=list(artifacts),
            **answer.model_dump(),
        )
        add_report(tx, report)
