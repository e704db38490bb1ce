"""All points of a probe, with those on every answer, and those that reading alone cannot settle."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from bot.simulator.probe import on_community, on_competitions
from bot.simulator.probe.exchange import Exchange
from bot.simulator.probe.points import Finding, Point, Seen, told, unsure
from scrapers.kaggle.datasets import OwnDataSets
from scrapers.kaggle.failures import code_and_words
from scrapers.kaggle.notebooks import Quotas

_FIRST_PUSH = "a first notebook that the bot pushes: `bot logs` has the answers"


def _gpu_hours(seen: Seen) -> Finding:
    found = seen.read("gpu-hours", Quotas)
    if found.gpu_quota is None:
        return told(False, "it names no GPUs")
    hours = found.gpu_quota.total_time_allowed / 3600
    return told(1 <= hours <= 168, f"{hours:g} hours a week")


def _private_ones(seen: Seen) -> Finding:
    found = seen.read("own-data-sets", OwnDataSets)
    private = sum(one.is_private for one in found.datasets)
    return (
        told(True, f"{private} of {len(found.datasets)} are private") if private else unsure("no private one is listed")
    )


def _missing(seen: Seen) -> Finding:
    asked = seen.exchange("missing-data-set")
    if asked is None or asked.status is None or asked.status >= 500 or asked.status == 429:
        return seen.why_not("missing-data-set")
    return told(asked.status in (403, 404), f"it was answered with {asked.status}")


def _never(name: str, assumed: str, settled_by: str, why: str = "reading alone does not show it") -> Point:
    return Point(name, assumed, lambda seen: unsure(why), settled_by)


def _pushed(name: str, assumed: str) -> Point:
    return _never(name, assumed, _FIRST_PUSH, "only a push shows it")


_ON_NOTEBOOKS: tuple[Point, ...] = (
    Point("gpu-hours", "The week's time on GPUs comes in seconds, such as 108000s.", _gpu_hours),
    Point("private-data-sets", "One's own data sets are listed, private ones too.", _private_ones, _FIRST_PUSH),
    Point("missing-data-set", "A data set that does not exist is refused with 403 or 404.", _missing),
    _pushed("licence", "A private data set may have the licence `other`."),
    _pushed("flat-files", "A data set keeps files under their names; only archives are unpacked."),
    _pushed(
        "titles",
        "A title that is in use is refused under status 200; a new notebook has the slug that its title makes.",
    ),
    _pushed("left-out", "A data set that is not ready keeps no notebook from running, and is named in the answer."),
    _pushed("push-again", "A pushed notebook is found by its reference at once, with the source as it was sent."),
    _pushed("mounts", "Data lies in /kaggle/input/NAME, or in competitions/NAME and datasets/OWNER/NAME below that."),
    _pushed("run-log", "The log of a run that failed can be read, as a JSON list of what was printed."),
    _pushed("session-id", "The search shows the session of one's own private notebook, by which it is cancelled."),
    _pushed(
        "rerun", "A submitted notebook is PENDING while it runs on hidden data, and says in a few words why it failed."
    ),
)
"""Every assumption on notebooks that is open."""


_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(.*)")


@dataclass(frozen=True)
class Judged:
    """One assumption, and what was seen of it."""

    point: Point
    finding: Finding


def judge(exchanges: Sequence[Exchange]) -> tuple[Judged, ...]:
    """Hold a probe's answers against every assumption; asks nothing."""
    seen = Seen(exchanges)
    return tuple(Judged(one, one.judge(seen)) for one in POINTS)


