"""A folder of Meta Kaggle's CSV files as tables in SQL: each file is checked and converted to Parquet once.

The files have many gigabytes: DuckDB streams them, and what does not fit into its memory goes to the disk.
"""

import csv
import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bot.research.importers.staging import importing_into, staging_folder
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
    "TeamMemberships": "TeamId UserId",
    "Submissions": "Id TeamId SourceKernelVersionId SubmissionDate ScoreDate IsAfterDeadline PublicScoreLeaderboardDisplay "
    "PublicScoreFullPrecision PrivateScoreLeaderboardDisplay PrivateScoreFullPrecision",
    "Users": "Id UserName DisplayName",
    "UserAchievements": "UserId Tier TierAchievementDate",
}
"""The columns that are read; all others never are. Users are read for the names that must not stay in texts."""
_OPTIONAL_TABLES = {"ForumMessageVotes", "KernelVotes", "Teams", "TeamMemberships", "Submissions", "UserAchievements"}
_OPTIONAL_COLUMNS = {"RawMarkdown"}
"""Tables and columns that an export may lack: their values are then unknown."""
_ROWS = {"UserAchievements": "Tier >= 2"}
"""Conditions on the rows to keep: since July 2025 every user is a contributor (1), and most rows only say that."""
_TEXTS = {"Slug", "Title", "EvaluationAlgorithmName", "Message", "RawMarkdown", "UserName", "DisplayName"}
_FLAGS = {"EvaluationAlgorithmIsMax", "IsBenchmark", "IsAfterDeadline"}

_INSTALL = "pip install 'kaggle-bot[meta-kaggle]'"
_PARQUET = "parquet"
_ABOUT_FILE = "about.json"
_MEMORY = "1GB"
"""Of DuckDB's buffers."""
_PIECE = 128_000_000
"""Bytes of a CSV file that are converted at a time: for an exact reading, DuckDB loads the whole file."""
_LONGEST_ROW = 16_000_000
"""In bytes."""


@dataclass(frozen=True)
class Export:
    """The open export: a connection to DuckDB in which every table can be selected from.

    All its times are those from which a thing is known: for a date without a time, the following midnight.
    """

    connection: "DuckDBPyConnection"
    sha256: dict[str, str] = field(default_factory=dict)
    """Of each CSV file, by table."""
    unreadable_dates: dict[str, int] = field(default_factory=dict)
    """Numbers of unreadable dates, by table; such rows are never shown."""


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
    present = [name for name in _TABLES if _parquet(folder, name).is_dir() or _size(folder, name)]
    if missing := [f"{name}.csv" for name in _TABLES if name not in present and name not in _OPTIONAL_TABLES]:
        raise UsageError(f"{folder} has no {', '.join(missing)}: download kaggle/meta-kaggle and unpack it there")
    with duckdb.connect() as connection:
        export = Export(connection)
        connection.execute(f"SET memory_limit = '{_MEMORY}'; SET preserve_insertion_order = false")
        connection.execute(f"SET temp_directory = {_quoted(folder / _PARQUET / '.temporary')}")
        _convert_new(export, folder, report)
        for name, columns in _TABLES.items():
            if name in present:
                path = _parquet(folder, name)
                connection.execute(f"CREATE VIEW {name} AS FROM read_parquet({_quoted(path / '*.parquet')})")
                facts = _read_about(path)
                export.sha256[name], export.unreadable_dates[name] = facts["sha256"], facts["unreadable_dates"]
            else:
                definition = ", ".join(
                    f"{column} {_type_of(column)}" for column in [*columns.split(), "UnreadableDates"]
                )
                connection.execute(f"CREATE TABLE {name} ({definition})")
        yield export


def _parquet(folder: Path, table: str) -> Path:
    """Return the folder of a converted table, with its pieces and facts on its CSV file."""
    return folder / _PARQUET / table


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
    if _type_of(column) != "TIMESTAMP":
        return f"CAST(raw.{column} AS {_type_of(column)})"
    time, day = (f"try_strptime(raw.{column}, '{form}')" for form in ("%m/%d/%Y %H:%M:%S", "%m/%d/%Y"))
    return f"coalesce({time}, {day} + INTERVAL 1 DAY)"


def _read_about(path: Path) -> dict[str, Any]:
    return dict(json.loads((path / _ABOUT_FILE).read_text(encoding="utf-8")))


def _version(folder: Path, table: str) -> str:
    """Return the version of a converted table; the CSV file's time represents its content."""
    stat = (folder / f"{table}.csv").stat()
    return f"{stat.st_size} {stat.st_mtime_ns} {_TABLES[table]}"


def _convert_new(export: Export, folder: Path, report: Callable[[str, float], None]) -> None:
    def is_new(table: str) -> bool:
        if not _size(folder, table):
            return False
        path = _parquet(folder, table)
        return not path.is_dir() or _read_about(path)["version"] != _version(folder, table)

    new_tables = [table for table in _TABLES if is_new(table)]
    if not new_tables:
        return
    done_bytes, total = 0, sum(_size(folder, table) for table in new_tables)
    with importing_into(folder / _PARQUET):
        for number, table in enumerate(new_tables, start=1):
            place = f"{number} of {len(new_tables)}, {_size(folder, table) / 1e6:,.0f} MB"
            for size in _convert(export, folder, table):
                report(f"converting {table}.csv ({place}); this is done only once", done_bytes / total)
                done_bytes += size


