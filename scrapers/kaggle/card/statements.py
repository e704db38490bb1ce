"""What a competition's pages say about its metric: which name is meant as the official one, and what speaks against it."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from scrapers.kaggle.card.cues import (
    BEFORE,
    BETWEEN,
    CHANGES,
    CLEAN,
    COLUMNWISE,
    CUES,
    ELSEWHERE,
    FOLLOWS,
    GENERIC,
    GOVERNED,
    HARMLESS,
    MULTICLASS,
    NEGATED,
    NEUTRAL,
    OTHER_CONTEST,
    REJECTED,
    USED_FOR,
)
from scrapers.kaggle.card.names import Named, find_names, whole_name
from scrapers.kaggle.card.pages import Block
from scrapers.kaggle.card.wording import comparable, sentences, visible

_READ = ("evaluation", "overview", "submission")
MOST_SENTENCES = 2_000
"""Of all pages; nobody writes that many about a metric."""
_LONGEST = 2_000
"""Characters of a sentence that are read."""
_WINDOW = 6
"""Words before a name in which another word may take it back."""
_CONTINUES = 3
"""Sentences after one that announces a metric and does not name it."""
_SURE_CUES = 4
"""Of the cues, those that speak of a metric wherever they stand."""
_BLANK = "\u00a4"
_ITEM = re.compile(r"\s*(?:[*+-]|\d+[.)])\s+")
_DEFINES = re.compile(r"\b(?:is|are|denotes|stands)\b|=")
_APPOSITION = re.compile(
    rf"^[\s,(]*(?:(?:or|aka|ie|also (?:known|referred to) as|abbreviated(?: as)?|called|simply|in short) )?(?:the )?{_BLANK}+\)?"
)
_CONTRAST = re.compile(r"\b(?:but|so|therefore|instead(?! of)|now)\b|;")
_METRIC_HEADING = re.compile(r"metric|evaluation|scoring")
_HEADING_CUE = re.compile(
    r"^(?:the )?(?:official )?(?:(?:evaluation|scoring|competition) ?)?(?:metric|evaluation|scoring|measure)?\s*[:=]?\s*$"
)


@dataclass(frozen=True)
class Sentence:
    """A sentence in comparable form, and where it stands."""

    text: str
    block: Block

    @property
    def quote(self) -> str:
        """Say where it stands and what it says, for a person."""
        return f'page "{self.block.page}": "{self.text[:160]}"'


@dataclass(frozen=True)
class Statement:
    """That a metric is the official one."""

    named: Named
    columnwise: bool
    sentence: Sentence
    changed: bool = False
    """Whether other words of the sentence may make another metric of it."""
    clean: bool = True
    """Whether every word after the name is known to leave it as it is."""

    @property
    def sure(self) -> bool:
        """Whether it must mean a metric: `evaluated on accuracy`, not `on the accuracy of your forecasts`."""
        rest = self.sentence.text[self.named.end :].strip()
        return not self.named.weak or (
            self.named.words == "accuracy" and not re.match(r"[\w]", rest.removeprefix("between"))
        )

    @property
    def of_logarithms(self) -> bool:
        """Whether what changes it is that logarithms are compared."""
        return bool(re.search(r"\blog(?:s|arithms?)?\b", self.sentence.text[self.named.end :]))


@dataclass
class Reading:
    """What the pages say, all together."""

    official: list[Statement] = field(default_factory=list)
    unknown: list[Sentence] = field(default_factory=list)
    """Sentences that name a measure which is not known."""
    announced: list[Sentence] = field(default_factory=list)
    """Sentences of an evaluation's description that speak of a measure without naming it."""
    excluded: set[str] = field(default_factory=set)
    """Metrics that are named as something else than the official one."""
    retracted: set[str] = field(default_factory=set)
    """Metrics of which it is said that they do not score, or no more."""
    telling: list[Sentence] = field(default_factory=list)
    """Sentences that name a metric where submissions' evaluation is spoken of."""
    mentioned: set[str] = field(default_factory=set)
    """Metrics that are named where submissions' evaluation is spoken of, without a word on what for."""
    columnwise: set[str] = field(default_factory=set)
    """Metrics of which it is said that columns' scores are averaged."""
    cut_short: bool = False
    """Whether there is more than was read."""
    multiclass: bool = False
    multilabel: bool = False


