"""Remove people's names, handles and e-mail addresses from texts; authors of the snapshot become numbers."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import pairwise

_EMAIL = "[e-mail address]"
_SOMEONE = "someone"
_ADDRESS = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}")
# In code `x@beta.mean` multiplies matrices: an address there must end as addresses do.
_ADDRESS_IN_CODE = re.compile(
    r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,3}\.(?:com|org|net|edu|gov|io|ai|info|ac|de|fr|jp|cn|ru|uk|in|br)\b(?![(\[.])"
)
_CODE = re.compile(r"(```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z)|`[^`\n]*`)", re.DOTALL)
_MENTION = re.compile(r"(?<![\w/@.])@([A-Za-z0-9][\w-]{1,60})")
_LINK = re.compile(
    r"(kaggle\.com/(?:users/\d{1,12}/|(?:code|datasets|kernels|models|notebooks)/)?|\]\(/)([A-Za-z0-9][\w-]{0,60})"
)
_PAGES = re.compile(
    r"about|account|benchmarks|blog|c|careers|code|community-guidelines|competitions|contact|cookies|d|data|datasets|discussions?"
    r"|docs|forums|general|getting-started|host|jobs|kaggle|kernels|learn|learn-forum|me|models|notebooks|organizations|privacy"
    r"|product|product-feedback|progression|questions-and-answers|rankings|search|solutions|static|terms|work|writeups|\d+"
)
"""First parts of Kaggle's paths that are not handles."""
_MARKS = "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0981-\u0df3"
"""Accents and vowels that are separate characters."""
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3\U00020000-\U0003ffff"
)
"""Thai, Chinese, Japanese, Korean and others, in which names need no spaces around them."""
_UNSPACED_LETTER = re.compile(f"[{_UNSPACED}]")
_TOKEN = re.compile(rf"\\[nrt]|[{_UNSPACED}]+|(?:[^\W{_UNSPACED}]|[{_MARKS}])+")
"""A word, or an escaped line break in a string of code."""
_WORD = rf"[^\W\d_][\w{_MARKS}]*(?:['’-](?!s\b)[\w{_MARKS}]+)*"
_CAPITAL_WORD = rf"(?![a-z]){_WORD}"
"""A word with a capital, or of a script without capitals."""
_FULL_NAMES = re.compile(rf"\b{_CAPITAL_WORD}(?: {_CAPITAL_WORD})+")
_ADDRESSEE = re.compile(rf"\b(?!and\b)({_WORD})((?: {_CAPITAL_WORD})?)")
_GREETING = re.compile(
    r"(\b(?i:hi|hello|hey|dear|thanks|thank you|thx|congrats|congratulations|kudos|props|shout-?out|welcome|well done|sorry"
    r"|merci|gracias|danke|obrigad[oa]|grazie|спасибо|привет|my name is|professor|prof\.?|dr\.?"
    r"|(?:great|good|nice|awesome|amazing|excellent) (?:catch|point|question|work|job|notebook|kernel|post|solution))"
    rf"(?i: again| a lot| a ton| so much| very much| goes| to| dr\.?| prof\.?| professor)*,? @?)"
    rf"({_WORD}(?:(?:,? and|,? &)? {_CAPITAL_WORD})*)"
)
_SIGN_OFF = re.compile(
    r"((?i:\bregards|\bcheers|\bsincerely|\byours|\bbest|\bthanks),?\s*\n\s*"
    r"|\A(?:(?![ \t]*[-–—~*])[^\n]*\n)+[ \t]*[-–—~]+ ?)"
    rf"({_WORD}(?: {_CAPITAL_WORD})?)(?=\W*\Z)"
)
_NAME_ENDS = re.compile(r"[ \t]*(?:[^\w \t]|\Z|and\b|for\b)")
"""What follows a word that is used as a name; before other words it is an ordinary word."""
_NEAR_CUE = re.compile(
    r"(?:\b(?i:and|as|ask|by|cc|colleague|credits? to|friend|from|i am|i'm|like|per|ping|see|teammates?|than|this is|to|via|with)"
    rf",? @?)({_WORD})\b(?! {_CAPITAL_WORD})"
    rf"|(?<![\w.@/])({_WORD})\b(?=['’]s\b|,? (?i:agrees?|and i|are|can|did|does|found|from|got|had|has|here|is|made|mentioned"
    r"|noted|pointed|posted|ran|said|says|shared|showed|suggested|thank you|thanks|thinks|tried|used|was|will|wrote)\b"
    r"|, (?:you|your|can|could|did|do|are|have|i|it|please|what|why|how)\b)"
    rf"|, ({_WORD})\b(?=[.!?]*[ \t\r]*$)",
    re.MULTILINE,
)
"""Contexts in which a common first name means a person."""
_LETTERS = str.maketrans({"ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ı": "i", "ß": "ss"})
_IDENTIFIER = re.compile(
    r"(?m)(?:^\s*(?:@|(?:import|from(?=\s+\S+\s+import)|def|class)\s+)|\.)([^\W\d]\w*)|\b([^\W\d]\w*)(?=\(|\[|\.\w|\s*=[^=])"
)
"""A word that code needs to run."""


