"""The files of a run that has ended, live or replayed: its exports, its solution, its result and its page."""

import resource
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from bot.budgets.figures import figures, share
from bot.community.reproduction.reproducing import kernel_figures, why_no_more
from bot.engine.attempts import blend_of, load_tree
from bot.engine.context import RunContext
from bot.engine.experiment import PLAIN_NOTE, experiments_in
from bot.engine.run_record import RunRecord
from bot.engine.tree import NodeView, Tree
from bot.evaluation.answers import GradeReport, HiddenScore
from bot.evaluation.answers.findings import GuardFinding
from bot.evaluation.client.worker import Worker
from bot.execution.folder import RunFolder
from bot.execution.stopwatch import Stopwatch
from bot.knowledge.retrieval import KNOWLEDGE_SHOWN
from bot.report.confidence import compare_with_simple, diagnose, expected_interval, findings_of_run
from bot.report.export import calls, write_lines
from bot.report.gains import figures_of, gains
from bot.report.posts import stream_record, suspicious_posts
from bot.report.result import BlendFigures, FinalFile, KnowledgeFigures, NodeFinding, NotesRead, RunResult, write_result
from bot.report.solution import write_solution
from bot.report.spending import by_role
from bot.report.words import cutoff_note
from bot.submission.final_selection import selection_of
from bot.submission.final_submission import FinalSubmission
from sandbox import ExitReason, SandboxDescription
from scrapers.posts.sources import notes_of
from state.errors import BotError


@dataclass(frozen=True)
class EndedRun:
    """A run whose search has ended."""

    folder: RunFolder
    context: RunContext
    sandbox: SandboxDescription
    stopwatch: Stopwatch
    status: str
    stopped_by: str | None = None
    misconfigured: bool = False
    variant: tuple[str, ...] = ()
    dated_at_deadline: Mapping[str, int] | None = None
    """Posts by kind without a time of their own, which were dated at the deadline on import; None: there were none."""


@dataclass(frozen=True)
class GradedRun:
    """A run's grade: on a snapshot's hidden test, or on a live competition's leaderboard."""

    grade: GradeReport
    """The grade of what was submitted."""
    nodes: Mapping[int, HiddenScore] = field(default_factory=dict)
    rank_correlation: float | None = None
    """Between validation scores and those of `nodes`."""
    selection_regret: float | None = None
    """By how much the chosen node is worse in `nodes` than the best one."""
    findings: tuple[GuardFinding, ...] = ()
    """What guards found in the chosen node with the help of the grade."""


async def write_run_files(run: EndedRun, final: FinalSubmission, graded: GradedRun, worker: Worker) -> RunResult:
    """Write all files of an ended run into its folder, over those of an earlier end; returns the content of result.json."""
    context, folder = run.context, run.folder
    write_lines(folder.events, context.store.export_events(context.run_id))
    write_lines(folder.prompts, calls(context.store, context.run_id))
    length = write_solution(context, final, folder.solution)
    result = await _result(run, final, graded, worker)
    if result.valid_submission and result.substitute is None:
        result = result.model_copy(update={"code_length": length or None})
    write_result(folder, result)  # the page is made from it
    context.say("writing the report")
    page_error = None
    try:
        with run.stopwatch.measure("report"):
            await worker.call("bot.report.page:write_report", object, None, folder.path, folder.database)
    except BotError as error:  # a page that cannot be drawn must not cost the result
        page_error = str(error)
        context.say(f"cannot write report.html: {error}")
    with context.store.read() as session:
        record = RunRecord.load(session, context.run_id)
        times = _times(run, record, result.valid_nodes)  # as making the page took time
    result = result.model_copy(update={"report_error": page_error, **times})
    write_result(folder, result)
    return result


async def write_so_far(run: EndedRun, final: FinalSubmission, graded: GradedRun) -> None:
    """Draw the page of an ongoing run, in a process of its own: the run's worker is needed for scores.

    Raises InfrastructureFailure: the page cannot be drawn; OSError: it cannot be written.
    """
    folder = run.folder
    async with aclosing(Worker()) as worker:
        write_result(folder, await _result(run, final, graded, worker))
        await worker.call("bot.report.page:write_report", object, None, folder.path, folder.database)