def _values(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _values(one, key)
    elif isinstance(value, list):
        for one in value:
            yield from _values(one, name)
    else:
        yield name, value


def _numbers(seen: Seen) -> Finding:
    ids = [value for one in seen.all for name, value in _values(one.answer) if name == "id" or name.endswith("Id")]
    if not ids:
        return unsure("no answer has a number of 64 bits")
    texts = sum(isinstance(one, str) for one in ids)
    return told(not texts, f"{texts} of {len(ids)} come as text" if texts else f"all of {len(ids)} are numbers")


def _times(seen: Seen) -> Finding:
    found = [
        match
        for one in seen.all
        for _, value in _values(one.answer)
        if isinstance(value, str) and (match := _TIME.fullmatch(value))
    ]
    if not found:
        return unsure("no answer has a time")
    ends = sorted({match[2] or "nothing" for match in found})
    return told(ends == ["Z"], f"{len(found)} times end in {', '.join(ends)}")


def _refusals(seen: Seen) -> list[Exchange]:
    return [one for one in seen.all if one.status is not None and one.status >= 400 and one.answer]


def _error_shape(seen: Seen) -> Finding:
    found = _refusals(seen)
    if not found:
        return unsure("nothing was refused")
    shapes = sorted({_shape(one.answer) for one in found})
    return told("unknown" not in shapes, f"{len(found)} refusals: {', '.join(shapes)}")


def _shape(answer: Any) -> str:
    if not isinstance(answer, dict):
        return "text" if isinstance(answer, str) and code_and_words(answer)[1] else "unknown"
    if isinstance(answer.get("error"), dict):
        return "nested"
    return "flat" if "code" in answer and "message" in answer else "unknown"


def _wrong_name(seen: Seen) -> Finding:
    asked = seen.exchange("wrong-name") or seen.exchange("competition")
    if asked is None or asked.status is None or asked.answered:
        return unsure("it was not asked")
    return told(asked.status in (403, 404), f"status {asked.status} for {asked.request['competitionName']}")


def _limits(seen: Seen) -> Finding:
    limited = [one for one in seen.all if one.status == 429]
    if not limited:
        return unsure(f"{len(seen.all)} requests, none refused as too many")
    waits = ", ".join(one.headers.get("retry-after", "no Retry-After") for one in limited)
    return Finding("different", f"{len(limited)} of {len(seen.all)} requests were refused as too many: {waits}")


POINTS: tuple[Point, ...] = (
    Point("numbers", "Numbers of 64 bits come as numbers (text is understood too).", _numbers),
    Point("times", "Times are UTC and end in Z.", _times),
    *on_competitions.POINTS,
    *on_community.POINTS,
    *_ON_NOTEBOOKS,
    Point("error-shape", "Refusals have one of two shapes, nested or flat.", _error_shape, "a probe that is refused"),
    Point(
        "wrong-name",
        "A competition that does not exist is refused with 403 or 404.",
        _wrong_name,
        "`bot probe` with a name that does not exist",
    ),
    Point(
        "rate-limit",
        "Four requests a minute of one family, and 20 at once, are never too many.",
        _limits,
        "a day of `bot run`: its log names every 429, with Retry-After",
    ),
    _never("score-lag", "A kernel's best public score shows within hours.", "two probes a day apart"),
    _never(
        "last-run",
        "A kernel's lastRunTime is that of its current version.",
        "running a kernel of one's own again, and two probes around it",
    ),
    _never(
        "unsteady-lists",
        "Lists of files may differ from one request to the next; the zip decides.",
        "the log of the first download, which names every difference",
    ),
    _never("upload", "An upload that broke off is gone on with.", "a first submission over a bad line"),
    _never(
        "refusals",
        "A daily limit that is used up is refused with words that the bot knows.",
        "sending one file more than the limit allows",
    ),
    _never(
        "tag", "A submission is found by its description at once.", "a first submission: `bot logs` has the look-up"
    ),
    _never(
        "hosts",
        "No field says whether an author is the competition's host.",
        "a post by a known host among a probe's answers",
        "names are left out of what is kept",
    ),
    _never(
        "terms",
        "Kaggle's terms allow reading through the API at this rate, for one's own competing.",
        "reading kaggle.com/terms yourself",
        "this is for a person to read",
    ),
)
"""Every assumption that is open."""
