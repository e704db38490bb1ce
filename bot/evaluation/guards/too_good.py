"""Too good to be true: a score far beyond all others, or a perfect one."""

from bot.evaluation.answers import OtherNode
from bot.evaluation.answers.board import beyond_board
from bot.evaluation.answers.findings import Finding, passed, suspicious
from bot.evaluation.guards.traces import Traces

LEFT = 0.05
"""Share of what the best other node leaves unexplained; a node that leaves less has found something hidden from the others."""
HARD = 0.1
"""Share that the best other node leaves unexplained at least, or the task is so easy that a perfect score may be honest."""
ERRORS = 6.0
"""Standard errors of the difference that must be exceeded."""
PERFECT = 1e-6
"""Share left unexplained that is none."""
ROWS = 100
"""Validation rows, on fewer of which a perfect score may be luck."""


def too_good(guard: str, traces: Traces) -> Finding:
    """Compare with the best earlier node, and with the leaderboard if that may be known.

    Without either only a perfect score is doubted. All comparisons use the share of a blind guess's errors that remain, so
    that they are the same for every metric.
    """
    own = traces.unexplained(traces.score)
    if own is None:
        return passed(guard, "a blind guess is as good as the labels, so that no score is too good")
    best = max(traces.others, key=lambda other: traces.oriented(other.score), default=None)
    found = _beyond_board(guard, traces, own) or (
        _beyond_others(guard, traces, own, best) if best else _perfect(guard, traces, own)
    )
    if found is not None:
        return found
    sentence = f"{own:.1%} of what a blind guess gets wrong is still wrong"
    return passed(guard, sentence, unexplained=round(own, 6), blind=traces.blind, score_error=traces.error)


def _beyond_others(guard: str, traces: Traces, own: float, best: OtherNode) -> Finding | None:
    theirs = traces.unexplained(best.score)
    if theirs is None or theirs < HARD or own > LEFT * theirs:
        return None
    noise = traces.noise(best.predictions) or 0.0
    gain = traces.oriented(traces.score) - traces.oriented(best.score)
    if gain <= ERRORS * noise:
        return None
    sentence = (
        f"{own:.2%} of what a blind guess gets wrong is still wrong, where the best before it, node {best.node}, left "
        f"{theirs:.0%}; the gain of {gain:.3g} is more than {ERRORS:g} standard errors of {noise:.2g}"
    )
    return suspicious(guard, sentence, unexplained=round(own, 6), best_other=round(theirs, 6), noise=noise)


def _perfect(guard: str, traces: Traces, own: float) -> Finding | None:
    if own > PERFECT or len(traces.ids) < ROWS:
        return None
    if traces.board and traces.unexplained(traces.board[:10][-1]) == 0:
        return None
    sentence = (
        f"the score of {traces.score:.6g} is perfect on {len(traces.ids)} rows, and there is none to compare it with"
    )
    return suspicious(guard, sentence, unexplained=round(own, 6))


def _beyond_board(guard: str, traces: Traces, own: float) -> Finding | None:
    sentence = beyond_board(traces.score, traces.board, traces.view.card, ERRORS * (traces.error or 0.0))
    return None if sentence is None else suspicious(guard, sentence, unexplained=round(own, 6), noise=traces.error)
