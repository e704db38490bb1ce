"""Submission policy: from facts alone, whether a file is sent now, held, postponed or never sent, and why."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from bot.configuration.competition import CompetitionSettings
from state.clock import midnight
from state.words import iso

MIN_GAIN_ERRORS = 1.64
"""Standard errors that a gain must exceed: one gain in twenty does by chance alone (one-sided)."""
LATE_GAIN_ERRORS = 0.67
"""The same within the last `reserved_days`, when an unused submission is lost: one gain in four does by chance."""
LARGE = 4.0
"""Standard errors of a gain that need not wait for its turn of the day."""
SIMILAR_SHARE = 0.9
"""Share of code in common with a public kernel from which a person must look at the script."""
_KEPT_SHARE = 5
"""One in so many of a day's submissions is kept for people, unless submissions_per_day is set."""
_SHARED_FROM = 2
"""Submissions a day from which there is anything to keep."""
RETRY = timedelta(hours=1)
"""Time until the next try if the noise or the quota is unknown."""

Verdict = Literal["send", "hold", "wait", "never"]
"""hold: until a person approves it; wait: until a time; never: unless the facts change."""


@dataclass(frozen=True)
class DecisionInputs:
    """Everything that a decision rests on; scores are oriented, so that higher is better."""

    now: datetime
    deadline: datetime | None
    remaining_today: int | None
    """Submissions that the site still takes today; None: any number."""
    remaining_total: int | None
    """Submissions that the site still takes in all, if that is its limit; None: no such limit."""
    sent_today: int
    """Since 00:00 UTC, including what may have been sent."""
    sent_count: int
    """In all."""
    score: float | None
    """The candidate's, on the hold-out part."""
    best_sent: float | None
    """Score of the best file sent, for a new one also of the best one waiting; None: there is none."""
    noise: float | None
    """Standard error of the difference of the two; None: unknown."""
    best_waits: bool = False
    """Whether that file is not sent yet, as one that the owner has not approved."""
    has_entered: bool | None = None
    """Whether this account takes part; None: not known yet, the submitter will ask."""
    closed: str | None = None
    """Why the site accepts no more submissions; None: it takes them."""
    rules_changed: bool = False
    """Whether the rules page has changed since the owner confirmed it."""
    rules_confirmed: bool = True
    """Whether the owner has confirmed the rules, or that there is no page of them."""
    daily: int | None = None
    """Submissions a day by the competition's field or its rules; None: unknown."""
    capped: str | None = None
    """Which cap of the budget is reached; None: none."""
    capped_today: str | None = None
    """Which cap of the budget for this day; None: none."""
    invalid: str | None = None
    """What is wrong with the file; None: nothing, or it does not exist yet."""
    copied: str | None = None
    """The public file that it copies; None: none."""
    repetition: str | None = None
    """How the same bytes were sent before, or refused by the owner; None: neither."""
    kernel_share: float = 0.0
    """Share of the script's code that is also in the public kernel most like it."""
    kernel: str | None = None
    doubts: str | None = None
    """What the guards doubt about its validation run, or could not check; None: nothing."""
    self_reported: bool = False
    """Whether scripts report their own scores: nobody has checked them, so a file is sent only at the owner's request."""
    approved: bool = False
    """Whether the owner has approved this file."""
    requested: bool = False
    """Whether the owner has asked for this node: then it needs no gain, and no turn of the day."""
    quota_known: bool = True
    """Whether the site has said how many submissions it takes."""


@dataclass(frozen=True)
class Decision:
    """What to do, and why; `until` is set for `wait`."""

    verdict: Verdict
    reason: str
    until: datetime | None = None
    of_file: bool = False
    """Whether the reason lies in the file itself, so that another node's may go."""
    trial: bool = False
    """Whether the site has not said how many files it takes, and this one shows it."""
    refusal: str | None = None
    """The site's answer, where it refused to say what the decision needs."""


