"""A folder of Meta Kaggle's CSV files as tables in SQL: each file is checked and converted to Parquet once.

The files have many gigabytes: DuckDB streams them, and what does not fit into its memory goes to the disk.
"""

import csv
import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bot.research.importers.staging import importing_into, staged
from state.errors import Problem, SnapshotError, UsageError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_TABLES = {
    "Competitions": "Id Slug Title ForumId EnabledDate DeadlineDate EvaluationAlgorithmName EvaluationAlgorithmIsMax "
    "MaxDailySubmissions",
    "ForumTopics": "Id ForumId KernelId FirstForumMessageId CreationDate",
    "ForumMessages": "Id ForumTopicId PostUserId PostDate ReplyToForumMessageId Message RawMarkdown",
    "ForumMessageVotes": "ForumMessageId FromUserId VoteDate",
    "Kernels": "Id ForkParentKernelVersionId ForumTopicId MadePublicDate",
    "KernelVersions": "Id ScriptId ScriptLanguageId AuthorUserId CreationDate VersionNumber Title",
    "KernelVersionCompetitionSources": "KernelVersionId SourceCompetitionId",
    "KernelVotes": "UserId KernelVersionId VoteDate",
    "Teams": "Id CompetitionId IsBenchmark PrivateLeaderboardSubmissionId PrivateLeaderboardRank",
    "Submissions": "Id TeamId SourceKernelVersionId SubmissionDate ScoreDate IsAfterDeadline PublicScoreLeaderboardDisplay "
    "PublicScoreFullPrecision PrivateScoreLeaderboardDisplay PrivateScoreFullPrecision",
    "Users": "Id UserName DisplayName",
    "UserAchievements": "UserId Tier TierAchievementDate",
}
"""The columns that are read; all others never are. Users are read for the names that must not stay in texts."""
_OPTIONAL = {"ForumMessageVotes", "KernelVotes", "Teams", "Submissions", "UserAchievements", "RawMarkdown"}
"""Tables and columns that an export may lack: what they tell is unknown then."""
_ROWS = {"UserAchievements": "Tier >= 2"}
"""Which rows are worth keeping: everybody has been a contributor (1) since July 2025, and most rows are theirs."""
_TEXTS = {"Slug", "Title", "EvaluationAlgorithmName", "Message", "RawMarkdown", "UserName", "DisplayName"}
_FLAGS = {"EvaluationAlgorithmIsMax", "IsBenchmark", "IsAfterDeadline"}

_INSTALL = "pip install 'kaggle-bot[meta-kaggle]'"
_PARQUET = "parquet"
_MEMORY = "1GB"
"""Of DuckDB's buffers; its readers and this process take as much again at most."""
_CHUNK = 1 << 24
_LONGEST_ROW = 16_000_000
"""Bytes; the reader holds twice as much."""
_HASHING = 0.2
"""Share of the time of a conversion that the first pass over a file takes."""
_POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Export:
    """The open export: a connection to DuckDB in which every table can be selected from.

    All its times are those from which a thing is known: where there is a date alone, the midnight after it.
    """

    connection: "DuckDBPyConnection"
    sha256: dict[str, str] = field(default_factory=dict)
    """Of each CSV file, by table."""
    unreadable_dates: dict[str, int] = field(default_factory=dict)
    """How many dates could not be read, by table, if any; such rows are never shown."""


@contextmanager
def open_export(folder: Path, report: Callable[[str, float], None]) -> Iterator[Export]:
    """Open a folder of CSV files; those that are new or have changed are converted first, into `folder`/parquet.

    `report` gets what is being done, and the share of the conversion that is done. A CSV file may be deleted once it is
    converted.

    Raises:
        UsageError: DuckDB is not installed, the folder is not Meta Kaggle's, or cannot be written to.
        SnapshotError: a file is cut off, or has rows or columns that are not Meta Kaggle's.
    """
    try:
        import duckdb
    except ImportError:
        raise UsageError(f"reading Meta Kaggle requires DuckDB: {_INSTALL}") from None
    present = [name for name in _TABLES if _parquet(folder, name).is_file() or _size(folder, name)]
    if missing := [f"{name}.csv" for name in _TABLES if name not in present and name not in _OPTIONAL]:
        raise UsageError(f"{folder} lacks {', '.join(missing)}: download kaggle/meta-kaggle and unpack it there")
    with duckdb.connect() as connection:
        export = Export(connection)
        connection.execute(f"SET memory_limit = '{_MEMORY}'; SET preserve_insertion_order = false")
        connection.execute("SET enable_progress_bar = true; SET enable_progress_bar_print = false")
        connection.execute(f"SET temp_directory = {_quoted(folder / _PARQUET / '.temporary')}")
        _convert_new(export, folder, report)
        for name, columns in _TABLES.items():
            if name in present:
                _open(export, _parquet(folder, name), name)
            else:
                definition = ", ".join(f"{column} {_type_of(column)}" for column in columns.split())
                connection.execute(f"CREATE TABLE {name} ({definition})")
        yield export


