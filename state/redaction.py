"""Redaction: the process's own secrets, in any encoding, and whatever looks like a secret become `[secret]`."""

import base64
import html
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, quote_plus

MASK = "[secret]"
SHORTEST = 8
"""Characters; shorter texts occur in too many others by chance."""

_LOG = logging.getLogger(__name__)
_LONGEST_WORDS = 18
"""Characters; a longer password made of words occurs in no text by chance."""
_WORD = r"(?:[A-Z]?[a-z]{0,13}|[A-Z]{1,14})[0-9]{0,4}"
_WORDS = re.compile(rf"{_WORD}(?:[ ._-]{_WORD})*")
_FEWEST_CHARACTERS = 5
"""Distinct characters; `xxxxxxxx` and `11111111` have fewer."""
_FEWEST_DIGITS = 16
"""Of a secret made of digits alone; a shorter one may be any number in a text."""
_PREFIX = re.compile(
    r"(?:sk-(?:[a-z]+-)?|gsk_|hf_|AIza|KGAT_|gh[opsur]_|github_pat_|glpat-|xox[a-z]-|xapp-|AKIA)(?=\S{6})"
)
_BASE64_BITS = 6
_LONG = 40
"""Characters above which a text is first searched for any secret at all."""


def can_be_secret(text: str) -> bool:
    """Return whether a text is long and random enough for a secret, so that it occurs in no other text by chance.

    Dummy keys for servers that check none (`EMPTY`, `changeme`, `sk-no-key-required`, `xxxxxxxx`) are not secrets, nor is
    anything else made of a few words; removing those from every text would change its meaning.
    """
    prefix = _PREFIX.match(text)
    body = text[prefix.end() :] if prefix else text
    if len(text) < SHORTEST or len(set(text)) < _FEWEST_CHARACTERS or len(set(body)) == 1:
        return False
    if body.isdecimal():
        return prefix is not None or len(body) >= _FEWEST_DIGITS
    return len(body) > _LONGEST_WORDS or not _WORDS.fullmatch(body)


@dataclass(frozen=True)
class SecretPattern:
    """A pattern that matches what looks like a secret, whosever it is."""

    pattern: re.Pattern[str]
    """Its matching time must be linear in the text."""
    any_of: tuple[str, ...] = ()
    """Every match contains one of these, which are faster to search for; empty: the pattern is always tried."""

    def may_match(self, text: str) -> bool:
        """Return whether a text may hold a match; a quick check."""
        return not self.any_of or any(word in text for word in self.any_of)


