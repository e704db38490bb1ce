"""After a run: the hidden score of every node, and how well the validation scores ordered them."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from bot.evaluation.answers import HiddenScore, HiddenScores
from bot.evaluation.grading.grade import open_hidden_test
from bot.evaluation.metrics.ranks import spearman
from scrapers.snapshots.card import TaskCard
from state.errors import InvalidSubmission


def grade_nodes(
    snapshot_dir: Path, card: TaskCard, files: Mapping[int, Path], validation: Mapping[int, float]
) -> HiddenScores:
    """Grade every node's submission.

    Args:
        snapshot_dir: the snapshot.
        card: the task.
        files: submission by node.
        validation: validation score by node, in the metric's own sign; nodes without one are
            graded but not compared.

    Raises:
        SnapshotError: the snapshot cannot be graded against.
        UsageError: the card's metric is not known.
    """
    nodes: dict[int, HiddenScore] = {}
    scores: dict[int, float] = {}
    with closing(open_hidden_test(snapshot_dir, card)) as test:
        for node, path in files.items():
            try:
                score = test.score(path)
            except InvalidSubmission as error:
                nodes[node] = HiddenScore(None, 0.0, str(error))
                continue
            scores[node] = score
            nodes[node] = HiddenScore(score, test.standing(score).win_rate)
    best = max(scores, key=lambda node: card.oriented(scores[node]), default=None)
    both = [node for node in scores if node in validation]
    return HiddenScores(
        nodes=nodes,
        rank_correlation=rank_correlation([validation[n] for n in both], [scores[n] for n in both]),
        compared=len(both),
        best_node=best,
        regret={} if best is None else {node: abs(scores[best] - score) for node, score in scores.items()},
    )


def rank_correlation(validation: list[float], hidden: list[float]) -> float | None:
    """Return Spearman's correlation of two scores of the same items; None if one side has only one value.

    Both are as the metric gives them, so that +1 means that they order alike.
    """
    if len(set(validation)) < 2 or len(set(hidden)) < 2:
        return None
    return spearman(validation, hidden)
