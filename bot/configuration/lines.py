"""On which line of a TOML text each key, table and element stands, and which of them stand twice: tomllib tells neither."""

import re
import tomllib
from bisect import bisect_left
from contextlib import suppress
from dataclasses import dataclass

__all__ = ["KeyPath", "Lines", "Repetition", "scan"]

KeyPath = tuple[str | int, ...]
"""Names from the root on; the elements of arrays are counted from 0."""

_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(r'"""(?:\\.|[^\\])*?"{3,5}' r"|'''.*?'{3,5}" r'|"(?:\\[^\n]|[^"\\\n])*"' r"|'[^'\n]*'", re.DOTALL)
_SCALAR = re.compile(r"[^,\]}#\n]+")
"""A number, a truth value or a time; a time may hold a space."""


@dataclass(frozen=True)
class Repetition:
    """A key or a table that is given once more."""

    path: KeyPath
    line: int
    first: int
    """The line on which it stands first."""
    start: int
    end: int
    """Characters of the text without which nothing is repeated: the statement, or a table with all its statements."""


@dataclass(frozen=True)
class Lines:
    """Where things stand, lines counted from 1."""

    at: dict[KeyPath, int]
    repeated: tuple[Repetition, ...] = ()

    def known(self, path: KeyPath) -> KeyPath:
        """Return the longest part of a path, from its beginning, that stands in the text."""
        while path and path not in self.at:
            path = path[:-1]
        return path

    def line(self, path: KeyPath) -> int | None:
        """Return the line of a path, or else of the innermost thing around it that stands in the text."""
        return self.at.get(self.known(path))

    def without_repetitions(self, text: str) -> str:
        """Return the text with blanks for what is repeated, so that the rest can be read on the lines it stands on."""
        for one in self.repeated:
            blank = re.sub(r"[^\n]", " ", text[one.start : one.end])
            text = text[: one.start] + blank + text[one.end :]
        return text


def scan(text: str) -> Lines:
    """Find where all keys, tables and elements stand.

    Args:
        text: TOML 1.0 with line feeds alone as the end of lines. Of what is no TOML, all is found up to the first mistake.
    """
    scanner = _Scanner(text)
    with suppress(_NoToml, RecursionError):
        scanner.run()
    return Lines(scanner.at, scanner.repetitions())


class _NoToml(Exception):
    """The text goes on with what cannot stand there."""


