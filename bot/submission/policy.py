"""Submission policy: whether a file goes out now, is held, waits or never goes, by facts alone, and why in a sentence."""

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Literal

from bot.configuration.competition import CompetitionSettings
from state.words import iso

BEYOND = 1.64
"""Standard errors that a gain must be above: by chance alone one in twenty is (one-sided)."""
LATE = 0.67
"""As much within the last `reserved_days`, when what is not sent is lost: by chance one in four is."""
LARGE = 4.0
"""Standard errors of a gain that need not wait for its turn of the day."""
ALIKE = 0.9
"""Share of its code that a script and a public kernel have in common, from which a person must look at it."""
RETRY = timedelta(hours=1)
"""After which what could not be told is looked at again."""

Verdict = Literal["send", "hold", "wait", "never"]
"""hold: until a person approves it; wait: until a time; never: while things stand as they do."""


@dataclass(frozen=True)
class Facts:
    """All that a decision goes by; scores are oriented, so that more is better."""

    now: datetime
    deadline: datetime | None
    remaining_today: int | None
    """What the site still takes today; None: as many as one likes."""
    remaining_total: int | None
    """What it still takes in all, where that is what limits; None: nothing does."""
    sent_today: int
    """Since 00:00 UTC, what may have been sent included."""
    sent: int
    """In all."""
    score: float | None
    """Of the candidate on the hold-out part."""
    best_sent: float | None
    """Of the best that was sent; None: nothing was."""
    noise: float | None
    """Standard error of the difference of the two; None: it is not known."""
    entered: bool | None = None
    """Whether this account takes part; None: nobody has asked yet, and the submitter will."""
    closed: str | None = None
    """Why the site takes nothing any more; None: it does."""
    rules_changed: bool = False
    """Whether the rules page is another than when the run began."""
    capped: str | None = None
    """Which cap of the budget is reached; None: none."""
    capped_today: str | None = None
    """Which cap of the budget for this day; None: none."""
    invalid: str | None = None
    """What is wrong with the file; None: nothing, or it is not made yet."""
    copied: str | None = None
    """Which public file it is the same as; None: none."""
    again: str | None = None
    """As what the same bytes were sent before, or put before the owner in vain; None: neither."""
    alike: float = 0.0
    """Share of the script that it has in common with the public kernel that is most like it."""
    kernel: str | None = None
    """That kernel."""
    doubts: str | None = None
    """What the guards doubt of its validation run, or could not look at; None: nothing."""
    self_reported: bool = False
    """Whether the scores are what scripts print: nobody has checked them, so that only a person's wish sends a file."""
    approved: bool = False
    """Whether a person has let this file go."""
    wished: bool = False
    """Whether a person has asked for this node: then no gain is needed, and no turn of the day."""


@dataclass(frozen=True)
class Decision:
    """What is to be done, and why; `until` is there where it waits."""

    verdict: Verdict
    why: str
    until: datetime | None = None
    of_file: bool = False
    """Whether the reason is the file's own, so that another node's may go."""


def decide(facts: Facts, settings: CompetitionSettings) -> Decision:
    """Decide on one file.

    What forbids comes first, then what may be sent at all, whether this file is worth it, whether it is its turn, and whether
    a person must look at it. With all else equal a larger gain is never held back where a smaller one is not.

    How many: never more than the site, `submissions_per_day` and `max_submissions` allow; `reserved_submissions` of what may
    be sent in all are left for the last `reserved_days` before the deadline.

    Worth it: the first file is; any other must be better than the best that was sent by more than `BEYOND` standard errors,
    within the last `reserved_days` by more than `LATE`.

    Its turn: of n files that the day takes the k-th goes when (k - 1)/n of the day is over, or at once if its gain is above
    `LARGE` standard errors. The last day ends at the deadline.
    """
    return (
        _forbidden(facts, settings)
        or _used_up(facts, settings)
        or _not_worth_it(facts, settings)
        or _not_its_turn(facts, settings)
        or _held(facts, settings)
        or Decision("send", _worth(facts))
    )


def midnight_after(now: datetime) -> datetime:
    """Return when the UTC day of a time is over."""
    return datetime.combine(now.date() + timedelta(days=1), time(), now.tzinfo)


def _forbidden(facts: Facts, settings: CompetitionSettings) -> Decision | None:
    if not settings.submit:
        return Decision("never", "submitting is off: `submit = true` in the competition's table switches it on")
    if facts.deadline is not None and facts.now >= facts.deadline:
        return Decision("never", f"the deadline was at {iso(facts.deadline)}")
    if facts.closed is not None:
        return Decision("never", facts.closed)
    if facts.entered is False:
        return Decision("never", "the competition is not entered: accept its rules on the website")
    if facts.rules_changed:
        return Decision("never", "the rules page has changed since the run began: read it on the website")
    if facts.capped is not None:
        return Decision("never", facts.capped)
    if facts.invalid is not None:
        return Decision("never", f"the file is not valid: {facts.invalid}", of_file=True)
    if facts.copied is not None:
        return Decision("never", f"the file is not our own: {facts.copied}", of_file=True)
    if facts.again is not None and not facts.wished:
        return Decision("never", f"the file is one that is known already: {facts.again}", of_file=True)
    if facts.self_reported and not facts.wished:
        told = "its score is self-reported, as no labels could be withheld; `bot submit` sends it all the same"
        return Decision("never", told)
    return None


