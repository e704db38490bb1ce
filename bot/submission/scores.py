"""Public scores of what was sent, their correlation with our own scores, and which files to select."""

import asyncio
import math
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlmodel import Session

from bot.engine.context import RunContext
from bot.execution.record import kept_execution
from bot.leaderboard.board import number
from bot.notify import Notice
from bot.notify.outbox import notify
from bot.submission.exactly_once import ExactlyOnce, OnChange
from bot.submission.facts import Reviewer, SubmissionState
from state.errors import KaggleError, SiteUnavailable, SubmissionRefused
from state.polling import watermark
from state.series import last_reading
from state.submissions import advance_submission, chosen_final, update_submission
from state.tables import Node, Reading, Submission

_PROPOSED = timedelta(days=2)
"""A selection is proposed from this long before the deadline."""
_FINAL_SUBMISSIONS = 2
"""Submissions that count in the end."""
_POLLED_WITHIN = timedelta(hours=2)
"""A list of submissions that was read within this time counts as polled regularly."""
_FEWEST = 6
"""Fewest pairs for a warning: with fewer, any correlation may be chance."""
_FLOOR = 0.3
"""Rank correlation below which validation scores do not predict the board."""
_FIRST_PAUSE, _LONGEST_PAUSE = timedelta(seconds=5), timedelta(minutes=10)


@dataclass(frozen=True)
class ScorePair:
    """One submission's two scores, in the metric's own sign."""

    tag: str
    validation: float
    public: float


@dataclass(frozen=True)
class Choice:
    """One submission proposed as final."""

    tag: str
    node: int
    public_score: float | None
    validation_score: float | None


@dataclass(frozen=True)
class ScoreCorrelation:
    """How validation and public scores correlate."""

    pairs: int
    correlation: float | None
    """Spearman's, ties at their mean rank; None for fewer than two pairs, or if one side is constant."""
    warning: str | None
    """None: there is nothing to warn of."""


class PublicScores:
    """Follows up the submissions of one live run."""

    def __init__(
        self, context: RunContext, reviewer: Reviewer, once: ExactlyOnce, on_change: OnChange, address: str
    ) -> None:
        """Read the scores of one run; at the `address` the owner selects the final submissions."""
        self._address = address
        self._context, self._reviewer, self._once, self._on_change = context, reviewer, once, on_change
        self._settling = asyncio.Lock()
        self._asked: dict[str, tuple[datetime, timedelta]] = {}

    async def settle(self) -> None:
        """Record new public scores, and files that the site found invalid; reads polls before it asks the site."""
        async with self._settling:
            state = self._reviewer.state()
            for row in (*state.earlier, *state.rows_on_site):
                if row.status != "confirmed" or row.score is not None or row.ref is None:
                    continue
                reading, is_fresh = self._read(row.ref)
                if reading is not None and self._take(row, reading):
                    continue
                if is_fresh or row.run_id != self._context.run_id or not self._may_ask(row.id):
                    continue
                try:
                    await self._once.score(row.id)
                except SubmissionRefused as error:
                    self._context.say(f"{row.tag} is invalid: {error}")
                except (SiteUnavailable, KaggleError) as error:
                    self._context.say(f"{row.tag} has no score yet: {error}")

    def _read(self, ref: str) -> tuple[Reading | None, bool]:
        """Return a submission's entry in the site's list, and whether that list is polled."""
        slug, now = self._context.card.slug, self._context.clock.now()
        with self._context.store.read() as session:
            time = watermark(session, slug, "submissions").at
            return last_reading(session, slug, "submission", ref), time is not None and now - time < _POLLED_WITHIN

    def _take(self, row: Submission, reading: Reading) -> bool:
        """Record what a reading shows; return whether that settles the submission."""
        status, score = reading.data.get("status"), number(reading.data.get("public_score"))
        if status == "ERROR":
            words = str(reading.data.get("error_description") or "invalid file; the site gave no reason")
            with self._context.store.write() as tx:
                self._on_change(tx, advance_submission(tx, row.run_id, row.id, "refused", message=words))
            return True
        if status != "COMPLETE" or score is None:
            return False
        with self._context.store.write() as tx:
            self._on_change(tx, update_submission(tx, row.run_id, row.id, score=score))
        return True

    def _may_ask(self, id: str) -> bool:
        """Return whether the site may be asked again: at first after seconds, later after minutes."""
        now = self._context.clock.now()
        due, pause = self._asked.get(id, (now, _FIRST_PAUSE))
        if now < due:
            return False
        self._asked[id] = (now + pause, min(pause * 1.5, _LONGEST_PAUSE))
        return True

    def pairs(self) -> list[ScorePair]:
        """Return the two scores of each submission that has both, earliest first."""
        with self._context.store.read() as session:
            nodes = [(row, session.get(Node, (row.run_id, row.node))) for row in self._reviewer.state().rows_on_site]
        return [
            ScorePair(row.tag, node.score, row.score)
            for row, node in nodes
            if row.score is not None and node is not None and node.score is not None
        ]

    def check_correlation(self) -> ScoreCorrelation:
        """Return how the two scores correlate; the owner is warned once if they do not."""
        context, result = self._context, correlate(self.pairs())
        if result.warning is not None:
            facts = {"run": context.run_id, "pairs": result.pairs, "why": result.warning}
            data: dict[str, Any] = {"pairs": result.pairs, "correlation": result.correlation, "reason": result.warning}
            with context.store.write() as tx:
                if notify(tx, Notice("submission.disagree", context.card.slug, facts), context.run_id):
                    tx.record("submission.relation_broken", run_id=context.run_id, **data)
        return result

    def propose(self) -> None:
        """Propose the final files to the owner in the last days before the deadline, and again when they change."""
        context, state = self._context, self._reviewer.state()
        now = context.clock.now()
        if state.deadline is None or not state.deadline - _PROPOSED <= now < state.deadline:
            return
        choices = self._choices(state)
        if not choices:
            return
        facts = {
            "choices": [asdict(choice) for choice in choices],
            # Other scores of the same submissions are no news.
            "tags": ", ".join(sorted(choice.tag for choice in choices)),
            "deadline": state.deadline,
            "url": self._address,
        }
        with context.store.write() as tx:
            if notify(tx, Notice("selection.proposed", context.card.slug, facts), context.run_id):
                tx.record("selection.proposed", run_id=context.run_id, tags=[choice.tag for choice in choices])

    def counting(self) -> set[str]:
        """Return the hashes of the two files that would be proposed now; empty while they have no public scores."""
        state = self._reviewer.state()
        tags = {choice.tag for choice in self._choices(state) if choice.public_score is not None}
        files = {str(row.file_sha) for row in (*state.earlier, *state.rows) if row.tag in tags}
        return files if len(files) == _FINAL_SUBMISSIONS else set()

    def _choices(self, state: SubmissionState) -> list[Choice]:
        rows = (*state.earlier, *state.rows)
        confirmed = {row.file_sha: row for row in rows if row.status == "confirmed"}
        with self._context.store.read() as session:
            # Another run's validation scores may not be comparable; its public scores are.
            nodes = {row.node: session.get(Node, (row.run_id, row.node)) for row in state.rows}
            errors = {row.tag: _score_error(session, row) for row in state.rows}
            chosen_tags = chosen_final(session, self._context.run_id)
        choices = []
        for row in confirmed.values():
            node = nodes[row.node] if row.run_id == self._context.run_id else None
            choices.append(Choice(row.tag, row.node, row.score, None if node is None else node.score))
        proposed = choose(choices, errors, lower_is_better=self._context.card.lower_is_better)
        chosen_by_owner = [choice for choice in choices if choice.tag in chosen_tags]
        return [*chosen_by_owner, *(c for c in proposed if c.tag not in chosen_tags)][:_FINAL_SUBMISSIONS]


