"""Tables of JSON records, an array or one a line: read one by one, and written with the text of those that stay."""

import json
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bot.evaluation.tables.compression import reading, writing
from bot.evaluation.tables.csv_table import Rows
from scrapers.snapshots.json_values import json_cell, json_values
from state.errors import UnsupportedLayout

JSON = frozenset({".json", ".jsonl", ".ndjson"})
_CHUNK = 1 << 16
_BLANK = " \t\r\n"

Record = dict[str, Any]


@dataclass(frozen=True)
class JsonTable(Rows):
    """Records in a file; the header is every key that one of them has, in the order of their first appearance."""

    lines: bool = True
    """Whether each record has a line of its own; else they are one array."""

    def records(self) -> Iterator[tuple[str, Record]]:
        """Yield each record with its text. Raises UnsupportedLayout: the file holds something else than records."""
        try:
            with reading(self.path) as file:
                for text, value in json_values(file):
                    if not isinstance(value, dict):
                        raise UnsupportedLayout(f"{self.path.name} is not a table: not all of its values are records.")
                    yield text, value
        except (ValueError, RecursionError) as error:
            raise UnsupportedLayout(f"{self.path.name} cannot be read as JSON: {error}.") from error

    def rows(self) -> Iterator[list[str]]:
        """Yield the records as cells: texts as they are, empty for null and missing values, else as JSON."""
        for _, record in self.records():
            yield [json_cell(record.get(key)) for key in self.header]

    def write_part(self, target: Path, rows: Set[int]) -> int:
        """Write the records of those numbers (from 0) as they are, in order; returns how many."""
        part = (text for number, (text, _) in enumerate(self.records()) if number in rows)
        return _write(target, part, lines=self.lines)

    def write_chosen(self, target: Path, columns: Sequence[str], rows: Sequence[int]) -> None:
        """Write some keys of those records, in that order; keys that a record lacks are left out."""
        row_numbers = set(rows)
        texts = {
            number: json.dumps({key: record[key] for key in columns if key in record}, ensure_ascii=False)
            for number, (_, record) in enumerate(self.records())
            if number in row_numbers
        }
        _write(target, (texts[number] for number in rows), lines=self.lines)


def read_json_table(path: Path) -> JsonTable:
    """Open a table of records; all of it is read once, for the header.

    Raises UnsupportedLayout: the file holds something else than records, or none.
    """
    keys: dict[str, None] = {}
    for _, record in JsonTable(path, ()).records():
        keys.update(dict.fromkeys(record))
    if not keys:
        raise UnsupportedLayout(f"{path.name} has no records.")
    with reading(path) as file:
        return JsonTable(path, tuple(keys), lines=file.read(_CHUNK).lstrip(_BLANK)[:1] != "[")


def _write(target: Path, texts: Iterator[str], *, lines: bool) -> int:
    count = 0
    with writing(target) as file:
        for text in texts:
            file.write(("" if lines else "," if count else "[") + ("\n" if not lines and count else "") + text)
            file.write("\n" if lines else "")
            count += 1
        file.write("" if lines else "]\n" if count else "[]\n")
    return count