def _used_up(facts: Facts, settings: CompetitionSettings) -> Decision | None:
    most, today = settings.max_submissions, settings.submissions_per_day
    left = _least(facts.remaining_total, None if most is None else most - facts.sent)
    if left is not None and left <= 0:
        cap = f"max_submissions is {most}" if most is not None and facts.sent >= most else "the site takes no more"
        return Decision("never", f"{facts.sent} files were sent, and {cap}")
    late = _late_from(facts, settings)
    if left is not None and left <= settings.reserved_submissions and (late is None or facts.now < late):
        told = f"the {left} that may still be sent are of the reserve of {settings.reserved_submissions}"
        if late is None:
            return Decision("never", f"{told}, and no deadline is known")
        return _wait(facts, late, f"{told} for the last {settings.reserved_days:g} days")
    if facts.capped_today is not None:
        return _wait(facts, midnight_after(facts.now), facts.capped_today)
    if today is not None and facts.sent_today >= today:
        told = f"{facts.sent_today} files were sent today, and submissions_per_day is {today}"
        return _wait(facts, midnight_after(facts.now), told)
    if facts.remaining_today is not None and facts.remaining_today <= 0:
        return _wait(facts, midnight_after(facts.now), "the site takes no more files today")
    return None


def _not_worth_it(facts: Facts, settings: CompetitionSettings) -> Decision | None:
    if facts.wished or facts.best_sent is None:
        return None
    if facts.score is None:
        return Decision("never", "it has no validation score", of_file=True)
    if facts.noise is None:
        return _wait(facts, facts.now + RETRY, "how uncertain the validation scores are is not known")
    late = _late_from(facts, settings)
    here = LATE if late is not None and facts.now >= late else BEYOND
    gain = facts.score - facts.best_sent
    if gain > 0 and gain > here * facts.noise:
        return None
    told = f"a gain of {gain:.3g} over the best sent is not above {here:g} standard errors of {facts.noise:.3g}"
    if late is not None and facts.now < late and gain > 0 and gain > LATE * facts.noise:
        return _wait(facts, late, f"{told}; from the last {settings.reserved_days:g} days on it would do")
    return Decision("never", told)


def _not_its_turn(facts: Facts, settings: CompetitionSettings) -> Decision | None:
    """Spread the day's files over the day, so that what is found in the evening can still go."""
    site = None if facts.remaining_today is None else facts.sent_today + facts.remaining_today
    many = _least(site, settings.submissions_per_day)
    if facts.wished or many is None or facts.sent_today == 0:
        return None
    gain = _gain(facts)
    if gain is None or facts.noise is None or (gain > 0 and gain > LARGE * facts.noise):
        return None
    begin = datetime.combine(facts.now.date(), time(), facts.now.tzinfo)
    end = midnight_after(facts.now)
    end = end if facts.deadline is None else min(end, facts.deadline)
    turn = begin + (end - begin) * (facts.sent_today / many)
    if facts.now >= turn:
        return None
    told = f"it is file {facts.sent_today + 1} of {many} for today, and its gain of {gain:.3g} is not above "
    return _wait(facts, turn, told + f"{LARGE:g} standard errors of {facts.noise:.3g}")


def _held(facts: Facts, settings: CompetitionSettings) -> Decision | None:
    if facts.approved:
        return None
    if facts.alike >= ALIKE:
        told = f"{facts.alike:.0%} of the script is that of the public kernel {facts.kernel}"
        return Decision("hold", f"{told}: look whether it is our own work; {_worth(facts)}")
    if facts.doubts is not None:
        return Decision("hold", f"look at it first, {facts.doubts}; {_worth(facts)}")
    if settings.approve == "ask" and not facts.wished:
        return Decision("hold", _worth(facts))
    return None


def _worth(facts: Facts) -> str:
    gain = _gain(facts)
    if facts.wished:
        return "its owner asked for it"
    if gain is None:
        return "it is the first"
    return f"a gain of {gain:.3g} over the best sent, with a standard error of {facts.noise or 0.0:.3g}"


def _gain(facts: Facts) -> float | None:
    return None if facts.score is None or facts.best_sent is None else facts.score - facts.best_sent


def _wait(facts: Facts, until: datetime, why: str) -> Decision:
    """Wait, unless the deadline comes first."""
    if facts.deadline is not None and until >= facts.deadline:
        return Decision("never", f"{why}, and the deadline is at {iso(facts.deadline)}")
    return Decision("wait", why, until)


def _late_from(facts: Facts, settings: CompetitionSettings) -> datetime | None:
    """Return when the last days begin, in which the reserve may be used; None where no deadline is known."""
    return None if facts.deadline is None else facts.deadline - timedelta(days=settings.reserved_days)


def _least(*numbers: int | None) -> int | None:
    return min((number for number in numbers if number is not None), default=None)