def decide(facts: DecisionInputs, settings: CompetitionSettings) -> Decision:
    """Decide on one file.

    The checks in order: what forbids it, whether any submission is left, whether this file is worth one, whether it is its
    turn, and whether a person must look at it. All else equal, a larger gain is never held back where a smaller one is not.

    Left: never more than the site, `per_day` and `max_submissions` allow; `reserved_submissions` of the total
    are kept for the last `reserved_days` before the deadline. If the site has not said how many it takes, one a day is tried.

    Worth it: the first file is; any other must beat the best file sent by more than `MIN_GAIN_ERRORS` standard errors, within the
    last `reserved_days` by more than `LATE_GAIN_ERRORS`.

    Its turn: the k-th of a day's n files goes when (k - 1)/n of the day is over, or at once if its gain is above `LARGE`
    standard errors. The last day ends at the deadline.
    """
    return (
        _forbidden(facts, settings)
        or _used_up(facts, settings)
        or _not_worth_it(facts, settings)
        or _not_its_turn(facts, settings)
        or _needs_approval(facts, settings)
        or Decision("send", _worth(facts), trial=not facts.quota_known)
    )


def per_day(facts: DecisionInputs, settings: CompetitionSettings) -> int | None:
    """Return how many files may go on a day: as set, else all but a fifth of the limit, at least one, which people keep.

    What a person asks for may be among those that people keep.
    """
    if settings.submissions_per_day is not None or facts.daily is None or facts.requested or facts.daily < _SHARED_FROM:
        return settings.submissions_per_day
    return facts.daily - max(1, facts.daily // _KEPT_SHARE)


def _forbidden(facts: DecisionInputs, settings: CompetitionSettings) -> Decision | None:
    if not settings.submit:
        return Decision("never", "submitting is off: set `submit = true` in the competition's table")
    if facts.deadline is not None and facts.now >= facts.deadline:
        return Decision("never", f"the deadline was {iso(facts.deadline)}")
    if facts.closed is not None:
        return Decision("never", facts.closed)
    if facts.has_entered is False:
        return Decision("never", "you have not entered the competition: accept its rules on the website")
    if facts.rules_changed:
        return Decision("never", "the rules page has changed since you confirmed it: read it on the website")
    if not facts.rules_confirmed:
        return Decision("never", "the rules are not confirmed: run `bot approve COMPETITION --rules`")
    if facts.capped is not None:
        return Decision("never", facts.capped)
    if facts.invalid is not None:
        return Decision("never", f"the file is invalid: {facts.invalid}", of_file=True)
    if facts.copied is not None:
        return Decision("never", f"the file is a copy: {facts.copied}", of_file=True)
    if facts.repetition is not None and not facts.requested:
        return Decision("never", f"the file is a duplicate: {facts.repetition}", of_file=True)
    if facts.self_reported and not facts.requested:
        reason = "its score is self-reported because no labels could be withheld; `bot submit` submits it anyway"
        return Decision("never", reason)
    return None


def _used_up(facts: DecisionInputs, settings: CompetitionSettings) -> Decision | None:
    limit, today = settings.max_submissions, per_day(facts, settings)
    quota = _minimum(facts.remaining_total, None if limit is None else limit - facts.sent_count)
    if quota is not None and quota <= 0:
        is_own_limit = limit is not None and facts.sent_count >= limit
        cap = f"max_submissions is {limit}" if is_own_limit else "the site accepts no more"
        return Decision("never", f"{facts.sent_count} files were submitted, and {cap}")
    late_from = _late_from(facts, settings)
    if quota is not None and quota <= settings.reserved_submissions and (late_from is None or facts.now < late_from):
        reason = f"reserved_submissions is {settings.reserved_submissions}, and {quota} submissions are left"
        if late_from is None:
            return Decision("never", f"{reason}; no deadline is known")
        return _wait(facts, late_from, f"{reason}; they are kept for the last {settings.reserved_days:g} days")
    if facts.capped_today is not None:
        return _wait(facts, midnight(facts.now, 1), facts.capped_today)
    if today is not None and facts.sent_today >= today:
        reason = f"{facts.sent_today} of today's {facts.daily} submissions are used; the rest are kept for you"
        if settings.submissions_per_day is not None:
            reason = f"{facts.sent_today} files were submitted today, and submissions_per_day is {today}"
        return _wait(facts, midnight(facts.now, 1), reason)
    if facts.remaining_today is not None and facts.remaining_today <= 0:
        return _wait(facts, midnight(facts.now, 1), "the site accepts no more files today")
    if not facts.quota_known and facts.sent_today > 0:
        reason = "one file was submitted today, and the site's limit is unknown"
        return _wait(facts, facts.now + RETRY, reason)
    return None


def _not_worth_it(facts: DecisionInputs, settings: CompetitionSettings) -> Decision | None:
    if facts.requested or facts.best_sent is None:
        return None
    if facts.score is None:
        return Decision("never", "it has no validation score", of_file=True)
    if facts.noise is None:
        return _wait(facts, facts.now + RETRY, "the noise of the validation scores is unknown")
    late_from = _late_from(facts, settings)
    limit = LATE_GAIN_ERRORS if late_from is not None and facts.now >= late_from else MIN_GAIN_ERRORS
    gain = facts.score - facts.best_sent
    if gain > 0 and gain > limit * facts.noise:
        return None
    reason = f"a gain of {gain:.3g} over {_best(facts)} does not exceed {limit:g} times its standard error of {facts.noise:.3g}"
    if late_from is not None and facts.now < late_from and gain > 0 and gain > LATE_GAIN_ERRORS * facts.noise:
        return _wait(facts, late_from, f"{reason}; it will be enough in the last {settings.reserved_days:g} days")
    return Decision("never", reason)


def _not_its_turn(facts: DecisionInputs, settings: CompetitionSettings) -> Decision | None:
    """Spread the day's files over the day, so that a discovery in the evening can still be sent."""
    site = None if facts.remaining_today is None else facts.sent_today + facts.remaining_today
    daily_count = _minimum(site, per_day(facts, settings))
    if facts.requested or daily_count is None or facts.sent_today == 0:
        return None
    gain = _gain(facts)
    if gain is None or facts.noise is None or (gain > 0 and gain > LARGE * facts.noise):
        return None
    begin = midnight(facts.now)
    end = midnight(facts.now, 1)
    end = end if facts.deadline is None else min(end, facts.deadline)
    turn = begin + (end - begin) * (facts.sent_today / daily_count)
    if facts.now >= turn:
        return None
    reason = f"it is file {facts.sent_today + 1} of {daily_count} for today, and its gain of {gain:.3g} does not exceed"
    return _wait(facts, turn, f"{reason} {LARGE:g} times its standard error of {facts.noise:.3g}")


def _needs_approval(facts: DecisionInputs, settings: CompetitionSettings) -> Decision | None:
    if facts.approved:
        return None
    if facts.kernel_share >= SIMILAR_SHARE:
        reason = f"{facts.kernel_share:.0%} of the script is also in the public notebook {facts.kernel}"
        return Decision("hold", f"{reason}: check that it is the bot's own work; {_worth(facts)}")
    if facts.doubts is not None:
        return Decision("hold", f"check it first: {facts.doubts}; {_worth(facts)}")
    if settings.approve == "ask" and not facts.requested:
        return Decision("hold", _worth(facts))
    return None


def _worth(facts: DecisionInputs) -> str:
    gain = _gain(facts)
    if facts.requested:
        return "you requested it"
    if gain is None:
        return "first submission"
    first = "first submission, with " if facts.best_waits and not facts.sent_count else ""
    return f"{first}a gain of {gain:.3g} over {_best(facts)}, with a standard error of {facts.noise or 0.0:.3g}"


def _best(facts: DecisionInputs) -> str:
    return "the best of the waiting files" if facts.best_waits else "the best submitted file"


def _gain(facts: DecisionInputs) -> float | None:
    return None if facts.score is None or facts.best_sent is None else facts.score - facts.best_sent


def _wait(facts: DecisionInputs, until: datetime, reason: str) -> Decision:
    """Wait, unless the deadline comes first."""
    if facts.deadline is not None and until >= facts.deadline:
        return Decision("never", f"{reason}; the deadline, {iso(facts.deadline)}, comes first")
    return Decision("wait", reason, until)


def _late_from(facts: DecisionInputs, settings: CompetitionSettings) -> datetime | None:
    """Return when the last days begin, in which the reserve may be used; None if no deadline is known."""
    return None if facts.deadline is None else facts.deadline - timedelta(days=settings.reserved_days)


def _minimum(*numbers: int | None) -> int | None:
    return min((number for number in numbers if number is not None), default=None)