class Redactor:
    """Removes secrets from texts; without secrets and patterns it changes nothing."""

    def __init__(self, secrets: Mapping[str, str] | None = None, patterns: Iterable[SecretPattern] = ()) -> None:
        """Prepare the searches; `secrets` has names by values, of which those that cannot be secrets are left out."""
        self._names = {
            form: name for secret, name in (secrets or {}).items() if can_be_secret(secret) for form in _forms(secret)
        }
        # The longest first, as a form may be the beginning of another.
        forms = sorted(self._names, key=lambda form: (-len(form), form))
        self._own = re.compile("|".join(map(re.escape, forms))) if forms else None
        self._forms_bytes = encoded = [form.encode(errors="surrogatepass") for form in forms]
        self._own_bytes = re.compile(b"|".join(map(re.escape, encoded))) if encoded else None
        # Where none of these is, no form is; looking for each by itself is five times as fast as the pattern.
        self._cores = tuple(form for form in forms if not any(core in form for core in forms if core != form))
        self._cores_bytes = tuple(core.encode(errors="surrogatepass") for core in self._cores)
        self._patterns = tuple(patterns)
        self._warned: set[tuple[str, str]] = set()

    def __repr__(self) -> str:
        """Show no secret."""
        return f"Redactor({'some secrets' if self._own else 'no secret'}, {len(self._patterns)} patterns)"

    def __bool__(self) -> bool:
        """Whether there is anything that it would remove."""
        return self._own is not None or bool(self._patterns)

    def may_hold_own(self, text: str) -> bool:
        """Return whether a text may hold one of the process's own secrets."""
        return any(core in text for core in self._cores)

    def may_hold_any(self, text: str) -> bool:
        """Return whether `text` may change a text, or a value whose JSON it is; a quick check."""
        return self.may_hold_own(text) or any(pattern.may_match(text) for pattern in self._patterns)

    def own(self, text: str, place: str = "") -> str:
        """Return a text without the process's own secrets; for the texts of others, which may look like anything.

        With a `place`, such as `the prompt draft`, a warning names it and the secret, once for each.
        """
        if self._own is None or len(text) < SHORTEST:
            return text
        if len(text) > _LONG and not self.may_hold_own(text):
            return text
        names: set[str] = set()

        def masked(match: re.Match[str]) -> str:
            names.add(self._names[match[0]])
            return MASK

        text = self._own.sub(masked, text)
        for name in sorted(names) if place else ():
            if (name, place) not in self._warned:
                self._warned.add((name, place))
                _LOG.warning("the secret in %s was found in %s and replaced with %s", name, place, MASK)
        return text

    def own_bytes(self, data: bytes) -> bytes:
        """Return a body without the process's own secrets (as UTF-8)."""
        if self._own_bytes is None or not any(core in data for core in self._cores_bytes):
            return data
        return self._own_bytes.sub(MASK.encode(), data)

    def partial_bytes(self, data: bytes) -> int:
        """Return how many bytes at the end of a body may be the beginning of a secret."""
        lengths = (
            length
            for form in self._forms_bytes
            for length in range(1, min(len(form), len(data) + 1))
            if form[length - 1] == data[-1] and data.endswith(form[:length])
        )
        return max(lengths, default=0)

    def text(self, text: str) -> str:
        """Return a text of ours without its own secrets and without what looks like one."""
        text = self.own(text)
        for pattern in self._patterns if len(text) >= SHORTEST else ():
            if pattern.may_match(text):
                text = pattern.pattern.sub(MASK, text)
        return text

    def value(self, value: Any) -> Any:
        """Return a JSON value, all of its texts and keys redacted as by `text`."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.value(key): self.value(item) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(item) for item in value]
        return value


class RedactedStream:
    """Takes a redactor's own secrets out of bytes that come in pieces, wherever one ends and the next begins."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""

    def pass_on(self, piece: bytes, *, last: bool = False) -> bytes:
        """Return what comes next of the redacted stream; what may be the beginning of a secret is held back till the last."""
        data = self._redactor.own_bytes(self._held + piece)
        held_bytes = 0 if last else self._redactor.partial_bytes(data)
        self._held = data[len(data) - held_bytes :]
        return data[: len(data) - held_bytes]


def _forms(secret: str) -> Iterator[str]:
    """Yield the encodings in which a text may hold a secret."""
    yield secret
    for url in (quote(secret, safe=""), quote(secret), quote_plus(secret)):
        yield url
        yield re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), url)
    for ascii_only in (True, False):
        escaped = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield escaped
        yield json.dumps(escaped, ensure_ascii=ascii_only)[1:-1]
    in_html = html.escape(secret)
    yield in_html
    # As Jinja writes quotes.
    yield in_html.replace("&quot;", "&#34;").replace("&#x27;", "&#39;")
    yield from _base64_forms(secret.encode(errors="surrogatepass"))


def _base64_forms(secret: bytes) -> Iterator[str]:
    """Yield the part of a secret's base64 that does not depend on the bytes before and after it."""
    for before in range(3):
        coded = base64.b64encode(bytes(before) + secret).decode()
        # Characters that also encode bits of the neighbouring bytes.
        first = -(-before * 8 // _BASE64_BITS)
        visible = coded[first : (before + len(secret)) * 8 // _BASE64_BITS]
        if len(visible) >= SHORTEST:
            yield visible
            yield visible.replace("+", "-").replace("/", "_")
