"""Takes people's names, handles and e-mail addresses out of texts; authors of the snapshot become numbers."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import resources

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
    r"|docs|forums|general|getting-started|host|jobs|kernels|learn|me|models|notebooks|organizations|privacy|product|product-feedback"
    r"|progression|questions-and-answers|rankings|search|solutions|static|terms|work|writeups"
)
"""What follows kaggle.com/ where it is not a handle."""
_TOKEN = re.compile(r"\w+")
_WORD = r"[^\W\d_][\w'’-]*"
_CAPITAL = "[A-ZÀ-ÖØ-ÞĆČĐİŁŃŚŞŠŹŻŽА-ЯЁ]"
_CAPITALS = re.compile(rf"\b{_CAPITAL}[\w'’-]*(?: {_CAPITAL}[\w'’-]*)+")
_WHOM = rf"({_WORD})((?: {_WORD})?)"
_GREETING = re.compile(
    r"\b((?i:hi|hello|hey|dear|thanks|thank you|thx|congrats|congratulations|kudos|welcome|(?:great|good|nice) (?:work|job)"
    rf"|well done)(?i: again| a lot| so much| very much| to)?,? @?){_WHOM}"
)
_SIGN_OFF = re.compile(
    rf"((?i:\bregards|\bcheers|\bsincerely|\byours|\bbest|\bthanks),?\s*\n\s*|\n\s*[-–—~]+ ?){_WHOM}\W*\Z"
)
_IDENTIFIER = re.compile(
    r"(?m)(?:(?:^|\")\s*(?:@|(?:import|from|def|class)\s+)|\.)([^\W\d]\w*)|\b([^\W\d]\w*)(?=\(|\[|\.\w|\s*=[^=])"
)
"""A word of code, which would not run without it."""
_SHORTEST = 3
"""Letters of a word by which a person is told; fewer are ordinary."""


@dataclass(frozen=True)
class AliasedAuthor:
    """Somebody who posts in the snapshot."""

    number: int
    handle: str | None
    name: str | None
    known_at: str
    """The time of the first post, as in the snapshot's files; before it the person has no number yet."""


def find_names(text: str, *, is_code: bool = False) -> Iterator[str]:
    """Yield what may be another person's name: linked and mentioned handles, and two or three capitalised words in a row."""
    yield from (handle for _, handle in _LINK.findall(text))
    for prose in () if is_code else _CODE.split(text)[::2]:
        yield from _MENTION.findall(prose)
    for match in _CAPITALS.finditer(text):
        words = match[0].split(" ")
        for count in (2, 3):
            yield from (" ".join(words[start : start + count]) for start in range(len(words) - count + 1))