async def _result(ended_run: EndedRun, final: FinalSubmission, graded: GradedRun, worker: Worker) -> RunResult:
    """Return the content of result.json; wall time and overhead are those until now."""
    context, node = ended_run.context, final.node
    with ended_run.stopwatch.measure("evaluation"):
        interval, interval_note = await expected_interval(context, final, worker)
        simple = await compare_with_simple(context, node, graded.nodes)
        diagnostics = await diagnose(context, node, worker)
    with context.store.read() as session:
        record = RunRecord.load(session, context.run_id)
        tree = load_tree(context)
        run, executions, scripts = record.row, record.executions, record.scripts
        grade = graded.grade.model_dump()
        hidden = None if grade.get("score_kind") == "public" else graded.grade.score
        valid = [script for script in scripts if script.status == "valid"]
        ended_scripts = [script for script in scripts if script.status != "running"]
        totals, budget, times = context.asker.totals, context.budget, _times(ended_run, record, len(valid))
        share_done = share(len(scripts), budget.steps, times["wall_seconds"], budget.seconds)
        seconds = [record.seconds(script.ended_at) for script in valid if script.ended_at]
        bold, finished = final.risky_pick, ended_run.status == "finished"
        holdout = _hidden(graded, node) if final.source == "refit" else None
        lost = None if hidden is None or holdout is None else context.card.oriented(holdout - hidden)
        new_bests = gains(record, graded.nodes, {candidate.id for candidate in tree.candidates()})
        engines = {node.id for node in tree.nodes if node.baseline}
        engines |= {e.node for e in experiments_in(session, run.id) if e.note == PLAIN_NOTE}
        late_findings = tuple(NodeFinding(**asdict(finding), node=node) for finding in graded.findings)
        return RunResult(
            **grade,
            run_id=run.id,
            own_data=bool(run.config.get("own_data")),
            agent=run.agent,
            variant=ended_run.variant,
            model=run.model,
            seed=run.seed,
            cutoff=run.cutoff,
            cutoff_note=cutoff_note(run.cutoff, context.card.deadline),
            pace="live" if run.cutoff is None else run.config["pace"],
            stream=stream_record(context, record),
            signals=run.signals,
            community=None if context.community is None else asdict(context.community.counts()),
            knowledge=_knowledge(context, record),
            dated_at_deadline=None if context.community is None else ended_run.dated_at_deadline,
            suspicious=suspicious_posts(context, record),
            public_kernels=kernel_figures(context),
            no_more_kernels=why_no_more(context),
            notes=None if context.community is None else _notes(context),
            isolation=ended_run.sandbox.isolation,
            sandbox=ended_run.sandbox.name,
            status=ended_run.status,
            stopped_by=ended_run.stopped_by,
            misconfigured=ended_run.misconfigured,
            no_answer=None if context.asker.usefulness is None else context.asker.usefulness.none_used,
            chosen_node=node,
            prediction_source=final.source,
            prediction_note=final.note,
            conservative_pick=None if node is None or final.source is None else _final_file(tree[node], hidden),
            risky_pick=None if bold is None else _final_file(tree[bold], _hidden(graded, bold)),
            baseline_submitted=final.source is not None
            and node is not None
            and engines.issuperset(tree.scripts_of(node)),
            self_reported=context.executor.self_reported,
            validation_score=None if node is None else tree[node].score,
            validation_interval=interval,
            validation_interval_note=interval_note,
            score_in_interval=None if interval is None or hidden is None else interval[0] <= hidden <= interval[1],
            guards=(*findings_of_run(context, node), *late_findings),
            simple_models=simple,
            diagnostics=diagnostics,
            # A run that was stopped may be resumed, and must not know it then.
            final_score=context.executor.final_score(node) if node is not None and finished else None,
            blend=_blend(context, tree, final.node),
            nodes=len(scripts),
            valid_nodes=len(valid),
            executions=len(executions),
            **times,
            time_limit=None if run.cutoff is None else budget.seconds,
            bot_peak_memory_bytes=peak_memory(),
            budget=figures(context.spending, share_done),
            llm=totals,
            roles=by_role(record),
            exit_reasons=dict(Counter(execution.reason for execution in executions if execution.reason).most_common()),
            seconds_to_first_valid=round(min(seconds), 3) if seconds else None,
            failed_share=_ratio(sum(script.status != "valid" for script in ended_scripts), len(ended_scripts)),
            timed_out_share=_ratio(sum(e.reason == ExitReason.TIMED_OUT for e in executions), len(executions)),
            tokens_per_valid_node=_ratio(totals.new_tokens, len(valid)),
            **figures_of(new_bests, graded.grade, times["wall_seconds"]),
            rank_correlation=graded.rank_correlation,
            selection=selection_of(context) if finished else None,
            selection_regret=graded.selection_regret,
            refit_regret=lost,
            hidden_scores={id: score.score for id, score in graded.nodes.items()},
        )


