"""After a replay's search: what was handed in, and every node, is graded against the hidden test."""

from pathlib import Path
from typing import Any

from bot.engine.attempts import load_tree
from bot.evaluation.grading.leaderboard import read_leaderboard
from bot.evaluation.guards.beyond_board import board_finding
from bot.evaluation.guards.findings import Finding
from bot.evaluation.worker import Worker
from bot.report.finish import leave
from bot.report.result import Ended, Graded, NodeScore
from bot.submission.handing_in import HandedIn
from scrapers.snapshots.card import TaskCard

__all__ = ["finish"]


async def finish(ended: Ended, handed: HandedIn, snapshot: Path, worker: Worker) -> dict[str, Any]:
    """Grade, export and report; returns the content of result.json.

    The hidden test is touched here for the first time in a run, once nothing of it can flow back.
    """
    ended.context.say("grading")
    with ended.stopwatch.measure("grading"):
        graded = await _grade(ended, handed, snapshot, worker)
    return await leave(ended, handed, graded, worker)


async def _grade(ended: Ended, handed: HandedIn, snapshot: Path, worker: Worker) -> Graded:
    context = ended.context
    card = context.card.model_dump(mode="json")
    report = await worker.call(
        "grade", snapshot_dir=str(snapshot), card=card, submission_path=str(ended.folder.submission)
    )
    valid = load_tree(context).valid()
    # What a failed script left behind is no result, though it may look like one (a copy of the sample submission).
    files = {node.id: context.executor.submission_of(node.id, "holdout") for node in valid}
    hidden = await worker.call(
        "grade_nodes",
        snapshot_dir=str(snapshot),
        card=card,
        files={str(node): str(file) for node, file in files.items() if file.is_file()},
        # The tree orients scores; turned once more they are the metric's own, as the hidden ones are.
        validation={str(node.id): context.card.oriented(node.score) for node in valid if node.score is not None},
    )
    return Graded(
        report=report,
        nodes={int(node): NodeScore(found["score"], found["win_rate"]) for node, found in hidden["nodes"].items()},
        rank_correlation=hidden["rank_correlation"],
        # Between hold-out runs, so that like is compared with like; a refit is not counted in.
        selection_regret=hidden["regret"].get(str(handed.node)),
        findings=_beside_the_board(report["score"], snapshot, context.card),
    )


def _beside_the_board(score: float | None, snapshot: Path, card: TaskCard) -> tuple[Finding, ...]:
    """Compare with the real leaderboard, now that the run is over."""
    return () if score is None else (board_finding(score, read_leaderboard(snapshot / "leaderboard.csv"), card),)