def correlate(pairs: Sequence[ScorePair]) -> ScoreCorrelation:
    """Correlate the scores of all pairs."""
    correlation = _rank_correlation([pair.validation for pair in pairs], [pair.public for pair in pairs])
    warning = None
    if len(pairs) >= _FEWEST and (correlation is None or correlation < _FLOOR):
        correlation_words = "no rank correlation" if correlation is None else f"a rank correlation of {correlation:.2f}"
        warning = (
            f"the validation and public scores of {len(pairs)} submissions have {correlation_words} (expected: at least "
            f"{_FLOOR:g}): a better validation score may not mean a better public score, and a shake-up is likely"
        )
    return ScoreCorrelation(len(pairs), correlation, warning)


def _rank_correlation(first: Sequence[float], right: Sequence[float]) -> float | None:
    """Return Spearman's correlation; without numpy, which the bot's own process never loads."""
    try:
        return statistics.correlation(_mean_ranks(first), _mean_ranks(right))
    except statistics.StatisticsError:
        return None


def _mean_ranks(values: Sequence[float]) -> list[float]:
    sorted_values = sorted(values)
    return [(bisect_left(sorted_values, value) + bisect_right(sorted_values, value)) / 2 for value in values]


def _score_error(session: Session, row: Submission) -> float:
    """Return the standard error of a validation score; 0 if it is not known."""
    execution = kept_execution(session, row.run_id, row.node)
    return 0.0 if execution is None or execution.score is None else execution.score.std_error or 0.0


def choose(choices: Sequence[Choice], errors: Mapping[str, float], *, lower_is_better: bool) -> list[Choice]:
    """Return which submissions to select, the conservative pick and the risky pick.

    The conservative pick is the best by public score, or where there is none by validation score less its standard error
    (`errors`, by tag); the risky pick is, of the others, the best by validation score plus its standard error.
    """
    sign = -1.0 if lower_is_better else 1.0

    def worth(score: float | None) -> float:
        return -math.inf if score is None else sign * score

    def validated(choice: Choice, errors_added: int) -> float:
        return worth(choice.validation_score) + errors_added * errors.get(choice.tag, 0.0)

    public = any(choice.public_score is not None for choice in choices)
    safe = max(choices, key=lambda c: worth(c.public_score) if public else validated(c, -1), default=None)
    riskier = sorted((choice for choice in choices if choice is not safe), key=lambda choice: -validated(choice, 1))
    return [choice for choice in (safe, *riskier) if choice is not None][:_FINAL_SUBMISSIONS]
