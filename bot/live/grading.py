"""The end of a live run: the leaderboard takes the place of a hidden test, and the run's files are written."""

import shutil
from pathlib import Path
from typing import get_args

from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.evaluation.answers import HiddenScore
from bot.evaluation.client.worker import Worker
from bot.leaderboard.rank import read_leaderboard
from bot.leaderboard.verdict import LeaderboardResult, entries_of
from bot.report.result import LiveGrade, RunResult
from bot.report.run_files import EndedRun, GradedRun, write_run_files, write_so_far
from bot.submission.final_submission import FinalSubmission
from bot.submission.refit import PredictionSource
from state.files import replacing


async def grade_live_run(ended_run: EndedRun, files: Path, worker: Worker) -> RunResult:
    """Write result.json, report.html and all else that a run leaves, from what was polled; returns the result.

    It may be called again, before the end and after it, and rewrites everything: once private scores and the board
    that ranks by them were polled, the result rests on these, and its `score_kind` is `private`. `files` is the folder of
    what was sent, `<sha256>.csv` each.

    Raises:
        InfrastructureFailure: the worker process failed; only a page that cannot be drawn is passed over.
        OSError: the files cannot be written.
    """
    final, graded = await _graded(ended_run, files, worker)
    return await write_run_files(ended_run, final, graded, worker)


async def report_live_so_far(ended_run: EndedRun, files: Path, worker: Worker) -> None:
    """Write the page of a run that goes on; arguments and errors as of `grade_live_run`."""
    await write_so_far(ended_run, *await _graded(ended_run, files, worker))


async def _graded(ended_run: EndedRun, files: Path, worker: Worker) -> tuple[FinalSubmission, GradedRun]:
    context, card = ended_run.context, ended_run.context.card
    with context.store.read() as session:
        leaderboard = read_leaderboard(session, card.slug, context.clock.now(), lower_is_better=card.lower_is_better)
        entries = entries_of(session, context.run_id, leaderboard.submissions if leaderboard else ())
    verdict = LeaderboardResult(context.run_id, card, entries, leaderboard)
    best_entry = verdict.counting_entry
    if best_entry is not None:
        file = files / f"{best_entry.row.file_sha}.csv"
        if file.is_file():
            with replacing(ended_run.folder.submission) as partial:
                shutil.copyfile(file, partial)
    pairs = [(e.validation, e.public) for e in entries if e.validation is not None and e.public is not None]
    correlation = await worker.rank_correlation([pair[0] for pair in pairs], [pair[1] for pair in pairs])
    grade = LiveGrade(
        **verdict.report(),
        created_at=context.clock.now().isoformat(),
        submission_path=str(ended_run.folder.submission),
        # The grader of the validation scores: on the leaderboard the site itself grades.
        grader="registry" if context.executor.settings.grader is None else "competition",
    )
    nodes = {node: HiddenScore(score, beaten) for node, (score, beaten) in verdict.nodes().items()}
    return _final_submission(context, verdict), GradedRun(grade, nodes, correlation, verdict.regret())


def _final_submission(context: RunContext, verdict: LeaderboardResult) -> FinalSubmission:
    best_entry = verdict.counting_entry
    if best_entry is None:
        best = load_tree(context).best_candidate()
        if best is None:
            return FinalSubmission(None, None, "nothing was submitted, because no node has a score")
        return FinalSubmission(best.id, None, f"nothing was submitted; node {best.id} has the best validation score")
    if best_entry.row.run_id != context.run_id:
        return FinalSubmission(
            None, None, f"the submission that counts is {best_entry.row.tag} from earlier run {best_entry.row.run_id}"
        )
    source: PredictionSource = next(
        (name for name in get_args(PredictionSource) if name == best_entry.row.prediction_source), "holdout"
    )
    if verdict.score(best_entry) is None:
        reason = "is the latest"
    else:
        reason = "counts on the private leaderboard" if verdict.private else "has the best public score"
    return FinalSubmission(best_entry.row.node, source, f"submission {best_entry.row.tag}, which {reason}")