class _Scanner:
    def __init__(self, text: str) -> None:
        self.at: dict[KeyPath, int] = {}
        self._text = text
        self._ends = [place for place, character in enumerate(text) if character == "\n"]
        self._here = 0
        self._statement = 0
        self._table: KeyPath = ()
        self._headers: dict[KeyPath, int] = {}
        self._values: dict[KeyPath, int] = {}
        self._dotted: dict[KeyPath, int] = {}
        """Tables that stand in dotted keys alone; they cannot have a header as well."""
        self._last: dict[KeyPath, int] = {}
        """The index of the last element of each array of tables."""
        self._repeated: list[tuple[KeyPath, int, int, int, bool]] = []
        self._starts: list[tuple[int, bool]] = []
        """Where each statement begins, and whether it is a header."""
        self._left_out = False
        """Whether the table that we are in is one that is given once more."""

    def run(self) -> None:
        self._skip(_BLANK)
        while self._here < len(self._text):
            self._statement = self._here
            self._starts.append((self._here, self._text[self._here] == "["))
            if self._take("[["):
                self._array_header()
            elif self._take("["):
                self._header()
            else:
                self._pair(self._table)
            self._skip(_BLANK)

    def repetitions(self) -> tuple[Repetition, ...]:
        found = []
        for path, line, first, start, header in self._repeated:
            later = (place for place, is_header in self._starts if place > start and (is_header or not header))
            found.append(Repetition(path, line, first, start, next(later, len(self._text))))
        return tuple(found)

    def _header(self) -> None:
        line, path = self._line(), self._resolve(self._key())
        self._expect("]")
        self._table = path
        if not self._is_taken(path, line, path in self._headers | self._values | self._dotted):
            self._headers[path] = line
            self._record(path, line)

    def _array_header(self) -> None:
        line, names = self._line(), self._key()
        path = (*self._resolve(names[:-1]), names[-1])
        self._expect("]]")
        self._table = path
        if not self._is_taken(path, line, path in self.at and path not in self._last):
            self._last[path] = self._last.get(path, -1) + 1
            self._table = (*path, self._last[path])
            self._headers[self._table] = line
            self._record(self._table, line)

    def _is_taken(self, path: KeyPath, line: int, itself: bool) -> bool:
        """Say whether a header's table, or what it would lie in, is there already as something else; and remember it."""
        inner = (path[:length] for length in range(1, len(path)) if path[:length] in self._values)
        taken = next(inner, path if itself else None)
        self._left_out = taken is not None
        if taken is not None:
            self._repeat(taken, line, self.at[taken], header=True)
        return self._left_out

    def _resolve(self, names: tuple[str, ...]) -> KeyPath:
        """Return the path that a header means: of an array of tables its last element."""
        path: KeyPath = ()
        for name in names:
            path = (*path, name)
            if path in self._last:
                path = (*path, self._last[path])
        return path

    def _pair(self, table: KeyPath) -> None:
        line, names = self._line(), self._key()
        path: KeyPath = (*table, *names)
        self._expect("=")
        if not self._left_out:
            self._note(path, len(table), line)
        self._skip(_SPACE)
        self._value(path)

    def _note(self, path: KeyPath, outer: int, line: int) -> None:
        """Remember where a value's key stands, or that it stood there before."""
        for length in range(outer + 1, len(path)):
            part = path[:length]
            first = self._values.get(part, self._headers.get(part))
            if first is not None:
                return self._repeat(part, line, first, header=False)
            self._dotted.setdefault(part, line)
        if path in self.at:
            return self._repeat(path, line, self.at[path], header=False)
        self._values[path] = line
        return self._record(path, line)

    def _value(self, path: KeyPath) -> None:
        if self._take("["):
            number = 0
            while not self._closes("]"):
                self._record((*path, number), self._line())
                self._value((*path, number))
                number += 1
        elif self._take("{"):
            while not self._closes("}"):
                self._pair(path)
        elif self._text[self._here : self._here + 1] in ('"', "'"):
            self._match(_STRING)
        else:
            self._match(_SCALAR)

    def _closes(self, bracket: str) -> bool:
        """Pass over what separates elements, and say whether the bracket followed."""
        self._skip(_BLANK)
        if self._take(","):
            self._skip(_BLANK)
        return self._take(bracket)

    def _key(self) -> tuple[str, ...]:
        names = [self._name()]
        while self._take("."):
            names.append(self._name())
        return tuple(names)

    def _name(self) -> str:
        self._skip(_SPACE)
        if self._text[self._here : self._here + 1] not in ('"', "'"):
            name = self._match(_BARE)
        else:
            try:
                name = str(tomllib.loads(f"name = {self._match(_STRING)}")["name"])
            except tomllib.TOMLDecodeError as error:
                raise _NoToml from error
        self._skip(_SPACE)
        return name

    def _repeat(self, path: KeyPath, line: int, first: int, *, header: bool) -> None:
        self._repeated.append((path, line, first, self._statement, header))

    def _record(self, path: KeyPath, line: int) -> None:
        # What is around something known is known as well.
        while path and path not in self.at and not self._left_out:
            self.at[path] = line
            path = path[:-1]

    def _line(self) -> int:
        return bisect_left(self._ends, self._here) + 1

    def _skip(self, pattern: re.Pattern[str]) -> None:
        if found := pattern.match(self._text, self._here):
            self._here = found.end()

    def _match(self, pattern: re.Pattern[str]) -> str:
        if not (found := pattern.match(self._text, self._here)):
            raise _NoToml
        self._here = found.end()
        return found[0]

    def _take(self, token: str) -> bool:
        if not self._text.startswith(token, self._here):
            return False
        self._here += len(token)
        return True

    def _expect(self, token: str) -> None:
        if not self._take(token):
            raise _NoToml