def _parquet(folder: Path, table: str) -> Path:
    return folder / _PARQUET / f"{table}.parquet"


def _size(folder: Path, table: str) -> int:
    """Return the bytes of a CSV file, 0 if there is none. Exports have had empty files, which tell nothing."""
    source = folder / f"{table}.csv"
    return source.stat().st_size if source.is_file() else 0


def _quoted(text: object) -> str:
    return "'" + str(text).replace("'", "''") + "'"


def _type_of(column: str) -> str:
    if column in _TEXTS:
        return "VARCHAR"
    if column in _FLAGS:
        return "BOOLEAN"
    return "TIMESTAMP" if column.endswith("Date") else "DOUBLE" if "Score" in column else "BIGINT"


def _value_of(column: str) -> str:
    """Return the expression that reads a column from the text in the CSV; null for a date that cannot be read."""
    match _type_of(column):
        case "TIMESTAMP":
            time, day = (f"try_strptime(raw.{column}, '{form}')" for form in ("%m/%d/%Y %H:%M:%S", "%m/%d/%Y"))
            return f"coalesce({time}, {day} + INTERVAL 1 DAY)"
        case "VARCHAR":
            return (
                f"replace(raw.{column}, chr(0), '')"  # exports have a few of them, and JSON and databases refuse them
            )
        case type_name:
            return f"CAST(raw.{column} AS {type_name})"


def _open(export: Export, path: Path, table: str) -> None:
    export.connection.execute(f"CREATE VIEW {table} AS FROM read_parquet({_quoted(path)})")
    export.sha256[table] = _metadata(export, path)["sha256"]
    unreadable = export.connection.execute(f"SELECT sum(UnreadableDates) FROM {table}").fetchone()  # noqa: S608 - our name
    if unreadable and unreadable[0]:
        export.unreadable_dates[table] = int(unreadable[0])


def _metadata(export: Export, path: Path) -> dict[str, str]:
    """Return what was noted of the CSV file from which a table was converted."""
    query = "SELECT decode(key), decode(value) FROM parquet_kv_metadata(?)"
    return dict(export.connection.execute(query, [str(path)]).fetchall())


def _version(folder: Path, table: str) -> str:
    """Return what a converted table depends on; the file's time stands for its content."""
    stat = (folder / f"{table}.csv").stat()
    return f"{stat.st_size} {stat.st_mtime_ns} {_TABLES[table]}"


def _convert_new(export: Export, folder: Path, report: Callable[[str, float], None]) -> None:
    def is_new(table: str) -> bool:
        path = _parquet(folder, table)
        if not _size(folder, table):
            return False
        return not path.is_file() or _metadata(export, path).get("version") != _version(folder, table)

    waiting = [table for table in _TABLES if is_new(table)]
    if not waiting:
        return
    done, total = 0, sum(_size(folder, table) for table in waiting)
    with importing_into(folder / _PARQUET):
        for number, table in enumerate(waiting, start=1):
            size = _size(folder, table)
            what = f"converting {table}.csv ({number} of {len(waiting)}, {size / 1e6:,.0f} MB), once"

            def advance(share: float, what: str = what, done: int = done, size: int = size) -> None:
                report(what, (done + share * size) / total)

            _convert(export, folder, table, advance)
            done += size