@dataclass(frozen=True)
class Participant:
    """An author of the snapshot, or a member of one of the competition's teams."""

    number: int | None
    """The author's number; None: a member who wrote nothing."""
    handle: str | None
    name: str | None
    known_at: str = ""
    """The time of an author's first post, as in the snapshot's files; before it the person has no number yet."""


def find_full_names(text: str, *, is_code: bool = False) -> Iterator[str]:
    """Yield possible names of other users: linked and mentioned handles, and two or three capitalised words in a row."""
    yield from (handle for _, handle in _LINK.findall(text))
    for prose in () if is_code else _CODE.split(text)[::2]:
        yield from _MENTION.findall(prose)
    for match in _FULL_NAMES.finditer(text):
        words = match[0].split(" ")
        for count in (2, 3):
            yield from (" ".join(words[start : start + count]) for start in range(len(words) - count + 1))


def find_first_names(text: str) -> Iterator[str]:
    """Yield words that are first names if they are common ones."""
    for words in _NEAR_CUE.findall(text):
        yield from (word for word in words if word[:1].isupper() and not _is_ordinary(_tokens(word)))


class NameRemover:
    """Replaces names: authors become `author-7`, others and those who have not posted yet `someone`.

    A name is replaced wherever it occurs as whole words, unless all its words are ordinary ones. A part of a name is replaced
    if it does not begin with a small letter, or if it addresses a person.
    """

    def __init__(
        self,
        participants: Iterable[Participant],
        other_names: Iterable[str] = (),
        first_names: Iterable[str] = (),
        description: str = "",
    ) -> None:
        """Take the participants, full names and handles of other users, and first names that are common among users.

        Names in the description of the competition are public, and may be its subject: other users' names that occur there are
        kept, and so are participants' first and last names that occur there twice.
        """
        description_counts = Counter(_tokens(description))
        self._first_names = frozenset(name for name in first_names if name not in description)
        self._people: dict[tuple[str, ...], Participant | None] = dict.fromkeys(
            _tokens(name) for name in other_names if name not in description
        )
        self._handles: dict[str, Participant] = {}
        self._parts: dict[str, Participant | None] = {}
        for person in sorted(participants, key=lambda person: person.number is None):  # authors before others
            for name in {_tokens(person.name or ""), _tokens(_unaccented(person.name or ""))}:
                for part in (part for part in name if description_counts[part] < 2):
                    is_shared = self._parts.get(part, person) is not person and person.number is not None
                    self._parts[part] = None if is_shared else self._parts.get(part, person)
                if len(name) > 1 and (person.number is not None or name not in self._people):
                    self._people[name] = person
            if person.number is not None:
                self._people[_tokens(person.handle or "")] = self._handles[(person.handle or "").casefold()] = person
        self._by_first: dict[str, list[tuple[str, ...]]] = {}
        for tokens in sorted({*self._people, *((part,) for part in self._parts)}, key=len, reverse=True):
            if not _is_ordinary(tokens):
                self._by_first.setdefault(tokens[0], []).append(tokens)
        self._unspaced = [
            name for names in self._by_first.values() for name in names if all(map(_UNSPACED_LETTER.match, name))
        ]

    def clean_post(self, text: str, posted_at: str) -> str:
        """Return the markdown of a post without names."""
        pieces = _CODE.split(unicodedata.normalize("NFC", text))  # prose and code by turns
        pieces[::2] = (self._clean_prose(prose, posted_at) for prose in pieces[::2])
        pieces[-1] = _SIGN_OFF.sub(
            lambda match: match[1] + self._replace_addressees(match[2], "", posted_at), pieces[-1]
        )
        return self.clean_source("".join(pieces), posted_at)

    def clean_source(self, text: str, posted_at: str) -> str:
        """Return a notebook or script without names; `@`, which starts decorators, is left alone."""
        text = _LINK.sub(lambda match: self._replace_link(match, posted_at), _ADDRESS_IN_CODE.sub(_EMAIL, text))
        identifiers = {word for words in _IDENTIFIER.findall(text) for word in words}
        text = self._replace_names(text, {word.casefold() for word in identifiers}, posted_at)
        text = _GREETING.sub(
            lambda match: match[1] + self._replace_addressees(match[2], match.string[match.end() :][:9], posted_at),
            text,
        )
        known_names = self._first_names - identifiers
        return _NEAR_CUE.sub(lambda match: _replace_first_name(match, known_names), text) if known_names else text

    def _clean_prose(self, text: str, posted_at: str) -> str:
        text = _ADDRESS.sub(_EMAIL, text)
        return _MENTION.sub(lambda match: f"@{_alias(self._handles.get(match[1].casefold()), posted_at)}", text)

    def _replace_link(self, match: re.Match[str], posted_at: str) -> str:
        page, handle = match.groups()
        if page in ("kaggle.com/", "](/") and _PAGES.fullmatch(handle):
            return match[0]
        return page + _alias(self._handles.get(handle.casefold()), posted_at)

    def _replace_names(self, text: str, identifiers: set[str], posted_at: str) -> str:
        matches = list(_TOKEN.finditer(text))
        tokens = [_fold(match[0]) for match in matches]
        pieces, end = [], 0
        for place, token in enumerate(tokens):
            for name in self._by_first.get(token, ()):
                span = matches[place : place + len(name)]
                is_name = tuple(tokens[place : place + len(name)]) == name and span[0].start() >= end
                if is_name and all(after.start() - before.end() <= 3 for before, after in pairwise(span)):
                    if len(name) == 1 and (
                        token in identifiers or (name not in self._people and not _is_capital(span[0][0]))
                    ):
                        continue
                    person = self._people[name] if name in self._people else self._parts[token]
                    pieces += [text[end : span[0].start()], _alias(person, posted_at)]
                    end = span[-1].end()
                    break
        return self._replace_unspaced("".join([*pieces, text[end:]]), posted_at)

    def _replace_unspaced(self, text: str, posted_at: str) -> str:
        letters = "".join(_UNSPACED_LETTER.findall(text))
        for name in self._unspaced if letters else ():
            if name[0] in letters:
                person = self._people[name] if name in self._people else self._parts[name[0]]
                text = re.sub(r"\W{0,3}".join(map(re.escape, name)), _alias(person, posted_at), text)
        return text

    def _replace_addressees(self, text: str, tail: str, posted_at: str) -> str:
        """Replace the names of people who are addressed in a text, which `tail` follows."""

        def replace(match: re.Match[str]) -> str:
            first, second = match.groups()
            word, is_capital = first.casefold(), not first[0].islower()
            is_author = word in self._parts or (word,) in self._people
            is_name = is_author or (is_capital and word in _words("names_and_words.txt"))
            if _is_ordinary(_tokens(first)):
                is_name = (
                    is_name and is_capital and _NAME_ENDS.match((second + text[match.end() :]) or tail) is not None
                )
            if not is_name and (not is_capital or _is_ordinary(_tokens(first))):
                return match[0]
            person = self._people.get((word,), self._parts.get(word))
            if second and not _is_ordinary(_tokens(second)):
                person, second = self._people.get(_tokens(first + second), person), ""
            return _alias(person, posted_at) + second

        return _ADDRESSEE.sub(replace, text)


