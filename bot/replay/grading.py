"""Grading after a replay's search: the submission and every node, on the hidden test."""

from dataclasses import replace
from pathlib import Path

from bot.agents.builtin.config import CONSTANT
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.evaluation.answers import GradeReport
from bot.evaluation.answers.board import board_finding, read_leaderboard
from bot.evaluation.answers.findings import distinct_figures
from bot.evaluation.client.worker import Worker
from bot.execution.guarding import node_findings
from bot.execution.record import GUARDED
from bot.report.confidence import simple_nodes
from bot.report.result import RunResult
from bot.report.run_files import EndedRun, GradedRun, write_run_files, write_so_far
from bot.submission.final_submission import FinalSubmission
from scrapers.snapshots.answers import ANSWERS
from scrapers.snapshots.leaderboard import LEADERBOARD


async def grade_and_report(
    run: EndedRun, submission: FinalSubmission, snapshot: Path, worker: Worker, *, force: bool = False
) -> RunResult:
    """Grade the run and write its files; returns the content of result.json.

    A result on own data that a constant beats, on validation or on withheld rows, is taken back unless `force` says otherwise.
    This is the run's first use of the hidden test; the search has ended, so that nothing can leak into it.
    """
    run.context.say("grading")
    with run.stopwatch.measure("grading"):
        graded = await _grade(run, submission, snapshot, worker)
        if not force and (reason := _worse_than_constant(run.context, submission, graded)):
            run.folder.submission.unlink(missing_ok=True)
            note = f"{reason}; use --force to write it, or a longer --time"
            submission = replace(submission, source=None, risky_pick=None, note=note)
            graded = GradedRun(_ungraded(run, 0), graded.nodes)
    return await write_run_files(run, submission, graded, worker)


def _worse_than_constant(context: RunContext, submission: FinalSubmission, graded: GradedRun) -> str | None:
    """Return in a clause that a constant is better than the result, or as good; None if it is not, as far as is known."""
    if not context.own_data or submission.node is None or submission.source is None:
        return None
    findings = node_findings(context.store, context.run_id, submission.node)
    if any(finding.guard == "constant" and finding.is_doubt for finding in findings):
        return "the result is a constant: no model was fitted in time"
    constant = next((node for node, name in simple_nodes(context).items() if name == CONSTANT), None)
    if constant is None:
        return None
    tree, constant_hidden = load_tree(context), graded.nodes.get(constant)
    pairs = [("validation rows", tree[submission.node].score, tree[constant].score)]
    pairs += [("withheld rows", graded.grade.score, None if constant_hidden is None else constant_hidden.score)]
    for rows, score, constant_score in pairs:
        if score is None or constant_score is None:
            continue
        if context.card.oriented(score) < context.card.oriented(constant_score):
            words, constant_words = distinct_figures(score, constant_score, 5)
            return f"the result scores {words} on {rows}, worse than a constant ({constant_words})"
    return None


async def report_so_far(run: EndedRun, teams: int) -> None:
    """Write the page of a run with the status `running`; nothing is graded before its end."""
    best = load_tree(run.context).best_candidate()
    submission = FinalSubmission(None if best is None else best.id, None, "the run continues")
    await write_so_far(run, submission, GradedRun(_ungraded(run, teams)))


def _ungraded(run: EndedRun, teams: int) -> GradeReport:
    card = run.context.card
    return GradeReport(
        competition_id=card.slug,
        score=None,
        gold_threshold=None,
        silver_threshold=None,
        bronze_threshold=None,
        median_threshold=None,
        any_medal=False,
        gold_medal=False,
        silver_medal=False,
        bronze_medal=False,
        above_median=False,
        submission_exists=False,
        valid_submission=False,
        is_lower_better=card.lower_is_better,
        created_at=run.context.clock.now().isoformat(),
        submission_path="None",
        win_rate=0.0,
        n_teams=teams,
        grader="registry" if run.context.executor.settings.grader is None else "competition",
    )


async def _grade(run: EndedRun, submission: FinalSubmission, snapshot: Path, worker: Worker) -> GradedRun:
    context = run.context
    if not (snapshot / ANSWERS).is_file():  # one's own data
        exists = run.folder.submission.is_file()
        facts = {"submission_exists": exists, "valid_submission": exists and submission.source is not None}
        return GradedRun(_ungraded(run, 0).model_copy(update={**facts, "submission_path": str(run.folder.submission)}))
    grade = await worker.grade(snapshot, context.card, run.folder.submission)
    valid = load_tree(context).complete_nodes()
    # A failed script's file does not count, though it may look like a result (a copy of the sample submission).
    files = {node.id: context.executor.submission_of(node.id, GUARDED) for node in valid}
    hidden = await worker.grade_nodes(
        snapshot,
        context.card,
        {node: file for node, file in files.items() if file.is_file()},
        {node.id: node.score for node in valid if node.score is not None},
    )
    board = read_leaderboard(snapshot / LEADERBOARD) if (snapshot / LEADERBOARD).exists() else ()
    return GradedRun(
        grade=grade,
        nodes=hidden.nodes,
        rank_correlation=hidden.rank_correlation,
        # Between hold-out runs, which are comparable; a refit is not.
        selection_regret=None if submission.node is None else hidden.regret.get(submission.node),
        # The real leaderboard may be used now that the run is over.
        findings=() if grade.score is None or not board else (board_finding(grade.score, board, context.card),),
    )