class NameRemover:
    """Removes what names people; authors are `author-7`, others and those who have not posted yet are `someone`.

    A name is replaced wherever it stands as whole words, unless all its words are ordinary ones. Parts of a name count where
    they begin with a capital letter or somebody is addressed.
    """

    def __init__(self, authors: Iterable[AliasedAuthor], other_names: Iterable[str] = ()) -> None:
        """Take the authors, and the names and handles of people who post nothing."""
        self._people: dict[tuple[str, ...], AliasedAuthor | None] = dict.fromkeys(map(_tokens, other_names))
        self._handles: dict[str, AliasedAuthor] = {}
        self._parts: dict[str, AliasedAuthor | None] = {}
        for author in authors:
            name = _tokens(author.name or "")
            for part in name:
                self._parts[part] = None if part in self._parts else author  # two may have one first name
            self._people |= {name: author, _tokens(author.handle or ""): author}
            self._handles[(author.handle or "").casefold()] = author
        self._by_first: dict[str, list[tuple[str, ...]]] = {}
        for tokens in [*self._people, *((part,) for part in self._parts if (part,) not in self._people)]:
            if not _is_ordinary(tokens):
                self._by_first.setdefault(tokens[0], []).append(tokens)

    def clean_post(self, text: str, posted_at: str) -> str:
        """Return the markdown of a time without names."""
        pieces = _CODE.split(text)  # prose and code by turns
        pieces[::2] = (self._clean_prose(prose, posted_at) for prose in pieces[::2])
        return self.clean_source("".join(pieces), posted_at)

    def clean_source(self, text: str, posted_at: str) -> str:
        """Return a notebook or script of a time without names; `@` begins decorators there, and is left alone."""
        text = _LINK.sub(lambda match: self._replace_link(match, posted_at), _ADDRESS_IN_CODE.sub(_EMAIL, text))
        text = _GREETING.sub(lambda match: self._replace_addressed(match, posted_at), text)
        tokens = {token.casefold() for token in set(_TOKEN.findall(text))}
        names = [
            name
            for first in self._by_first.keys() & tokens
            for name in self._by_first[first]
            if tokens.issuperset(name)
        ]
        if names:
            identifiers = {word.casefold() for words in _IDENTIFIER.findall(text) for word in words}
            names = [name for name in names if len(name) > 1 or name[0] not in identifiers]
        if names:
            names.sort(key=len, reverse=True)
            patterns = (r"[\W_]{1,3}".join(map(re.escape, name)) for name in names)
            any_name = re.compile(rf"(?<!\w)(?:{'|'.join(patterns)})(?!\w)", re.IGNORECASE)
            text = any_name.sub(lambda match: self._replace_name(match, posted_at), text)
        return text

    def _clean_prose(self, text: str, posted_at: str) -> str:
        text = _SIGN_OFF.sub(lambda match: self._replace_addressed(match, posted_at), _ADDRESS.sub(_EMAIL, text))
        return _MENTION.sub(lambda match: f"@{_alias(self._handles.get(match[1].casefold()), posted_at)}", text)

    def _replace_link(self, match: re.Match[str], posted_at: str) -> str:
        page, handle = match.groups()
        if page in ("kaggle.com/", "](/") and _PAGES.fullmatch(handle):
            return match[0]
        return page + _alias(self._handles.get(handle.casefold()), posted_at)

    def _replace_name(self, match: re.Match[str], posted_at: str) -> str:
        tokens = _tokens(match[0])
        if tokens in self._people:
            return _alias(self._people[tokens], posted_at)
        return _alias(self._parts[tokens[0]], posted_at) if match[0][0].isupper() else match[0]

    def _replace_addressed(self, match: re.Match[str], posted_at: str) -> str:
        """Replace whom a greeting or the end of a post names: what is no ordinary word, or is part of an author's name."""
        before, first, second = match.groups()
        word = first.casefold()
        is_author = word in self._parts or (word,) in self._people
        is_ordinary, is_capital = _is_ordinary(_tokens(first)), first[0].isupper()
        if (is_ordinary and not is_author) or (not is_capital and (is_ordinary or not is_author)):
            return match[0]
        author = self._people.get((word,), self._parts.get(word))
        if second[1:2].isupper() and not _is_ordinary(_tokens(second)):
            author, second = self._people.get(_tokens(first + second), author), ""
        return f"{before}{_alias(author, posted_at)}{second}"


def _alias(author: AliasedAuthor | None, posted_at: str) -> str:
    return _SOMEONE if author is None or author.known_at > posted_at else f"author-{author.number}"


def _tokens(name: str) -> tuple[str, ...]:
    return tuple(_TOKEN.findall(name.casefold()))


def _is_ordinary(tokens: Iterable[str]) -> bool:
    return all(len(token) < _SHORTEST or token.isdigit() or token in _ordinary_words() for token in tokens)


@cache
def _ordinary_words() -> frozenset[str]:
    """Return words that public notebooks and posts write in lower case: English, and terms of the field."""
    return frozenset(resources.files(__package__).joinpath("ordinary_words.txt").read_text(encoding="utf-8").split())