def _replace_first_name(match: re.Match[str], names: frozenset[str]) -> str:
    index = match.lastindex or 0
    if match[index] not in names:
        return match[0]
    start, end = (place - match.start() for place in match.span(index))
    return match[0][:start] + _SOMEONE + match[0][end:]


def _alias(person: Participant | None, posted_at: str) -> str:
    is_known = person is not None and person.number is not None and person.known_at <= posted_at
    return f"author-{person.number}" if person is not None and is_known else _SOMEONE


def _is_capital(word: str) -> bool:
    """Return whether a word may be part of a name: it has no small initial, and is not an abbreviation."""
    return not word[0].islower() and not (word.isupper() and len(word) < 5)


def _fold(word: str) -> str:
    return unicodedata.normalize("NFC", word).casefold()


def _tokens(name: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(_fold(name)))


def _unaccented(name: str) -> str:
    letters = unicodedata.normalize("NFKD", name.translate(_LETTERS))
    return "".join(letter for letter in letters if not "\u0300" <= letter <= "\u036f")


def _is_ordinary(tokens: Iterable[str]) -> bool:
    return all(
        len(token) < (2 if _UNSPACED_LETTER.match(token) else 3)
        or token.isdigit()
        or token in _words("ordinary_words.txt")  # that public notebooks and posts write in lower case
        or token in _words("proper_nouns.txt")  # methods, products and places
        for token in tokens
    )


@cache
def _words(file: str) -> frozenset[str]:
    return frozenset(resources.files(__package__).joinpath(file).read_text(encoding="utf-8").split())
