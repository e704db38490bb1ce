"""What an experiment uses, read from its files and its note: families of models, and ideas of the pool."""

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
"""Characters of a line of code that are looked at."""
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
    named: frozenset[int]
    """Ideas that its name, note or comments name by number."""
    seen: frozenset[int]
    """Ideas that its code carries out, by the families and techniques that they name."""

    @property
    def ideas(self) -> frozenset[int]:
        """All of them."""
        return self.named | self.seen


def uses(files: Mapping[str, str], note: str, ideas: Mapping[int, str]) -> Uses:
    """Return what an experiment uses.

    An idea is seen in code that shows two thirds of the techniques that it names, and one of the families if it names any.

    Its name and note are as its coder wrote them; only ideas of the pool, by number, are credited.
    """
    traits = _traits(tuple(sorted(files.items())))
    carried_out = frozenset(number for number, text in ideas.items() if _carries_out(text, traits, note))
    named_ideas = ideas_named(note) or ideas_named(traits.comments)
    return Uses(traits.families, named_ideas & ideas.keys(), carried_out - _denied(note))


def ideas_named(text: str) -> frozenset[int]:
    """Return the numbers in phrases such as "idea 3" or "ideas 4 and 5"; not in "without idea 3"."""
    return frozenset(
        int(number)
        for mention in _MENTION.finditer(text)
        if not mention["not"]
        for number in _numbers(mention["numbers"])
    )


def added(own_uses: Uses, reference: Uses | None) -> frozenset[int]:
    """Return the ideas that an experiment uses beyond those of the one that it is compared with; None: with none."""
    return own_uses.ideas if reference is None else own_uses.named | own_uses.ideas - reference.ideas


def credited(own_uses: Uses, reference: Uses | None) -> int | None:
    """Return the one idea that an experiment's gain over another one measures; None: none, or several at once.

    What its coder says that it is about counts first.
    """
    new = own_uses.named or (frozenset() if reference is None else added(own_uses, reference))
    return next(iter(new)) if len(new) == 1 else None


def _denied(text: str) -> frozenset[int]:
    denials = (mention for mention in _MENTION.finditer(text) if mention["not"])
    return frozenset(number for denial in denials for number in map(int, _numbers(denial["numbers"])))


def _numbers(text: str) -> list[str]:
    return re.findall(r"\d+", text)


@dataclass(frozen=True)
class _Traits:
    """What files show, whatever the ideas are."""

    families: tuple[str, ...]
    techniques: frozenset[str]
    comments: str
    words: frozenset[str]
    """Of the code, its strings and comments."""


@lru_cache(maxsize=512)
def _traits(files: tuple[tuple[str, str], ...]) -> _Traits:
    codes = [code for path, text in files if (code := code_of(path, text)) is not None]
    # What stands in longer lines is data.
    text = "\n".join(line[:_LINE] for code in codes for line in code.text.split("\n"))
    comments = "\n".join(code.comments for code in codes)
    comments_and_text = f"{comments}\n{text}"
    return _Traits(
        families_of(dict(files)), frozenset(seen_in(text)), comments, words(_HUMP.sub(r" \1", comments_and_text))
    )


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
    wanted_traits = _idea_traits(idea)
    if wanted_traits.families and len(not_used(wanted_traits.families, traits.families)) == len(wanted_traits.families):
        return False
    if wanted_traits.techniques:
        return len(wanted_traits.techniques & traits.techniques) >= _MOST_OF * len(wanted_traits.techniques) - 1e-9
    matched_words = wanted_traits.words & (traits.words | _words_of_note(note))
    return bool(wanted_traits.families) and len(matched_words) >= _MIN_WORD_SHARE * len(wanted_traits.words)


_HUMP = re.compile(r"(?<=[a-z])([A-Z])")
_SENTENCE = re.compile(r"[.;](?:\s|$)")
