"""The kinds of competitions that are not a file against hidden answers, recognised before anything is fetched."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.competitions import CompetitionPage, Competitions, KaggleCompetition
from scrapers.kaggle.search import CompetitionFacts, Search
from scrapers.posts.cleaning import clean
from state.errors import KaggleError, SiteUnavailable

KindName = Literal["notebooks", "simulation", "agents", "models", "hackathon", "judged", "two-stages", "huge-data"]

HUGE_BYTES = 50_000_000_000
_ANALYTICS = "Analytics"
"""Kaggle's category of competitions without a metric."""
_ARTICLE = r"(?:an?|one|your|the|their|its|multiple|several|up to \w+) "
_SUBMISSION = r"\b(?:submissions?|entry|entries) (?:is|are|must be|must contain|contains?|consists? of)"
_WEIGHTS = r"weights|checkpoints?|adapters?|(?:tensorflow lite|tf-?lite|onnx|torchscript|gguf) models?"
_WORDS: Mapping[KindName, re.Pattern[str]] = {
    "simulation": re.compile(
        r"\bkaggle[-_ ]environments?\b|\bplays? episodes\b|\bskill rating\b|\bsimulation competition\b", re.IGNORECASE
    ),
    "agents": re.compile(
        rf"\b(?:submit|upload|enter|build)(?:s|ting|ted)? {_ARTICLE}(?:[\w-]+ ){{0,3}}agents?\b"
        r"|\bagent submissions?\b|\b(?:submitted|uploaded) agents?\b"
        rf"|{_SUBMISSION} (?:an? |your )?(?:[\w-]+ ){{0,2}}agents?\b",
        re.IGNORECASE,
    ),
    "models": re.compile(
        rf"\b(?:submit|upload)(?:s|ting|ted)? {_ARTICLE}(?:trained|fine-?tuned) (?:[\w-]+ ){{0,2}}models?\b"
        r"|\bmodel submissions?\b|\b(?:submitted|uploaded) models?\b",
        re.IGNORECASE,
    ),
    "hackathon": re.compile(
        r"\bhackathon\b|\b(?:submit|submissions?|entry|entries)\b[^.\n]{0,120}\bwrite-?ups?\b"
        r"|\bwrite-?ups?\b[^.\n]{0,120}\b(?:submit|submission)",
        re.IGNORECASE,
    ),
    "judged": re.compile(r"\b(?:judges|judging|jury|rubric)\b", re.IGNORECASE),
    "two-stages": re.compile(
        r"\b(?:two|2)[- ]stages? (?:competition|challenge|evaluation|format)\b|\b(?:second|2nd) stage of (?:the|this) "
        r"(?:competition|challenge)\b|\bcompetition (?:has|consists of|is run in) (?:two|2) stages\b",
        re.IGNORECASE,
    ),
}
_WITH_METRIC: Mapping[KindName, re.Pattern[str]] = {
    "agents": re.compile(r"\bagent\.ya?ml\b", re.IGNORECASE),
    "models": re.compile(
        rf"\badapter_config\.json\b|\b(?:submit|upload)(?:s|ting|ted)? {_ARTICLE}(?:[\w-]+ ){{0,3}}(?:{_WEIGHTS})\b"
        rf"|{_SUBMISSION} (?:an? |your |the )?(?:[\w-]+ ){{0,3}}(?:{_WEIGHTS})\b"
        r"|\bsubmi[^\n]{0,120}?\bmodel\.(?:tflite|onnx|gguf|safetensors|ckpt|pth?)\b",
        re.IGNORECASE,
    ),
}
"""What shows such a kind even where Kaggle names a metric: agents and models have scores of their own."""
_WITHOUT_METRIC: tuple[KindName, ...] = ("simulation", "agents", "models", "hackathon", "judged")
"""Kinds that a page's words show only where Kaggle names no metric; the first that is found counts."""
_NOT_READ = ("rules", "prizes")
"""Pages in which every competition speaks of judges, and of write-ups of its winners."""
_JUDGED_ON = ("evaluation", "judging")
"""Pages on which judges are the competition's own: elsewhere they may be its subject."""
_TAG = re.compile(r"<[^<>]{1,500}>")
_MOST_READ = 200_000
_SENTENCE_END = re.compile(r"[.!?](?=\s|$)|\n")
_QUOTED = 200


@dataclass(frozen=True)
class DetectedKind:
    """A kind, and what says so."""

    kind: KindName
    source: str
    """A field of Kaggle's, or a quoted sentence of a page."""
    bytes: int = 0
    """Of the data, where that is what makes the kind."""


async def detect_kinds(client: KaggleClient, competition: KaggleCompetition) -> tuple[DetectedKind, ...]:
    """Ask for what tells a competition's kinds, and return them; most have none.

    Three requests besides the one for the competition itself. The search lags, and is not needed: where it fails, or does
    not find the competition, the pages decide. Errors as of `KaggleClient`.
    """
    site, slug = Competitions(client), competition.slug
    facts = None
    with suppress(KaggleError, SiteUnavailable):
        facts = await Search(client).competition(slug, competition.title)
    pages = await site.pages(slug)
    size = sum(file_type.total_size for file_type in (await site.data_summary(slug)).types)
    return tuple(kinds_of(competition, facts, pages, size))


def kinds_of(
    competition: KaggleCompetition, facts: CompetitionFacts | None, pages: Sequence[CompetitionPage], size: int
) -> Iterator[DetectedKind]:
    """Yield the kinds, each once, of a competition with `size` bytes of data."""
    if competition.is_kernels_submissions_only:
        yield DetectedKind("notebooks", "Kaggle's isKernelsSubmissionsOnly")
    if kind := _unscored(competition, facts, pages):
        yield kind
    if quote := _quoted("two-stages", _WORDS["two-stages"], pages):
        yield DetectedKind("two-stages", quote)
    if size > HUGE_BYTES:
        yield DetectedKind("huge-data", "Kaggle's data summary", size)


def _unscored(
    competition: KaggleCompetition, facts: CompetitionFacts | None, pages: Sequence[CompetitionPage]
) -> DetectedKind | None:
    """Return the kind of a competition in which no file is scored against hidden answers, None if one is."""
    if facts is not None and facts.is_environment_evaluation:
        return DetectedKind("simulation", "Kaggle's isEnvironmentEvaluation")
    for kind in _WITHOUT_METRIC:
        patterns = [_WORDS[kind]] if not competition.evaluation_metric else []
        for pattern in (*patterns, *([_WITH_METRIC[kind]] if kind in _WITH_METRIC else [])):
            if quote := _quoted(kind, pattern, pages):
                return DetectedKind(kind, quote)
    if competition.evaluation_metric:
        return None
    return DetectedKind("judged", f"Kaggle's category {_ANALYTICS}") if competition.category == _ANALYTICS else None


def _quoted(kind: KindName, pattern: re.Pattern[str], pages: Sequence[CompetitionPage]) -> str | None:
    """Return the first sentence of the pages that shows a kind, with its page; None if there is none."""
    for page in pages:
        name = page.name.lower()
        if name in _NOT_READ or (kind == "judged" and not any(word in name for word in _JUDGED_ON)):
            continue
        text = clean(_TAG.sub(" ", page.content[:_MOST_READ]))
        if match := pattern.search(text):
            begins = max((end.end() for end in _SENTENCE_END.finditer(text, 0, match.start())), default=0)
            end = _SENTENCE_END.search(text, match.end())
            sentence = " ".join(text[begins : end.end() if end else len(text)].split())
            return f'the page {page.name}: "{sentence[:_QUOTED]}"'
    return None