def _final_file(node: NodeView, hidden: float | None) -> FinalFile:
    return FinalFile(node=node.id, validation=node.score, hidden=hidden)


def _hidden(graded: GradedRun, node: int | None) -> float | None:
    """Return the score of a node's hold-out run's file."""
    return None if node is None or node not in graded.nodes else graded.nodes[node].score


def _blend(context: RunContext, tree: Tree, submitted: int | None) -> BlendFigures | None:
    nodes = [ensemble.id for ensemble in tree.ensembles if ensemble.valid]
    node = submitted if submitted in nodes else max(nodes, default=None)
    blended = None if node is None else blend_of(context.store, context.run_id, node)
    if node is None or blended is None:
        return None
    recipe, score, gain = blended.recipe, blended.score, blended.score.gain
    return BlendFigures(
        node=node,
        weights=recipe.weights,
        space=recipe.space,
        score=score.value,
        noise=score.std_error,
        gain=None if gain is None else gain.value,
        gain_error=None if gain is None else gain.std_error,
    )


def _times(ended_run: EndedRun, run: RunRecord, valid: int) -> dict[str, Any]:
    """Return how the time was spent until now, under the names of `RunResult`.

    A live run lasts as long as its competition, over any number of starts of the bot: its wall time is the clock's since it
    began, and times that were not measured throughout are left out.
    """
    watch = ended_run.stopwatch
    if run.row.cutoff is None:
        spans = {"wall": (ended_run.context.clock.now() - run.row.created_at).total_seconds()}
        training = sum(execution.seconds or 0.0 for execution in run.executions)
    else:
        spans, training = {"wall": watch.wall(), "overhead": watch.overhead()}, watch.training()
        spans |= {"waiting": watch.seconds_of("waiting"), "session": watch.seconds_of("sessions")}
    wall = spans["wall"]
    return {
        **{f"{name}_seconds": round(span, 3) for name, span in spans.items()},
        "training_share": _ratio(training, wall),
        "valid_nodes_per_hour": _ratio(3600 * valid, wall),
    }


def _ratio(part: float, total: float) -> float | None:
    """Return a share to four digits; None if the total is zero."""
    return round(part / total, 4) if total > 0 else None


def _notes(context: RunContext) -> NotesRead | None:
    """Return what came of the owner's notes as of the clock, None if there were none."""
    with context.store.read() as session:
        notes = notes_of(session, context.card.slug)
    if notes is None:
        return None
    dated = [time for time in notes.times if time is not None]
    undated, later = len(notes.times) - len(dated), sum(time > context.clock.as_of() for time in dated)
    return NotesRead(read=len(notes.times), undated=undated, later=later, left_out=tuple(notes.problems))


def _knowledge(context: RunContext, run: RunRecord) -> KnowledgeFigures:
    entries = [entry for event in run.events(KNOWLEDGE_SHOWN) for entry in event.data["entries"]]
    known_at = {entry["id"]: datetime.fromisoformat(entry["known_at"]) for entry in entries}
    as_of = context.clock.as_of()
    return KnowledgeFigures(
        shown="none" if context.knowledge is None else context.knowledge.mode,
        entries=tuple(sorted(id.partition("/")[2] for id in known_at)),
        younger=sum(time > as_of for time in known_at.values()),
    )


def peak_memory() -> int:
    """Return this process's peak resident memory so far in bytes, without its children's."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