def sentences_of(blocks: Sequence[Block], columns: frozenset[str]) -> Iterator[Sentence]:
    """Yield the sentences of paragraphs and headings in comparable form; code is none."""
    for block in blocks:
        if block.kind != "code" and not _is_table_of(block.text, columns):
            text = visible(block.text.replace("\n", " "))
            for sentence in sentences(text):
                if plain := comparable(sentence[:_LONGEST], columns):
                    yield Sentence(plain, block)


def read_statements(blocks: Sequence[Block], columns: frozenset[str], title: str) -> Reading:
    """Read what pages say about the metric.

    Args:
        blocks: of all pages.
        columns: names of the data's columns, which are no metrics where they stand in code marks.
        title: of the competition, which a text may name.
    """
    reading = Reading()
    words = frozenset(comparable(" ".join((title, *columns)).replace(".", " ")).split())
    expected = 0
    heading = ""
    told = sentences_of([block for block in blocks if block.topic in _READ], columns)
    for sentence in itertools.islice(told, MOST_SENTENCES):
        if sentence.block.kind == "heading":
            heading = sentence.text
        reader = _Reader(sentence, frozenset(comparable(title).split()), words, expected > 0, heading)
        reader.read(reading)
        expected = _CONTINUES if reader.announces else expected - 1
        if sentence.block.topic == "evaluation":
            reading.multiclass |= bool(MULTICLASS.search(sentence.text))
            reading.multilabel |= "multi label" in sentence.text or "multilabel" in sentence.text
    reading.cut_short = next(told, None) is not None
    return reading


