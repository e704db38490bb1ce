"""One competition out of made-up tables with every quirk of the real ones."""

import csv
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.research.importers.meta_kaggle.competitions import read_competitions
from bot.research.importers.meta_kaggle.export import open_export
from bot.research.importers.meta_kaggle.importing import ImportResult, import_competition
from bot.research.importers.mle_live.folders import read_tasks
from scrapers.snapshots.check import check
from scrapers.snapshots.snapshot import Snapshot, format_summary
from state.errors import SnapshotError
from tests.bot.research.importers.meta_kaggle.conftest import read_lines
from tests.bot.research.importers.meta_kaggle.made_export import small_tables, write_export, write_table
from tests.scrapers.small import METRICS, write_manifest, write_small

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def run(tables: Path, out: Path, slug: str = "tiny-cup", **options: Any) -> ImportResult:
    """Import one competition."""
    with open_export(tables, lambda what, share: None) as export:
        (competition,) = read_competitions(export, NOW, [slug])
        return import_competition(export, competition, out, METRICS, **options)


@pytest.fixture(scope="module")
def snapshot(tables: Path, code: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The snapshot of the small export, to be read only."""
    out = tmp_path_factory.mktemp("out")
    result = run(tables, out, code=code)
    assert result.status == "imported", result.reason
    return out / "tiny-cup"


def column(snapshot: Path, name: str, *columns: str) -> dict[Any, Any]:
    """Return values of the rows of a file by id."""
    rows = read_lines(snapshot / f"community/{name}.jsonl")
    return {row["id"]: tuple(row[name] for name in columns) if len(columns) > 1 else row[columns[0]] for row in rows}


def test_a_message_is_there_from_its_time_and_not_before_its_topic_or_the_start(snapshot: Path) -> None:
    assert column(snapshot, "messages", "posted_at") == {
        9001: "2024-02-01T12:30:05Z",
        9002: "2024-02-02T01:02:03Z",
        9003: "2024-02-03T00:00:00Z",
        9004: "2024-01-10T10:00:00Z",  # posted before the competition started
        9006: "2024-02-10T09:00:00Z",
        9011: "2024-02-10T00:00:00Z",  # a date without a time of day
        9012: "2024-05-01T09:00:00Z",
    }
    assert column(snapshot, "messages", "parent_id") == dict.fromkeys((9001, 9003, 9004, 9006, 9011, 9012)) | {
        9002: 9001
    }


def test_a_text_that_links_to_something_later_counts_as_edited_then(tmp_path: Path) -> None:
    links = {
        "https://www.kaggle.com/c/tiny-cup/discussion/507": "2024-05-01T09:00:00Z",
        "https://www.kaggle.com/discussions/general/507": "2024-05-01T09:00:00Z",
        "[end](/competitions/tiny-cup/discussion/507)": "2024-05-01T09:00:00Z",
        "https://www.kaggle.com/c/tiny-cup/forums/t/507/end": "2024-05-01T09:00:00Z",
        "https://www.kaggle.com/c/tiny-cup/discussion/501#9012": "2024-05-01T09:00:00Z",
        "https://www.kaggle.com/code/ada_l/first?scriptVersionId=4003": "2024-02-20T10:00:00Z",
        "https://www.kaggle.com/c/tiny-cup/discussion/502#9004": None,
        "https://www.kaggle.com/c/tiny-cup/discussion/123456789012345678901": None,
    }
    tables = small_tables()
    message = {"ForumTopicId": 501, "PostDate": "02/03/2024 00:00:00"}
    tables["ForumMessages"] += [message | {"Id": id, "RawMarkdown": link} for id, link in enumerate(links, 9100)]
    run(write_export(tmp_path / "tables", tables), tmp_path)
    edited = column(tmp_path / "tiny-cup", "messages", "edited_at")
    assert [edited[id] for id, _ in enumerate(links, 9100)] == list(links.values())


def test_texts_keep_their_quotes_and_lines_and_lose_names(snapshot: Path) -> None:
    texts = column(snapshot, "messages", "markdown")
    assert texts[9001] == 'Use the **log**, says [@someone](/someone).\n\n```\na, "b"\n```'
    assert texts[9002] == (
        "Thanks @author-2, see https://www.kaggle.com/author-2, write to [e-mail address]!\n"
        'She said "0.61"\r\n`@cache` and\n```python\n@property\nx@w.mean()\n```\nRegards, author-2'
    )
    assert texts[9004] == "Before the start."  # without its NUL
    whole = "".join(path.read_text() for path in snapshot.rglob("*.*"))
    assert "Nice notebook, someone and I" in texts[9006]
    assert not [
        name
        for name in ("Lovelace", "ada_l", "example.org", "Deep Learning", "Giulia", "Welcome", "solution")
        if name in whole
    ]


def test_topics_have_neither_titles_nor_other_values_of_the_export(snapshot: Path) -> None:
    assert column(snapshot, "topics", "title", "votes", "tier", "author", "posted_at") == {
        501: (None, None, None, "2", "2024-02-01T12:30:05Z"),
        502: (None, None, None, "1", "2024-01-10T10:00:00Z"),
        503: (None, None, None, "5", "2024-02-10T09:00:00Z"),
        507: (None, None, None, "4", "2024-05-01T09:00:00Z"),
    }


def test_committed_versions_of_public_notebooks_are_there_from_the_day_after_publication(snapshot: Path) -> None:
    assert column(snapshot, "kernels", "ref", "created_at", "parent_ref", "path") == {
        4001: ("meta-kaggle/301", "2024-02-05T00:00:00Z", None, "kernels/4001.ipynb"),
        4003: ("meta-kaggle/301", "2024-02-20T10:00:00Z", None, "kernels/4003.ipynb"),
        4006: ("meta-kaggle/304", "2024-02-09T00:00:00Z", None, None),
        1234005: ("meta-kaggle/303", "2024-02-09T00:00:00Z", "meta-kaggle/301", "kernels/1234005.py"),
    }
    assert column(snapshot, "kernels", "title")[4003] == "Better, by author-2"
    assert column(snapshot, "kernels", "language", "kind")[4006] == (None, None)


def test_sources_lose_names_and_keep_decorators_and_products_of_matrices(snapshot: Path) -> None:
    notebook = json.loads((snapshot / "community/kernels/4001.ipynb").read_text())
    assert [cell["source"] for cell in notebook["cells"]] == [
        "By author-2, and\n[e-mail address]:\nauthor-2\n@author-3, @someone\nauthor-5",
        "import deep\nprint('by:\\nauthor-2')",
        "fit(deep)",
    ]
    assert (snapshot / "community/kernels/4003.ipynb").read_text() == '{"cells": [{"source": "By author-2"'  # not JSON
    script = (snapshot / "community/kernels/1234005.py").read_text()
    assert script == "@cache\ndef f(x, w):  # kaggle.com/author-2/first, [e-mail address]\n    return x@w.mean()\n"


def readings(snapshot: Path, target: str, id: int, field: str) -> list[tuple[str, object]]:
    rows = read_lines(snapshot / "community/observations.jsonl")
    return [(r["at"], r[field]) for r in rows if (r["target"], r["id"]) == (target, id) and r[field] is not None]


def test_votes_count_from_the_day_after_each_person_once(snapshot: Path) -> None:
    of_message = [("2024-02-01T12:30:05Z", 0), ("2024-02-02T00:00:00Z", 1), ("2024-02-04T00:00:00Z", 2)]
    assert readings(snapshot, "message", 9001, "votes") == of_message
    assert readings(snapshot, "topic", 501, "votes") == of_message
    # A notebook's votes are those of all its versions, and each version has them until the next.
    assert readings(snapshot, "kernel", 4001, "votes") == [("2024-02-05T00:00:00Z", 1), ("2024-02-16T00:00:00Z", 2)]
    assert readings(snapshot, "kernel", 4003, "votes") == [("2024-02-20T10:00:00Z", 2), ("2024-02-26T00:00:00Z", 3)]


def test_a_tier_counts_from_the_day_after_unless_its_date_is_that_of_a_bulk_update(snapshot: Path) -> None:
    assert readings(snapshot, "message", 9001, "tier") == [("2024-02-06T00:00:00Z", "MASTER")]
    assert readings(snapshot, "message", 9002, "tier") == []


def test_a_version_has_the_score_of_its_first_submission_from_the_day_after(snapshot: Path) -> None:
    assert readings(snapshot, "kernel", 4001, "public_score") == [("2024-02-11T00:00:00Z", 0.6)]


def test_leaderboards_are_those_of_teams_without_benchmarks_and_without_late_undated_and_infinite_scores(
    snapshot: Path,
) -> None:
    board = [
        (row["at"], row["team"], row["score"]) for row in read_lines(snapshot / "community/public_leaderboard.jsonl")
    ]
    assert board == [
        ("2024-02-02T00:00:00Z", 1, 0.7),
        ("2024-02-07T00:00:00Z", 2, 0.62),
        ("2024-02-11T00:00:00Z", 1, 0.6),
    ]
    with (snapshot / "leaderboard.csv").open() as file:
        assert [row["score"] for row in csv.DictReader(file)] == ["0.55", "0.65"]


def test_the_manifest_says_what_was_left_out_and_of_which_files_it_was_made(snapshot: Path) -> None:
    manifest = json.loads((snapshot / "snapshot.json").read_text())
    assert manifest["collected_at"] == "2024-05-01T09:00:00Z"
    left_out = [source for source in manifest["sources"] if source.startswith("left out")]
    assert left_out == [
        "left out: authors whose tier has no date, or only that of a bulk update (1)",
        "left out: messages that are empty, have no date, or are dated after the export (2)",
        "left out: notebooks that are private or have no publication date (1)",
        "left out: topics without a message that has a date (1)",
        "left out: votes on messages without a date or a voter (2)",
        "left out: votes on notebooks without a voter, or not dated after the version (1)",
    ]
    assert any("ForumMessages.csv " in source for source in manifest["sources"])


def test_a_snapshot_without_data_can_be_read_and_not_worked_on(snapshot: Path) -> None:
    shown = format_summary(Snapshot.load(snapshot, METRICS, community_only=True))
    assert "data: not included (posts can be read but not replayed)" in shown
    assert "public leaderboard by day: 2 teams, 3 scores" in shown
    with pytest.raises(SnapshotError, match="has community data but no task"):
        Snapshot.load(snapshot, METRICS)


def test_data_and_answers_come_from_a_snapshot_of_the_task(tables: Path, tmp_path: Path) -> None:
    task = write_small(tmp_path / "tasks/tiny-cup")
    write_manifest(task, slug="tiny-cup")
    result = run(tables, tmp_path / "out", task=read_tasks(tmp_path / "tasks")["tiny-cup"])
    assert result.status == "imported", result.reason
    made = Snapshot.load(tmp_path / "out/tiny-cup", METRICS)
    assert (made.card.metric.name, made.card.deadline) == ("rmse", datetime(2024, 4, 10, 23, 59, tzinfo=UTC))
    assert made.card.max_daily_submissions == 5
    assert (made.path / "leaderboard.csv").read_bytes() == (task / "leaderboard.csv").read_bytes()
    assert len(made.community.messages) == 7
    assert run(tables, tmp_path / "out").status == "already exists"


@pytest.mark.parametrize(
    ("slug", "reason"),
    [
        ("endless-cup", "it was still running when the tables were exported"),
        ("backward-cup", "its deadline is before its start"),
    ],
)
def test_what_cannot_be_built_fails_with_the_reason(tables: Path, tmp_path: Path, slug: str, reason: str) -> None:
    assert run(tables, tmp_path, slug).reason == reason


def test_where_the_start_is_a_mistake_the_first_post_stands_in_for_it(tables: Path, tmp_path: Path) -> None:
    assert run(tables, tmp_path, "old-cup").status == "imported"
    assert column(tmp_path / "old-cup", "messages", "posted_at")[9004] == "2024-01-05T08:00:00Z"


def test_tables_of_other_years_give_the_same(snapshot: Path, code: Path, tmp_path: Path) -> None:
    """CRLF and columns in another order, as in 2023; no markdown, as in 2020; and tables that are empty or missing."""
    tables = write_export(tmp_path / "tables", small_tables())
    for name, rows in small_tables().items():
        if name == "ForumMessages":
            continue
        write_table(tables, name, rows, line_end="\r\n", reverse=True)
    rows = [row | {"Message": row.get("Message") or row.get("RawMarkdown")} for row in small_tables()["ForumMessages"]]
    write_table(tables, "ForumMessages", rows, lacking=["RawMarkdown"])
    (tables / "KernelVotes.csv").write_bytes(b"")
    (tables / "Submissions.csv").unlink()
    assert run(tables, tmp_path / "out", code=code).status == "imported"
    other = tmp_path / "out/tiny-cup"
    for name in ("kernels.jsonl", "topics.jsonl"):
        assert (other / "community" / name).read_text() == (snapshot / "community" / name).read_text()
    assert column(other, "messages", "posted_at") == column(snapshot, "messages", "posted_at")
    assert readings(other, "kernel", 4001, "votes") == []
    assert not (other / "leaderboard.csv").exists()


@pytest.mark.parametrize(
    ("file", "values", "fault"),
    [
        ("topics", {"title": "1st place"}, "has a title as of the day of collection"),
        ("messages", {"votes": 3}, "has votes or a tier as of the day of collection"),
        ("messages", {"posted_at": None}, "has no time"),
        ("messages", {"posted_at": "2024-01-09T00:00:00Z"}, "is dated before the competition's start"),
        ("messages", {"posted_at": "2024-06-09T00:00:00Z"}, "or after the day of collection"),
        ("kernels", {"public_score": 0.5}, "has a score as of the day of collection"),
        ("observations", {"at": "2024-01-10T09:00:00Z"}, "is dated before its post"),
        (
            "observations",
            {"at": "2024-01-20T09:00:00Z"},
            "has a date that is neither midnight nor the time of its post",
        ),
        ("observations", {"at": "2024-06-20T00:00:00Z"}, "is dated after the day of collection"),
        ("public_leaderboard", {"at": "2024-02-02T08:00:00Z"}, "is not dated at midnight"),
        ("public_leaderboard", {"score": 0.1}, "is not better than an earlier score of the same team"),
    ],
)
def test_the_check_finds_what_could_be_seen_too_early(
    snapshot: Path, tmp_path: Path, file: str, values: dict[str, Any], fault: str
) -> None:
    broken = shutil.copytree(snapshot, tmp_path / "tiny-cup")
    path = broken / f"community/{file}.jsonl"
    first, *rows = read_lines(path)
    path.write_text("".join(json.dumps(row) + "\n" for row in (first | values, *rows)))
    problems = check(broken, METRICS, community_only=True).problems
    assert any(fault in problem.message for problem in problems), problems
    assert {problem.file for problem in problems} >= {f"community/{file}.jsonl"}