def _convert(export: Export, folder: Path, table: str) -> Iterator[int]:
    """Convert a CSV file, and yield the size of each piece before its conversion. Raises SnapshotError if it is not a table."""
    import duckdb

    source, target = folder / f"{table}.csv", _parquet(folder, table)
    header, version, digest, start = _read_header(source, table), _version(folder, table), hashlib.sha256(), 0
    with staging_folder(target) as place:
        piece_file = place / "piece.csv"
        for number, piece in enumerate(_read_pieces(source)):
            yield len(piece)
            digest.update(piece)
            piece_file.write_bytes(
                piece.replace(b"\0", b"")
            )  # exports have a few NULs, which JSON and databases refuse
            reader = _reader(piece_file, table, header, skip_header=number == 0)
            rows = f"SELECT {_selection(table, header)} FROM {reader}"  # noqa: S608 - our own
            converted_file = _quoted(place / f"{number:04}.parquet")
            copy = f"COPY (FROM ({rows}) WHERE {_ROWS.get(table, 'true')}) TO {converted_file}"
            try:
                export.connection.execute(f"{copy} (FORMAT parquet, COMPRESSION zstd)")
            except duckdb.Error as error:
                sentence = str(error).split("\nPossible")[0].replace("\n", " ")[:500]
                problem = f"cannot be read after byte {start:,}: {sentence} Download it again, or repair that row"
                raise SnapshotError([Problem(source.name, None, problem)]) from error
            start += len(piece)
        piece_file.unlink()
        unreadable = _count_unreadable_dates(export, place, source)
        facts = {"version": version, "sha256": digest.hexdigest(), "unreadable_dates": unreadable}
        (place / _ABOUT_FILE).write_text(json.dumps(facts), encoding="utf-8")
        shutil.rmtree(target, ignore_errors=True)
        place.rename(target)


def _read_header(source: Path, table: str) -> list[str]:
    with source.open(encoding="utf-8-sig", errors="replace", newline="") as file:
        header = next(csv.reader(file), [])
    missing = [name for name in _TABLES[table].split() if name not in header and name not in _OPTIONAL_COLUMNS]
    if missing or len(set(header)) != len(header):
        problem = f"lacks the columns {', '.join(missing)}" if missing else "names a column twice"
        raise SnapshotError([Problem(source.name, 1, f"{problem}; it has {', '.join(header)}")])
    return header


def _read_pieces(source: Path) -> Iterator[bytes]:
    """Yield a file in pieces of whole rows. Raises SnapshotError if it ends within a row, which DuckDB does not report."""
    buffer = b""
    with source.open("rb") as file:
        while chunk := file.read(_PIECE):
            buffer += chunk
            end = _end_of_rows(buffer)
            if len(buffer) - end > _LONGEST_ROW and len(chunk) == _PIECE:
                raise SnapshotError([Problem(source.name, None, f"has a row longer than {_LONGEST_ROW:,} bytes")])
            if end:
                yield buffer[:end]
            buffer = buffer[end:]
    if buffer and (buffer.count(b'"') % 2 or not buffer.endswith(b'"')):
        raise SnapshotError([Problem(source.name, None, "ends in the middle of a row: download it again")])
    if buffer:
        yield buffer + b"\n"


def _end_of_rows(data: bytes) -> int:
    """Return where the last whole row ends: after a line break with an even number of quotes before it."""
    end, quotes = len(data), data.count(b'"')
    while (line_break := data.rfind(b"\n", 0, end)) >= 0:
        quotes -= data.count(b'"', line_break, end)
        if quotes % 2 == 0:
            return line_break + 1
        end = line_break
    return 0


def _selection(table: str, header: list[str]) -> str:
    """Return the expressions that read the columns of a table, and count a row's unreadable dates."""
    expressions, unreadable = [], ["0"]
    for name in _TABLES[table].split():
        value = _value_of(name) if name in header else f"CAST(NULL AS {_type_of(name)})"
        expressions.append(f"{value} AS {name}")
        if name in header and _type_of(name) == "TIMESTAMP":
            unreadable.append(f"CAST(raw.{name} IS NOT NULL AND {value} IS NULL AS INTEGER)")
    return ", ".join([*expressions, f"{' + '.join(unreadable)} AS UnreadableDates"])


def _reader(path: Path, table: str, header: list[str], *, skip_header: bool) -> str:
    """Return the table function that reads a piece as text, in one thread: in several a quoted line break can end a row."""
    read_columns = _TABLES[table].split()
    names = (name if name in read_columns else f"unused {place}" for place, name in enumerate(header))
    columns = ", ".join(f"{_quoted(name)}: 'VARCHAR'" for name in names)
    return (
        f"read_csv({_quoted(path)}, auto_detect = false, header = {skip_header}, delim = ',', quote = '\"', escape = '\"', "
        f"nullstr = '', strict_mode = true, parallel = false, max_line_size = {_LONGEST_ROW}, "
        f"buffer_size = {2 * _LONGEST_ROW}, columns = {{{columns}}}) AS raw"
    )


def _count_unreadable_dates(export: Export, place: Path, source: Path) -> int:
    """Return how many rows have a date that cannot be read. Raises SnapshotError if most have: then it is another form."""
    query = "SELECT count(*) FILTER (UnreadableDates > 0), count(*) FROM read_parquet(?)"
    unreadable, rows = export.connection.execute(query, [str(place / "*.parquet")]).fetchone() or (0, 0)
    if 2 * unreadable > rows:
        problem = f"{unreadable:,} of {rows:,} rows have a date not formatted like 12/31/2024 or 12/31/2024 23:59:59"
        raise SnapshotError([Problem(source.name, None, problem)])
    return int(unreadable)
