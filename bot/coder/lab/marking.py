"""What a coder sees of its lab: text out of the sandbox, made harmless, and lines of the engine's, which carry a mark."""

import re
import secrets
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from bot.models.quoting import clean, in_quotes
from sandbox.output import ENGINE_MARK, plain_text

_LETTERS, _LENGTH = "bcdfghjkmnpqrstvwxz", 6
"""Of a mark: neither a number nor a word, so that no honest output holds it."""
_NO_MARK = "…"
_LETTER_NAME = re.compile(r"(?:LATIN|INDICATOR SYMBOL) .*LETTER (?:SMALL CAPITAL )?([A-Z])\b")
_LOOKALIKES = str.maketrans("ьсԁғɡһјкмпрԛгѕтѵԝхᴋᴠᴢᴡ", "bcdfghjkmnpqrstvwxkvzw")


def draw_mark() -> str:
    """Draw the mark of a lab."""
    return "".join(secrets.choice(_LETTERS) for _ in range(_LENGTH))


@dataclass(frozen=True)
class LineMark:
    """The mark before the engine's lines in one lab, which is removed from all other text."""

    mark: str

    def engine(self, text: str) -> str:
        """Return text of the engine, which may hold names and other untrusted words, with the mark before each line."""
        return "\n".join(f"{self.mark} {line}" for line in self._without(clean(text)).split("\n"))

    def foreign(self, text: str) -> str:
        """Return text out of the sandbox without escapes, hidden characters, chat markup and the mark."""
        return self._without(clean(plain_text(text)))

    def name(self, text: str) -> str:
        """Return untrusted text, such as a process's command line, within a line of the engine: in quotation marks."""
        return in_quotes(self.foreign(text))

    def output(self, text: str, answers: Iterable[str]) -> str:
        """Return what a command printed.

        Args:
            text: with what the sandbox says of it after `OURS`.
            answers: what the engine has answered to `lab`; where one of them stands whole in the output, it is marked.
        """
        body = f"\n{self.mark} ".join(
            self.foreign(part).removesuffix("\n") for part in text.rstrip().split(ENGINE_MARK)
        )
        for answer in sorted((a for a in map(self.foreign, answers) if a and a in body), key=len, reverse=True):
            marked = self.engine(answer).replace("\\", r"\\")
            body = re.sub(f"^{re.escape(answer)}$", marked, body, flags=re.MULTILINE)
        return body.lstrip("\n")

    def _without(self, text: str) -> str:
        """Return the text without the mark, and what looks like it: in other letters, with accents, apart by signs."""
        plain = text.lower() if text.isascii() else "".join(map(_plain_letter, text))
        for match in reversed(list(re.finditer(rf"(?:[^\w{_NO_MARK}]|_){{0,9}}".join(self.mark), plain))):
            text = f"{text[: match.start()]}{_NO_MARK}{text[match.end() :]}"
        return text


def _plain_letter(character: str) -> str:
    """Return the letter that a character looks like: a small capital, one in a square, with a hook, of a flag."""
    first = unicodedata.normalize("NFKD", character)[0].lower()[0].translate(_LOOKALIKES)
    letter = _LETTER_NAME.search(unicodedata.name(first, ""))
    return letter[1].lower() if letter else first
