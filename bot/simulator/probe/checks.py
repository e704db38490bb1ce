"""All points of a probe, with those on every answer and on notebooks, and what its answers show of them."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from bot.simulator.probe import on_community, on_competitions
from bot.simulator.probe.exchange import ProbeExchange
from bot.simulator.probe.points import Point, ProbeAnswers, ProbeFinding, finding, unsure
from scrapers.kaggle.datasets import OwnDataSets
from scrapers.kaggle.failures import code_and_words
from scrapers.kaggle.notebooks import Quotas

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(.*)")


def _gpu_hours(answers: ProbeAnswers) -> ProbeFinding:
    quotas = answers.read("gpu-hours", Quotas)
    if quotas.gpu_quota is None:
        return finding(False, "the response includes no GPU quota")
    hours = quotas.gpu_quota.total_time_allowed / 3600
    return finding(1 <= hours <= 168, f"{hours:g} hours a week")


def _private_ones(answers: ProbeAnswers) -> ProbeFinding:
    own_sets = answers.read("own-data-sets", OwnDataSets)
    if not (private := sum(d.is_private for d in own_sets.datasets)):
        return unsure("no private data set is listed")
    return finding(True, f"{private} of {len(own_sets.datasets)} data sets are private")


def _missing(answers: ProbeAnswers) -> ProbeFinding:
    status = answers.status("missing-data-set")
    return finding(status in (403, 404), f"status {status}")


def judge(exchanges: Sequence[ProbeExchange]) -> list[tuple[Point, ProbeFinding]]:
    """Hold a probe's answers against every assumption, and return what was seen of each; asks nothing."""
    answers = ProbeAnswers(exchanges)
    return [(point, point.judge(answers)) for point in POINTS]


def _values(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _values(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from _values(item, name)
    else:
        yield name, value


def _numbers(answers: ProbeAnswers) -> ProbeFinding:
    ids = [value for e in answers.all for name, value in _values(e.answer) if name == "id" or name.endswith("Id")]
    if not ids:
        return unsure("no answer contains a 64-bit integer")
    texts = sum(isinstance(id, str) for id in ids)
    return finding(not texts, f"{texts} of {len(ids)} are text" if texts else f"all {len(ids)} are numbers")


def _times(answers: ProbeAnswers) -> ProbeFinding:
    matches = [
        match
        for exchange in answers.all
        for _, value in _values(exchange.answer)
        if isinstance(value, str) and (match := _TIME.fullmatch(value))
    ]
    if not matches:
        return unsure("no answer contains a timestamp")
    endings = sorted({match[2] or "nothing" for match in matches})
    return finding(endings == ["Z"], f"{len(matches)} timestamps end in {', '.join(endings)}")


def _error_shape(answers: ProbeAnswers) -> ProbeFinding:
    refusals = [e for e in answers.all if e.status is not None and e.status >= 400 and e.answer]
    if not refusals:
        return unsure("no request was refused")
    shapes = sorted({_shape(e.answer) for e in refusals})
    return finding("unknown" not in shapes, f"{len(refusals)} refusals: {', '.join(shapes)}")


def _shape(answer: Any) -> str:
    if not isinstance(answer, dict):
        return "text" if isinstance(answer, str) and code_and_words(answer)[1] else "unknown"
    if isinstance(answer.get("error"), dict):
        return "nested"
    return "flat" if "code" in answer and "message" in answer else "unknown"


def _wrong_name(answers: ProbeAnswers) -> ProbeFinding:
    exchange = answers.exchange("wrong-name") or answers.exchange("competition")
    if exchange is None or exchange.status is None or exchange.answered:
        return unsure("the request was not sent")
    return finding(exchange.status in (403, 404), f"status {exchange.status} for {exchange.request['competitionName']}")


def _limits(answers: ProbeAnswers) -> ProbeFinding:
    limited = [e for e in answers.all if e.status == 429]
    if not limited:
        return unsure(f"{len(answers.all)} requests, none rate-limited")
    waits = ", ".join(e.headers.get("retry-after", "no Retry-After") for e in limited)
    return ProbeFinding("different", f"{len(limited)} of {len(answers.all)} requests got status 429: {waits}")


POINTS: tuple[Point, ...] = (
    Point("numbers", "64-bit integers are JSON numbers (the bot also accepts text).", _numbers),
    Point("times", "Times are UTC and end in Z.", _times),
    *on_competitions.POINTS,
    *on_community.POINTS,
    Point("gpu-hours", "The weekly GPU time is given in seconds, such as 108000s.", _gpu_hours),
    Point(
        "private-data-sets",
        "Your own data sets are listed, including private ones.",
        _private_ones,
        "a first pushed notebook",
    ),
    Point("missing-data-set", "A request for a nonexistent data set returns 403 or 404.", _missing),
    Point("error-shape", "Error responses are either nested or flat.", _error_shape, "a request that Kaggle refuses"),
    Point(
        "wrong-name",
        "A request for a nonexistent competition returns 403 or 404.",
        _wrong_name,
        "`bot probe` with a nonexistent competition",
    ),
    Point(
        "rate-limit",
        "Up to four requests per minute per family, or 20 at once, are always allowed.",
        _limits,
        "a day of `bot run`, which logs every 429 with its Retry-After",
    ),
)
"""Every assumption that answers can confirm; what only uploads, pushes and refusals show is seen in the log of `bot run`."""
