"""After a run: the hidden score of every node, and how well the validation scores ordered them."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from bot.evaluation.grading.grade import open_hidden_test
from bot.evaluation.metrics.ranks import spearman
from scrapers.snapshots.card import TaskCard
from state.errors import InvalidSubmission


def grade_nodes(
    snapshot_dir: Path, card: TaskCard, files: Mapping[str, Path], validation: Mapping[str, float]
) -> dict[str, Any]:
    """Grade every node's submission.

    Args:
        snapshot_dir: the snapshot.
        card: the task.
        files: submission by node.
        validation: validation score by node, as the metric gives it (its sign not turned); nodes without one are
            graded but not compared.

    Returns:
        `nodes`: for each node `score` (None if invalid), `win_rate`, `message` (None or why);
        `rank_correlation`: Spearman's between validation and hidden scores, +1 if validation orders as the test does;
        None with fewer than two nodes to compare, or where one side is constant;
        `compared`: how many nodes it is over; `best_node`, `best_score`: the node with the best hidden score, for the
        regret of a selection (the first of equals; None without a valid node);
        `regret`: for each valid node, how much worse its hidden score is than the best one's (never negative).

    Raises:
        SnapshotError: the snapshot cannot be graded against.
        UsageError: the card's metric is not known.
    """
    nodes: dict[str, dict[str, Any]] = {}
    scores: dict[str, float] = {}
    with closing(open_hidden_test(snapshot_dir, card)) as test:
        for node, path in files.items():
            try:
                score = test.score(path)
            except InvalidSubmission as error:
                nodes[node] = {"score": None, "win_rate": 0.0, "message": str(error)}
                continue
            scores[node] = score
            nodes[node] = {"score": score, "win_rate": test.standing(score).win_rate, "message": None}
    best = max(scores, key=lambda node: card.oriented(scores[node]), default=None)
    both = [node for node in scores if node in validation]
    return {
        "nodes": nodes,
        "rank_correlation": rank_correlation([validation[n] for n in both], [scores[n] for n in both]),
        "compared": len(both),
        "best_node": best,
        "best_score": None if best is None else scores[best],
        "regret": {} if best is None else {node: abs(scores[best] - score) for node, score in scores.items()},
    }


def rank_correlation(validation: list[float], hidden: list[float]) -> float | None:
    """Return Spearman's correlation of two scores of the same things; None where one side holds but one value.

    Both are as the metric gives them, so that +1 means that they order alike.
    """
    if len(set(validation)) < 2 or len(set(hidden)) < 2:
        return None
    return spearman(validation, hidden)
