"""The share of a run's time and tokens that reading, ideas and plans may use; most of both is for building."""

from dataclasses import dataclass

from sqlmodel import col, select

from bot.budgets.kinds import Kind
from bot.community.settings import ReadingSettings
from bot.engine.context import RunContext
from state.tables import Event, LedgerEntry

_ROLES = ("analyst", "proposer", "coordinator")
"""The roles that read posts, keep the pool of ideas and plan drafts."""
USED_UP = "reading.used_up"
"""Type of the event, at most one per run, that the allowance is used up."""
_LEAST_TOKENS = 1_500
"""Tokens of a call that reads one short document."""
_FIRST = 1.5
"""Tokens of a first batch and of the ideas from it, as a multiple of the batch's."""
_LEAST_FIRST = 4_000
_TOKENS_PER_MINUTE = 900
"""Expected use of a lab, as measured in runs of 45 minutes."""
_LATE_SECONDS, _LATE_SHARE = 600.0, 0.2
"""Nothing is read in the last seconds of a run, or in a short run's last share."""
_FREE = "builtin"
"""The model whose tokens cost nothing."""


@dataclass(frozen=True)
class ReadingAllowance:
    """What remains for reading posts, for ideas and for plans together."""

    tokens: float
    """New ones: sent and not cached, or received."""
    seconds: float
    is_late: bool
    """Whether the run ends too soon to use what is read."""

    @property
    def is_used_up(self) -> bool:
        """Whether nothing more is read."""
        return self.is_late or self.tokens < _LEAST_TOKENS or self.seconds <= 0


def allowance(context: RunContext) -> ReadingAllowance:
    """Return what remains of the share of a run's time and tokens that `ReadingSettings.share` allows.

    It is a share of the tokens used so far, as few runs come near their cap, or at first of the expected tokens; a share of 1
    means no limit. Nothing is read in a run's last minutes, as it could not be used any more.
    """
    settings = context.settings_of(ReadingSettings)
    with context.store.read() as session:
        query = select(LedgerEntry).where(
            LedgerEntry.run_id == context.run_id, LedgerEntry.kind == "tokens", col(LedgerEntry.role).in_(_ROLES)
        )
        calls = session.exec(query).all()
    tokens = sum(call.prompt_tokens - call.cached_tokens + call.completion_tokens for call in calls)
    expected = settings.share * _TOKENS_PER_MINUTE * context.budget.seconds / 60
    first = min(_FIRST * settings.first_tokens, max(_LEAST_FIRST, expected))
    limits = [max(context.asker.totals.new_tokens, first / (settings.share or 1.0))]
    used_tokens = context.spending.amount_spent(Kind.TOKENS)
    for level in context.spending.levels:
        if (cap := level.caps.cap_of(Kind.TOKENS)) is not None:
            limits.append(used_tokens + max(0.0, cap - level.amount_spent(Kind.TOKENS)))
    spans = [(call.at.timestamp() - (call.seconds or 0.0), call.at.timestamp()) for call in calls]
    return ReadingAllowance(
        tokens=float("inf")
        if context.model_name == _FREE or settings.share == 1
        else settings.share * min(limits) - tokens,
        seconds=settings.share * context.budget.seconds - covered(spans),
        is_late=context.budget.seconds_left() < min(_LATE_SECONDS, _LATE_SHARE * context.budget.seconds),
    )


def covered(spans: list[tuple[float, float]]) -> float:
    """Return the seconds that spans cover together; parallel calls count once."""
    total, until = 0.0, float("-inf")
    for begin, end in sorted(spans):
        total += max(0.0, end - max(begin, until))
        until = max(until, end)
    return total


def may_read(context: RunContext) -> bool:
    """Return whether something of the allowance remains; if not, report it, once per run."""
    remaining = allowance(context)
    if not remaining.is_used_up:
        return True
    share = context.settings_of(ReadingSettings).share
    reason = (
        "the run is about to end" if remaining.is_late else f"reading and planning have used {share:.0%} of the run"
    )
    sentence = f"the model reads no more posts: {reason}"
    with context.store.write() as tx:
        query = select(Event.id).where(Event.run_id == context.run_id, Event.type == USED_UP)
        if tx.session.exec(query).first() is None:
            tx.record(USED_UP, run_id=context.run_id, sentence=sentence)
            context.say(sentence)
    return False
