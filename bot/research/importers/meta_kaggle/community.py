"""Write the rows that `competition.sql` selects as the community and leaderboards of a snapshot."""

import asyncio
import csv
import json
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from bot.research.importers.meta_kaggle.export import Export
from bot.research.importers.meta_kaggle.names import NameRemover, Participant, find_first_names, find_full_names
from scrapers.posts.cleaners import LARGEST_SOURCE, Cleaners, RawPost
from scrapers.posts.kernel_text import parse_notebook
from scrapers.snapshots.community import COMMUNITY, KERNELS, MESSAGES, OBSERVATIONS, PUBLIC_LEADERBOARD, TOPICS
from scrapers.snapshots.leaderboard import LEADERBOARD
from scrapers.snapshots.manifest import DESCRIPTION

Row = dict[str, Any]
_BATCH = 200
_FOLDER = "kernels"
_SUFFIXES = (".ipynb", ".py", ".r", ".rmd", ".sql", ".jl")
_BREAK = "\n\0\0\0\n"
"""Between the texts of a notebook; too long to lie within a name."""


def write_community(export: Export, folder: Path, code: Path | None, report: Callable[[str], None]) -> dict[str, int]:
    """Write the selected competition's community and public leaderboard into a snapshot's folder, which has a description.

    `code` is the folder of Meta Kaggle Code; without it notebooks have no text. Returns the number of rows of each file, and
    of `sources` that were found in `code`. Raises OSError.
    """
    (folder / COMMUNITY / _FOLDER).mkdir(parents=True)
    report("collecting names")
    names = _name_remover(export, code, (folder / DESCRIPTION).read_text(encoding="utf-8"))
    report("writing topics and messages")
    counts = {"sources": 0, "topics": _write_lines(folder / TOPICS, _rows(export, "topic_rows"))}
    with asyncio.Runner() as runner:
        counts["messages"] = runner.run(_write_messages(export, folder / MESSAGES, names))
    report("writing notebooks")

    def kernels() -> Iterator[Row]:
        for row in _rows(export, "kernel_rows"):
            source, path = _source_file(row["id"], code), None
            if source:
                path = f"{_FOLDER}/{source.name}"
                text = _clean_source(_read_source(source), names, row["created_at"])
                (folder / COMMUNITY / path).write_text(text, encoding="utf-8", errors="replace", newline="")
                counts["sources"] += 1
            yield row | {"path": path, "title": row["title"] and names.clean_post(row["title"], row["created_at"])}

    counts["kernels"] = _write_lines(folder / KERNELS, kernels())
    report("writing daily votes, scores and tiers")
    counts["observations"] = _write_lines(folder / OBSERVATIONS, _rows(export, "observation_rows"))
    counts["public_leaderboard"] = _write_lines(folder / PUBLIC_LEADERBOARD, _rows(export, "public_leaderboard_rows"))
    return counts


def write_leaderboard(export: Export, folder: Path) -> None:
    """Write the selected competition's final leaderboard; without a team there is no file."""
    rows = list(_rows(export, "leaderboard_rows"))
    if rows:
        with (folder / LEADERBOARD).open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)


def _batches(export: Export, view: str) -> Iterator[list[Row]]:
    """Yield the rows of a view; no other query may run on the export meanwhile."""
    result = export.connection.execute(f"FROM {view}")
    names = [column[0] for column in result.description or ()]
    while rows := result.fetchmany(_BATCH):
        yield [dict(zip(names, row, strict=True)) for row in rows]


def _rows(export: Export, view: str) -> Iterator[Row]:
    return chain.from_iterable(_batches(export, view))


