"""The families of models and the ideas that an experiment uses, read from its files and its note."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from bot.community.ideas.similarity import words
from bot.community.ideas.techniques import named_in, own_words, seen_in
from bot.engine.families import families_in, families_of, not_used, without_families
from bot.engine.python_text import code_of

_MOST_OF = 2 / 3
"""Share of the techniques that an idea names, from which code that shows them carries it out."""
_MIN_WORD_SHARE = 1 / 3
"""Share of its other words that code shows, of an idea that names a family of models alone: all forests are not one idea."""
_LINE = 300
"""Characters that are read of a line of code."""
_IDLE = words(
    "add use using try train fit tune tuned model models feature features classifier regressor column columns data "
    "parameter parameters setting settings default simple strong single second another new more all each few many other "
    "one two three gradient random extra tree trees regression regularised regularized large small high low good best"
)
"""Words that say little of an idea."""
_MENTION = re.compile(
    r"(?:\b(?P<not>without|no|not|minus|instead of|drop(?:s|ped)?|removed?)\s+(?:the\s+)?)?"
    r"(?<![a-z])ideas?[\s_#-]*(?P<numbers>\d+(?:(?:\s*(?:,|\+|&|and)\s*)+(?:ideas?[\s_#-]*)?\d+)*)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Uses:
    """What an experiment uses."""

    families: tuple[str, ...]
    """Of models, the most often used first."""
    named_ideas: frozenset[int]
    """Ideas that its name, note or comments name by number."""
    seen_ideas: frozenset[int]
    """Ideas that its code carries out: it shows the families and techniques that they name."""

    @property
    def ideas(self) -> frozenset[int]:
        """Ideas of both kinds."""
        return self.named_ideas | self.seen_ideas


def uses(files: Mapping[str, str], note: str, ideas: Mapping[int, str]) -> Uses:
    """Return what an experiment uses.

    An idea is seen in code that shows two thirds of the techniques that it names, and one of the families if it names any.
    `note` is its coder's; only ideas of the pool count.
    """
    traits = _traits(tuple(sorted(files.items())))
    carried_out = frozenset(number for number, text in ideas.items() if _carries_out(text, traits, note))
    named_ideas = ideas_named(note) or ideas_named(traits.comments)
    return Uses(traits.families, named_ideas & ideas.keys(), carried_out - ideas_named(note, negated=True))


def ideas_named(text: str, *, negated: bool = False) -> frozenset[int]:
    """Return the numbers in phrases such as "idea 3" or "ideas 4 and 5", or `negated` those in "without idea 3"."""
    mentions = [mention["numbers"] for mention in _MENTION.finditer(text) if bool(mention["not"]) is negated]
    return frozenset(int(number) for mention in mentions for number in re.findall(r"\d+", mention))


def added(own_uses: Uses, reference: Uses | None) -> frozenset[int]:
    """Return the ideas that an experiment uses beyond those of its reference; None: there is none."""
    return own_uses.ideas if reference is None else own_uses.named_ideas | own_uses.ideas - reference.ideas


def credited(own_uses: Uses, reference: Uses | None) -> int | None:
    """Return the one idea that an experiment's gain over its reference measures; None: none, or several at once.

    The ideas that its coder names count first.
    """
    new = own_uses.named_ideas or (frozenset() if reference is None else added(own_uses, reference))
    return next(iter(new)) if len(new) == 1 else None


@dataclass(frozen=True)
class _Traits:
    families: tuple[str, ...]
    techniques: frozenset[str]
    comments: str
    words: frozenset[str]
    """Of the code, its strings and comments."""


@lru_cache(maxsize=512)
def _traits(files: tuple[tuple[str, str], ...]) -> _Traits:
    codes = [code for path, text in files if (code := code_of(path, text)) is not None]
    # The rest of a long line is data.
    text = "\n".join(line[:_LINE] for code in codes for line in code.text.split("\n"))
    comments = "\n".join(code.comments for code in codes)
    all_words = words(_HUMP.sub(r" \1", f"{comments}\n{text}"))
    return _Traits(families_of(dict(files)), frozenset(seen_in(text)), comments, all_words)


@dataclass(frozen=True)
class _IdeaTraits:
    families: frozenset[str]
    techniques: frozenset[str]
    words: frozenset[str]
    """Other telling words of its first sentence."""


@lru_cache(maxsize=2048)
def _idea_traits(idea: str) -> _IdeaTraits:
    own_text = own_words(idea)
    first = _SENTENCE.split(without_families(own_text), maxsplit=1)[0]
    other_words = frozenset(word for word in words(first) - _IDLE if word.isalpha() and len(word) > 2)
    return _IdeaTraits(families_in(own_text), named_in(own_text), other_words)


_words_of_note = lru_cache(maxsize=2048)(words)


def _carries_out(idea: str, traits: _Traits, note: str) -> bool:
    required = _idea_traits(idea)
    if required.families and len(not_used(required.families, traits.families)) == len(required.families):
        return False
    if required.techniques:
        return len(required.techniques & traits.techniques) >= _MOST_OF * len(required.techniques) - 1e-9
    common_words = required.words & (traits.words | _words_of_note(note))
    return bool(required.families) and len(common_words) >= _MIN_WORD_SHARE * len(required.words)


_HUMP = re.compile(r"(?<=[a-z])([A-Z])")
_SENTENCE = re.compile(r"[.;](?:\s|$)")
