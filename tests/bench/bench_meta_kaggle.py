"""Imports from a made-up Meta Kaggle of ten million messages and ten million versions of notebooks; `--rows` for another size.

Printed are the seconds and the largest memory of the first opening (the conversion), of listing, and of importing three
competitions one after the other, each step in a process of its own. The tables need about 10 GB in `--folder`.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.bot.research.importers.meta_kaggle.made_export import SCHEMA

COMPETITIONS = 2_000
_MEGABYTE = 1024
"""In the unit of `ru_maxrss`."""
# Every competition has a forum of its number and an equal share of all rows, spread over ten years as Kaggle's are: a topic's
# messages are near each other in the file, and a competition's topics are not.
_WHEN = "TIMESTAMP '2013-01-01' + CAST({share} * 4000 * 86400 AS INTEGER) * INTERVAL 1 SECOND"
_MOMENT, _DAY = "strftime({0}, '%m/%d/%Y %H:%M:%S')", "strftime({0}, '%m/%d/%Y')"
TABLES = {
    "Competitions": (
        "competitions",
        {
            "Slug": "format('competition-{}', i)",
            "Title": "format('A \"title\", {}', i)",
            "ForumId": "i",
            "EnabledDate": _MOMENT.format("TIMESTAMP '2013-01-01' + (i % 3650) * INTERVAL 1 DAY"),
            "DeadlineDate": _MOMENT.format("TIMESTAMP '2013-04-01' + (i % 3650) * INTERVAL 1 DAY"),
            "EvaluationAlgorithmName": "'AUC'",
            "EvaluationAlgorithmIsMax": "'True'",
            "Overview": "repeat('A line of the overview.\n', 400)",
        },
    ),
    "ForumTopics": (
        "rows / 8",
        {
            "ForumId": "1 + i % competitions",
            "FirstForumMessageId": "i * 8",
            "CreationDate": _MOMENT.format(_WHEN.format(share="i * 8.0 / rows")),
            "Title": "format('Topic {}', i)",
        },
    ),
    "ForumMessages": (
        "rows",
        {
            "ForumTopicId": "i // 8",
            "PostUserId": "1 + hash(i) % 400000",
            "PostDate": _MOMENT.format(_WHEN.format(share="i * 1.0 / rows")),
            "ReplyToForumMessageId": "CASE WHEN i % 8 > 0 THEN i - 1 END",
            "Message": "'<p>' || repeat(md5(i::VARCHAR) || ' ', 1 + i % 12) || '</p>'",
            "RawMarkdown": "repeat(md5(i::VARCHAR) || ' \"quoted\", and\n', 1 + i % 12) || format('by Name{} Surname{}', i, i)",
        },
    ),
    "ForumMessageVotes": (
        "rows",
        {
            "ForumMessageId": "1 + hash(i) % rows",
            "FromUserId": "1 + hash(i + 1) % 400000",
            "VoteDate": _DAY.format(_WHEN.format(share="(hash(i) % rows) * 1.0 / rows")),
        },
    ),
    "Kernels": (
        "rows / 10",
        {
            "AuthorUserId": "1 + hash(i) % 400000",
            "ForkParentKernelVersionId": "CASE WHEN i % 3 = 0 THEN 1 + hash(i) % rows END",
            "MadePublicDate": _DAY.format(_WHEN.format(share="i * 10.0 / rows")),
        },
    ),
    "KernelVersions": (
        "rows",
        {
            "ScriptId": "i // 10",
            "ScriptLanguageId": "9",
            "AuthorUserId": "1 + hash(i // 10) % 400000",
            "CreationDate": _MOMENT.format(_WHEN.format(share="i * 1.0 / rows")),
            "VersionNumber": "CASE WHEN i % 5 < 2 THEN i % 10 END",
            "Title": "format('Notebook {}, \"mine\"', i // 10)",
            "DockerImage": "repeat(md5(i::VARCHAR), 2)",
        },
    ),
    "KernelVersionCompetitionSources": (
        "rows / 3",
        {"KernelVersionId": "i * 3", "SourceCompetitionId": "1 + (i * 3 // 10) % competitions"},
    ),
    "KernelVotes": (
        "rows / 2",
        {
            "UserId": "1 + hash(i) % 400000",
            "KernelVersionId": "i * 2",
            "VoteDate": _DAY.format(_WHEN.format(share="i * 2.0 / rows")),
        },
    ),
    "Teams": (
        "rows / 3",
        {
            "CompetitionId": "1 + i % competitions",
            "TeamName": "format('Team {}', i)",
            "PrivateLeaderboardSubmissionId": "i * 3",
        },
    ),
    "TeamMemberships": ("rows / 3", {"TeamId": "i", "UserId": "1 + hash(i) % 400000"}),
    "Submissions": (
        "rows",
        {
            "TeamId": "i // 3",
            "SourceKernelVersionId": "CASE WHEN i % 4 = 0 THEN i END",
            "SubmissionDate": _DAY.format(_WHEN.format(share="i * 1.0 / rows")),
            "IsAfterDeadline": "'False'",
            "PublicScoreLeaderboardDisplay": "(hash(i) % 100000) / 100000.0",
            "PrivateScoreLeaderboardDisplay": "(hash(i + 1) % 100000) / 100000.0",
        },
    ),
    "Users": ("rows * 2", {"UserName": "format('user{}', i)", "DisplayName": "format('Name{} Surname{}', i, i)"}),
    "UserAchievements": (
        "1600000",
        {"UserId": "i // 4", "Tier": "i % 5", "TierAchievementDate": _DAY.format(_WHEN.format(share="i / 1600000.0"))},
    ),
}
"""Number of rows, and an expression of the row number `i` (from 1) for each column that is not null."""


def make_tables(folder: Path, rows: int) -> None:
    """Write all tables as CSV, every field quoted."""
    import duckdb

    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        connection.execute("SET memory_limit = '2GB'; SET preserve_insertion_order = false")
        for name, (count, values) in TABLES.items():
            columns = {"Id": "i"} | dict.fromkeys(SCHEMA[name].split(), "NULL") | {"Id": "i"} | values
            selected = ", ".join(
                f"coalesce(CAST({value} AS VARCHAR), '') AS {column}" for column, value in columns.items()
            )
            number = count.replace("rows", str(rows)).replace("competitions", str(COMPETITIONS))
            source = selected.replace("rows", str(rows)).replace("competitions", str(COMPETITIONS))
            connection.execute(
                f"COPY (SELECT {source} FROM range(1, CAST({number} AS BIGINT) + 1) AS t(i)) "  # noqa: S608 - our own
                f"TO '{folder / name}.csv' (FORMAT csv, HEADER, FORCE_QUOTE *)"
            )


def run(*arguments: str) -> str:
    """Run a command of the bot, and say how long it took, and its largest memory."""
    code = (
        "import resource, sys; from bot.cli import app\n"
        "try: app(sys.argv[1:])\n"
        "finally: print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
    )
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    memory = int(done.stderr.split()[-1]) / _MEGABYTE
    return f"{time.monotonic() - began:.1f} s, {processor:.1f} s of processor time, {memory:,.0f} MB"


def main() -> None:
    """Make the tables, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--folder", type=Path, help="where the tables go, and stay (default: a temporary folder)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        if not (folder / "Users.csv").exists():
            make_tables(folder, options.rows)
        size = sum(path.stat().st_size for path in folder.glob("*.csv"))
        print(f"{options.rows:,} messages and versions of notebooks, {size / 1e9:.1f} GB in all", flush=True)
        for what in ("conversion and first list", "list"):
            print(f"{what}:", run("snapshot", "list", "meta-kaggle", str(folder), "--json"), flush=True)
        for slug in ("competition-100", "competition-1000", "competition-1900"):
            out = Path(temporary, "out")
            told = run(
                "snapshot", "import", "meta-kaggle", str(folder), "--competition", slug, "--out", str(out), "--json"
            )
            messages = (out / slug / "community/messages.jsonl").read_bytes().count(b"\n")
            print(f"import of {slug}, {messages:,} messages: {told}", flush=True)


if __name__ == "__main__":
    main()
