"""Takes people's names, handles and e-mail addresses out of texts; authors of the snapshot become numbers."""

import re
from collections.abc import Iterable

_EMAIL = "[e-mail address]"
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
_CAPITALS = re.compile(r"\b[A-ZÀ-ÖØ-ÞĆČĐŁŃŚŠŹŻŽ][\w'-]*(?: [A-ZÀ-ÖØ-ÞĆČĐŁŃŚŠŹŻŽ][\w'-]*)+")
_TERMS = re.compile(
    r"\b(?:ai|analy\w+|bayes|big|boosting|data|deep|engineer\w*|forest|gradient|intelligence|kaggle|language|learn\w*|linear|logistic"
    r"|machine|model|neural|networks?|python|random|regression|scien\w+|test|train|vision)\b",
    re.IGNORECASE,
)
"""Words of the field: a display name such as `Deep Learning` is left alone."""


class NameRemover:
    """Removes what names people; authors are `author-7`, others `someone`."""

    def __init__(self, authors: Iterable[tuple[int, str | None, str | None]]) -> None:
        """Take number, handle and display name of each author."""
        self._handles: dict[str, int] = {}
        self._names: dict[str, int] = {}
        for number, handle, name in authors:
            if handle:
                self._handles[handle.casefold()] = number
            words = (name or "").split()
            if len(words) > 1 and not _TERMS.search(name or ""):
                self._names[" ".join(words)] = number
        self._longest_name = max((name.count(" ") + 1 for name in self._names), default=0)

    def clean_post(self, text: str) -> str:
        """Return markdown without names."""
        pieces = _CODE.split(text)  # prose and code by turns
        pieces[::2] = (_MENTION.sub(self._replace_mention, _ADDRESS.sub(_EMAIL, prose)) for prose in pieces[::2])
        return self.clean_source("".join(pieces))

    def clean_source(self, text: str) -> str:
        """Return a notebook or script without names; `@` begins decorators there, and is left alone."""
        text = _LINK.sub(self._replace_link, _ADDRESS_IN_CODE.sub(_EMAIL, text))
        return _CAPITALS.sub(self._replace_names, text)

    def _alias(self, handle: str) -> str:
        number = self._handles.get(handle.casefold())
        return "someone" if number is None else f"author-{number}"

    def _replace_link(self, match: re.Match[str]) -> str:
        page, handle = match.groups()
        if page in ("kaggle.com/", "](/") and _PAGES.fullmatch(handle):
            return match[0]
        return page + self._alias(handle)

    def _replace_mention(self, match: re.Match[str]) -> str:
        return f"@{self._alias(match[1])}"

    def _replace_names(self, match: re.Match[str]) -> str:
        words, cleaned_words, at = match[0].split(" "), [], 0
        while at < len(words):
            for end in range(min(at + self._longest_name, len(words)), at + 1, -1):
                number = self._names.get(" ".join(words[at:end]))
                if number is not None:
                    cleaned_words.append(f"author-{number}")
                    at = end
                    break
            else:
                cleaned_words.append(words[at])
                at += 1
        return " ".join(cleaned_words)