@dataclass
class _Reader:
    """Reads one sentence."""

    sentence: Sentence
    title: frozenset[str]
    words: frozenset[str]
    """Of the title and the columns' names."""
    continues: bool
    """Whether a sentence just before announced a metric."""
    heading: str
    announces: bool = False

    def read(self, reading: Reading) -> None:
        text = self.sentence.text
        names = find_names(text)
        if BEFORE.search(text) or NEGATED.search(text):
            reading.retracted |= {named.metric for named in names}
            return
        if self._is_elsewhere(text):
            reading.excluded |= {named.metric for named in names}
            return
        blanked = _blanked(text, names)
        if not names:
            self._without_names(text, reading)
            return
        cue = self._cue(blanked)
        if self.sentence.block.topic == "evaluation" and any(pattern.search(blanked) for pattern in COLUMNWISE):
            reading.columnwise |= {named.metric for named in names}
        if self.sentence.block.topic == "evaluation":
            reading.telling.append(self.sentence)
        last_official = None
        for named in names:
            if _governed(text, named) or REJECTED.match(text[named.end :]):
                reading.retracted.add(named.metric)
            elif cue is not None and named.start >= cue:
                self._official(named, cue, blanked, reading)
                last_official = named
            elif self._is_said_otherwise(text, names, named):
                self._official(named, 0 if self.continues else None, blanked, reading)
                last_official = named
            elif self.sentence.block.topic == "evaluation":
                reading.mentioned.add(named.metric)
        self.announces = last_official is not None and last_official.weak

    def _is_elsewhere(self, text: str) -> bool:
        if ELSEWHERE.search(text):
            return True
        for match in OTHER_CONTEST.finditer(text):
            words = [word for word in match[1].split() if word not in ("the", "a", "an", "of", "for", "and", "in")]
            if words and not {"this", "current", "our"} & set(words) and not set(words) <= self.title:
                return True
        return False

    def _cue(self, blanked: str) -> int | None:
        """Return where the last word of a cue ends."""
        first = blanked.find(_BLANK)
        ends = [match.end() for cue in CUES for match in cue.finditer(blanked) if first < 0 or match.end() <= first]
        if (
            self.sentence.block.kind == "heading"
            and first >= 0
            and _HEADING_CUE.match(blanked[:first])
            and blanked[:first].strip()
        ):
            ends.append(first)
        return max(ends, default=None)

    def _without_names(self, text: str, reading: Reading) -> None:
        cues = CUES if self.sentence.block.topic == "evaluation" else CUES[:_SURE_CUES]
        end = max((match.end() for cue in cues for match in cue.finditer(text)), default=None)
        if end is None:
            if self.continues and _ITEM.match(self.sentence.block.text) and not _DEFINES.search(text):
                reading.unknown.append(self.sentence)  # one more of a list of measures
            return
        self.announces = True
        if not GENERIC.match(text[end:]):
            reading.unknown.append(self.sentence)
        elif self.sentence.block.topic == "evaluation":
            reading.announced.append(self.sentence)

    def _is_said_otherwise(self, text: str, names: Sequence[Named], named: Named) -> bool:
        """Whether a name without a cue before it is meant as the official metric all the same."""
        before = _blanked(text, names)[: named.start]
        if self.continues and NEUTRAL.fullmatch(before):
            return True
        if NEUTRAL.fullmatch(before) and USED_FOR.match(_blanked(text, names)[named.end :].replace(_BLANK, "")):
            return True
        return bool(
            self.sentence.block.kind == "text" and _METRIC_HEADING.search(self.heading) and whole_name(text) is not None
        )

    def _official(self, named: Named, cue: int | None, blanked: str, reading: Reading) -> None:
        columnwise, plain = _without_columnwise(blanked)
        gap = plain[cue or 0 : named.start]
        used_for = USED_FOR.match(plain[named.end :].lstrip(_BLANK))
        rest = _APPOSITION.sub(" ", HARMLESS.sub(" ", plain[named.end :])).replace(_BLANK, " ")
        followed = FOLLOWS.match(rest) and not CHANGES.search(rest)
        changed = not NEUTRAL.fullmatch(gap) or not (followed or used_for)
        if not any(one.named.metric == named.metric and one.sentence is self.sentence for one in reading.official):
            words = re.findall(r"[^\W\d]+", "" if used_for else BETWEEN.sub("", rest))
            clean = all(CLEAN.fullmatch(word) or word in self.words for word in words)
            reading.official.append(Statement(named, columnwise or named.columnwise, self.sentence, changed, clean))


def _is_table_of(text: str, columns: frozenset[str]) -> bool:
    """Whether it is a table, in markdown, of the data's own columns."""
    first = text.split("\n", 1)[0].strip()
    names = {cell.strip(" `*") for cell in first.strip("|").split("|")}
    return first.startswith("|") and names <= columns


def _governed(text: str, named: Named) -> bool:
    before = text[: named.start]
    for contrast in _CONTRAST.finditer(before):
        before = " " * contrast.end() + before[contrast.end() :]
    window = " ".join(before.split()[-_WINDOW:])
    return bool(GOVERNED.search(window))


def _blanked(text: str, names: Sequence[Named]) -> str:
    """Return the text with each name replaced by marks of the same length."""
    for named in names:
        text = text[: named.start] + _BLANK * (named.end - named.start) + text[named.end :]
    return text


def _without_columnwise(blanked: str) -> tuple[bool, str]:
    """Say whether scores of columns are averaged, and take the words that say so out; places stay as they are."""
    found = False
    for pattern in COLUMNWISE:
        for match in pattern.finditer(blanked):
            found = True
            gone = "".join(mark if mark == _BLANK else " " for mark in match[0])
            blanked = blanked[: match.start()] + gone + blanked[match.end() :]
    return found, blanked