def _write_lines(path: Path, rows: Iterator[Row]) -> int:
    count = 0
    with path.open("w", encoding="utf-8") as file:
        for count, row in enumerate(rows, start=1):  # noqa: B007 - the count is the result
            file.write(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n")
    return count


async def _write_messages(export: Export, path: Path, names: NameRemover) -> int:
    """Write messages; one from before 2024 may have HTML alone, which only a cleaner's process parses."""
    count = 0
    async with Cleaners(1) as cleaners:
        with path.open("w", encoding="utf-8") as file:
            for rows in _batches(export, "message_rows"):
                html = [row for row in rows if row["markdown"] is None]
                cleaned = await cleaners.clean([RawPost("html", row["html"]) for row in html])
                for row, text in zip(html, cleaned, strict=True):
                    row["markdown"] = text.text
                for row in rows:
                    del row["html"]
                    row["markdown"] = names.clean_post(row["markdown"], row["posted_at"])
                    file.write(json.dumps(row, ensure_ascii=False) + "\n")
                count += len(rows)
    return count


def _name_remover(export: Export, code: Path | None, description: str) -> NameRemover:
    """Return the remover of the names of participants, and of other users who may be named in the texts."""
    full_names: set[str] = set()
    first_names: set[str] = set()
    for row in _rows(export, "message_rows"):
        text = row["markdown"] or row["html"]
        full_names.update(find_full_names(text))
        first_names.update(find_first_names(text))
    for row in _rows(export, "kernel_rows"):
        source = _source_file(row["id"], code)
        full_names.update(find_full_names(row["title"] or ""))
        for holder, key, is_prose in _places(_read_source(source)) if source else ():
            full_names.update(find_full_names(holder[key], is_code=not is_prose))
            first_names.update(find_first_names(holder[key]))

    def select(query: str, *parameters: list[str]) -> list[tuple[Any, ...]]:
        return export.connection.execute(query, parameters).fetchall()

    # DuckDB streams the users, as they are too many to load.
    other_names = select(
        "WITH candidates AS MATERIALIZED (SELECT unnest(?) AS name) SELECT name FROM candidates JOIN Users ON name = DisplayName "
        "UNION SELECT name FROM candidates JOIN Users ON lower(name) = UserName",
        list(full_names),
    )
    common_names = select(
        "WITH candidates AS MATERIALIZED (SELECT unnest(?) AS name) SELECT name FROM candidates "
        "JOIN Users ON name = split_part(DisplayName, ' ', 1) AND name <> DisplayName "
        "GROUP BY name HAVING count(*) > (SELECT count(*) FROM Users) / 250000",
        list(first_names),
    )
    return NameRemover(
        (Participant(*row) for row in select("FROM participants")),
        (name for (name,) in other_names),
        (name for (name,) in common_names),
        description,
    )


def _source_file(version: int, code: Path | None) -> Path | None:
    """Return the file with a version's code; None if Meta Kaggle Code lacks it, or it is too large.

    A file's folders are the millions and thousands of its id, of four and three digits.
    """
    if code is None:
        return None
    stem = code / f"{version // 1_000_000:04}" / f"{version // 1000 % 1000:03}" / str(version)
    source = next((path for suffix in _SUFFIXES if (path := stem.with_suffix(suffix)).is_file()), None)
    return None if source is None or source.stat().st_size > LARGEST_SOURCE else source


def _read_source(path: Path) -> list[Any]:
    """Return a list of one element: the text of a script, or a notebook's JSON. One that is not valid is read as a script."""
    text = path.read_bytes().decode("utf-8-sig", errors="replace")
    return [(parse_notebook(text) if path.suffix == _SUFFIXES[0] else None) or text]


def _places(source: list[Any]) -> Iterator[tuple[Any, Any, bool]]:
    """Yield where a source has its texts: what holds one, the key in it, and whether it is the prose of a notebook."""
    holders: list[Any] = [source]
    while holders:
        holder = holders.pop()
        if is_cell := isinstance(holder, dict) and isinstance(holder.get("source"), str | list):
            holder["source"] = "".join(line for line in holder["source"] if isinstance(line, str))
        for key, value in holder.items() if isinstance(holder, dict) else enumerate(holder):
            if isinstance(value, str):
                yield holder, key, is_cell and key == "source" and holder.get("cell_type") != "code"
            elif isinstance(value, dict | list):
                holders.append(value)


def _clean_source(source: list[Any], names: NameRemover, posted_at: str) -> str:
    """Return a source without names: prose is cleaned as posts are, and all else at once, as it shares its variables."""
    places = list(_places(source))
    code = _BREAK.join(holder[key] for holder, key, is_prose in places if not is_prose)
    cleaned = iter(names.clean_source(code, posted_at).split(_BREAK))
    for holder, key, is_prose in places:
        holder[key] = names.clean_post(holder[key], posted_at) if is_prose else next(cleaned, "")
    return source[0] if isinstance(source[0], str) else json.dumps(source[0], ensure_ascii=False)
