"""The line of each table and key in a TOML text, which tomllib does not report."""

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

KeyPath = tuple[str | int, ...]
"""Names from the root on; the elements of arrays are counted from 0."""


@dataclass(frozen=True)
class Lines:
    """The lines of paths, counted from 1; for all of a multi-line value, its first line."""

    line_of: dict[KeyPath, int]

    def known_path(self, path: KeyPath) -> KeyPath:
        """Return the longest beginning of a path that is in the text."""
        while path and path not in self.line_of:
            path = path[:-1]
        return path

    def line(self, path: KeyPath) -> int | None:
        """Return the line of a path, or else of the innermost enclosing one in the text."""
        return self.line_of.get(self.known_path(path))


def scan(text: str) -> Lines:
    """Find the lines of all keys, tables and elements.

    In an invalid TOML text everything before the first mistake is found; its lines end with line feeds.
    """
    lines = text.split("\n")
    line_of: dict[KeyPath, int] = {}
    last: dict[KeyPath, int] = {}
    table: KeyPath = ()
    for begin, content in _statements(lines):
        header = lines[begin].lstrip()
        if header.startswith("["):
            table, names = (), _own_key(content)
            for position, name in enumerate(names, 1):
                table = (*table, name)
                # Elements of arrays of tables are counted.
                if header.startswith("[[") and position == len(names):
                    last[table] = last.get(table, -1) + 1
                if table in last:
                    table = (*table, last[table])
            paths = [table[:length] for length in range(1, len(table) + 1)]
        else:
            paths = [(*table, *inner) for inner in _paths(content)]
        for path in paths:
            line_of.setdefault(path, begin + 1)
    return Lines(line_of)


def _statements(lines: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the first line, counted from 0, and the content of each statement.

    A statement has as many lines as tomllib needs to read it, as it accepts no part of one.
    """
    begin = 0
    for end in range(1, len(lines) + 1):
        try:
            content = tomllib.loads("\n".join(lines[begin:end]))
        except (tomllib.TOMLDecodeError, RecursionError):
            continue
        if content:
            yield begin, content
        begin = end


def _own_key(content: Any) -> tuple[str, ...]:
    """Return the dotted key of a header."""
    if not isinstance(content, dict) or len(content) != 1:
        return ()
    ((name, inner),) = content.items()
    return (name, *_own_key(inner))


def _paths(value: Any) -> Iterator[KeyPath]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield (key,)
        yield from ((key, *path) for path in _paths(inner))