def _convert(export: Export, folder: Path, table: str, advance: Callable[[float], None]) -> None:
    source, target = folder / f"{table}.csv", _parquet(folder, table)
    header, columns = _read_header(source, table), _TABLES[table].split()
    version, sha256 = _version(folder, table), _check_end(source, advance)
    values = [_value_of(name) if name in header else f"CAST(NULL AS {_type_of(name)})" for name in columns]
    dates = [name for name in columns if _type_of(name) == "TIMESTAMP"]
    unreadable = [f"CAST(raw.{name} IS NOT NULL AND {_value_of(name)} IS NULL AS INTEGER)" for name in dates]
    selected = [f"{value} AS {name}" for value, name in zip(values, columns, strict=True)]
    selected.append(f"{' + '.join(['0', *unreadable])} AS UnreadableDates")
    names = (name if name in columns else f"unused {place}" for place, name in enumerate(header))
    texts = ", ".join(f"{_quoted(name)}: 'VARCHAR'" for name in names)
    # In one thread: in several, a line break within quotes could be taken for the end of a row.
    reader = (
        f"read_csv({_quoted(source)}, auto_detect = false, header = true, delim = ',', quote = '\"', escape = '\"', "
        f"nullstr = '', strict_mode = true, parallel = false, max_line_size = {_LONGEST_ROW}, "
        f"buffer_size = {2 * _LONGEST_ROW}, "
        f"columns = {{{texts}}})"
    )
    with staged(target) as place:
        partial = place / target.name
        _run(
            export,
            f"COPY (FROM (SELECT {', '.join(selected)} FROM {reader} AS raw) WHERE {_ROWS.get(table, 'true')}) "  # noqa: S608
            f"TO {_quoted(partial)} (FORMAT parquet, COMPRESSION zstd, "
            f"KV_METADATA {{version: {_quoted(version)}, sha256: {_quoted(sha256)}}})",
            source,
            lambda share: advance(_HASHING + (1 - _HASHING) * share),
        )
        _check_dates(export, partial, source)
        partial.replace(target)


def _read_header(source: Path, table: str) -> list[str]:
    with source.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        header = next(csv.reader(file), [])
    missing = [name for name in _TABLES[table].split() if name not in header and name not in _OPTIONAL]
    if missing or len(set(header)) != len(header):
        problem = f"lacks the columns {', '.join(missing)}" if missing else "names a column twice"
        raise SnapshotError([Problem(source.name, 1, f"{problem}; it has {', '.join(header)}")])
    return header


def _check_end(source: Path, advance: Callable[[float], None]) -> str:
    """Return a file's SHA-256 in hexadecimal. Raises SnapshotError if it was cut off, of which DuckDB says nothing."""
    digest, quotes, done, size, last = hashlib.sha256(), 0, 0, source.stat().st_size, b""
    with source.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            quotes, done, last = quotes + chunk.count(b'"'), done + len(chunk), chunk[-1:]
            advance(_HASHING * done / size)
    if quotes % 2 or last != b"\n":
        raise SnapshotError([Problem(source.name, None, "ends in the middle of a row: download it again")])
    return digest.hexdigest()


def _run(export: Export, statement: str, source: Path, advance: Callable[[float], None]) -> None:
    """Run a statement that takes long in a thread, and report how far it is. Raises SnapshotError for a broken file."""
    import duckdb

    errors: list[duckdb.Error] = []

    def execute() -> None:
        try:
            export.connection.execute(statement)
        except duckdb.Error as error:
            errors.append(error)

    thread = threading.Thread(target=execute)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_POLL_SECONDS)
            advance(max(0.0, export.connection.query_progress() / 100))
    finally:
        export.connection.interrupt()  # after Ctrl+C; otherwise it has ended
        thread.join()
    if errors:
        sentence = str(errors[0]).split("\nPossible")[0].replace("\n", " ")[:500]
        raise SnapshotError([Problem(source.name, None, f"cannot be read: {sentence}")]) from errors[0]


def _check_dates(export: Export, path: Path, source: Path) -> None:
    query = "SELECT count(*) FILTER (UnreadableDates > 0), count(*) FROM read_parquet(?)"
    unreadable, rows = export.connection.execute(query, [str(path)]).fetchone() or (0, 0)
    if 2 * unreadable > rows:
        problem = f"{unreadable:,} of {rows:,} rows have a date that is not like 12/31/2024 or 12/31/2024 23:59:59"
        raise SnapshotError([Problem(source.name, None, problem)])
