"""Checks of a whole snapshot: right ones pass, and each thing that is wrong is named with its place."""

import json
import os
import shutil
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scrapers.snapshots.check import check
from tests.scrapers.small import (
    KERNEL,
    MESSAGE,
    METRICS,
    OBSERVATION,
    TOPIC,
    problems_after,
    write_csv,
    write_manifest,
    write_rows,
    write_small,
)

Change = Callable[[Path], object]


def test_a_correct_snapshot_has_no_problems(tmp_path: Path) -> None:
    assert check(write_small(tmp_path / "small"), METRICS).problems == ()


def test_a_folder_that_does_not_exist_is_one_problem(tmp_path: Path) -> None:
    problems = check(tmp_path / "nothing", METRICS).problems
    assert [p.file for p in problems] == ["snapshot.json"]
    assert "no such folder" in problems[0].message


def test_an_empty_folder_lacks_each_required_file(tmp_path: Path) -> None:
    files = {p.file for p in check(tmp_path, METRICS).problems}
    assert files >= {"snapshot.json", "description.md", "leaderboard.csv", "private/answers.csv"}


def test_a_snapshot_without_community_is_legal(tmp_path: Path) -> None:
    assert problems_after(tmp_path / "s", lambda s: shutil.rmtree(s / "community")) == []


def _truncate(name: str, share: float = 0.5) -> Change:
    def change(folder: Path) -> None:
        data = (folder / name).read_bytes()
        (folder / name).write_bytes(data[: int(len(data) * share)])

    return change


def test_a_table_cut_within_a_row_is_named(tmp_path: Path) -> None:
    def cut(folder: Path) -> None:
        table = folder / "data/train.csv"
        table.write_bytes(table.read_bytes()[:-4].rstrip(b"\r\n,"))
        assert table.read_bytes().splitlines()[-1].count(b",") < 2

    (problem,) = problems_after(tmp_path / "s", cut)
    assert problem == "data/train.csv: ends in the middle of a row"


def _damage(name: str) -> Change:
    def change(folder: Path) -> None:
        data = bytearray((folder / name).read_bytes())
        middle = len(data) // 2
        data[middle : middle + 4] = bytes(255 - byte for byte in data[middle : middle + 4])
        (folder / name).write_bytes(data)

    return change


def _link(name: str, target: str) -> Change:
    return lambda folder: (folder / name).symlink_to(target)


def _text(name: str, text: str) -> Change:
    return lambda folder: (folder / name).write_text(text, encoding="utf-8")


def _row(file: str, row: dict[str, Any], **changes: Any) -> Change:
    return lambda folder: write_rows(folder, file, [row, row | {"id": 77} | changes])


def _hash(name: str) -> Change:
    return lambda folder: write_manifest(folder, sha256={name: "0" * 64})


BROKEN: dict[str, tuple[Change, str]] = {
    "truncated archive": (_truncate("data/images.zip"), "data/images.zip: is not a readable zip archive"),
    "damaged archive": (_damage("data/images.zip"), "data/images.zip: "),
    "wrong hash": (_hash("data/train.csv"), "data/train.csv: has the SHA-256 "),
    "hash of a missing file": (_hash("data/more.csv"), "data/more.csv: not found in the folder"),
    "hash of a file outside": (_hash("../x"), "snapshot.json: `sha256` names '../x', which is outside"),
    "no description": (lambda s: (s / "description.md").unlink(), "description.md: is missing"),
    "no answers": (lambda s: (s / "private/answers.csv").unlink(), "private/answers.csv: is missing"),
    "no data": (lambda s: shutil.rmtree(s / "data"), "data/sample_submission.csv: is missing"),
    "a link out": (_link("data/etc", "/etc"), "data/etc: is a link that points outside data/"),
    "a link into private": (_link("data/a.txt", "../private/answers.csv"), "data/a.txt: is a link that points outside"),
    "a link in a circle": (_link("data/loop", "loop"), "data/loop: is a link that points outside data/ or is broken"),
    "a named pipe": (lambda s: os.mkfifo(s / "data/pipe"), "data/pipe: is not a regular file"),
    "unknown metric": (
        lambda s: write_manifest(s, metric={"name": "glee", "direction": "minimize"}),
        "snapshot.json: unknown metric 'glee', and the snapshot has no private/grade.py; choose from accuracy, ",
    ),
    "wrong direction": (
        lambda s: write_manifest(s, metric={"name": "rmse", "direction": "maximize"}),
        "snapshot.json: the metric 'rmse' requires `direction` minimize, not maximize",
    ),
    "bad JSON line": (
        lambda s: write_rows(s, "topics", [TOPIC, "{bad"]),
        "community/topics.jsonl:2: is not JSON: Expecting property name",
    ),
    "a list": (lambda s: write_rows(s, "topics", [TOPIC, "[1]"]), "community/topics.jsonl:2: is not a JSON object"),
    "deep nesting": (
        lambda s: write_rows(s, "topics", [TOPIC, "[" * 99_999]),
        "community/topics.jsonl:2: cannot be read as UTF-8 JSON",
    ),
    "huge number": (
        lambda s: write_rows(s, "topics", ["1" * 9999]),
        "community/topics.jsonl:1: cannot be read as UTF-8 JSON",
    ),
    "missing field": (
        lambda s: write_rows(s, "messages", [{k: v for k, v in MESSAGE.items() if k != "posted_at"}]),
        "community/messages.jsonl:1: field `posted_at`: is missing",
    ),
    "ill-typed field": (_row("topics", TOPIC, votes="3"), "community/topics.jsonl:2: field `votes`: Input should be"),
    "not a number": (_row("kernels", KERNEL, public_score=float("nan")), "community/kernels.jsonl:2: field `public"),
    "naive time": (
        _row("topics", TOPIC, posted_at="2020-01-02T10:00:00"),
        "community/topics.jsonl:2: field `posted_at`: the time '2020-01-02T10:00:00' is not in UTC",
    ),
    "another zone": (
        _row("topics", TOPIC, posted_at="2020-01-02T10:00:00+02:00"),
        "community/topics.jsonl:2: field `posted_at`: the time '2020-01-02T10:00:00+02:00' is not in UTC",
    ),
    "bad time": (_row("messages", MESSAGE, edited_at="yesterday at noon"), "community/messages.jsonl:2: field `edited"),
    "duplicate id": (
        lambda s: write_rows(s, "topics", [TOPIC, TOPIC | {"id": "1"}]),
        "community/topics.jsonl:2: the id '1' is already used on line 1",
    ),
    "unknown topic": (_row("messages", MESSAGE, topic_id=5), "community/messages.jsonl:2: unknown topic id '5'"),
    "unknown parent": (
        _row("messages", MESSAGE, parent_id=5),
        "community/messages.jsonl:2: no other message has the id '5'",
    ),
    "unknown target": (
        _row("observations", OBSERVATION, target="topic"),
        "community/observations.jsonl:2: no topic has the id '77'",
    ),
    "missing kernel": (
        _row("kernels", KERNEL, path="kernels/second.py"),
        "community/kernels.jsonl:2: its file 'kernels/second.py' is missing",
    ),
    "kernel outside": (
        _row("kernels", KERNEL, path="../private/answers.csv"),
        "community/kernels.jsonl:2: its file '../private/answers.csv' is missing or outside community/",
    ),
    "no scores": (_text("leaderboard.csv", "rank\n1\n"), "leaderboard.csv:1: has no column `score`"),
    "empty board": (_text("leaderboard.csv", "score\n"), "leaderboard.csv: has no scores"),
    "word on the board": (_text("leaderboard.csv", "score\n.1\nbest\n"), "leaderboard.csv:3: `score` is not a finite"),
    "worst first": (_text("leaderboard.csv", "score\n2\n1\n"), "leaderboard.csv: is not sorted from best to worst"),
    "answers under data/": (
        lambda s: shutil.copy(s / "private/answers.csv", s / "data/answers.csv"),
        "data/answers.csv: has the same name as the answers file",
    ),
    "copy of the answers": (
        lambda s: shutil.copy(s / "private/answers.csv", s / "data/notes.bin"),
        "data/notes.bin: is a copy of the answers",
    ),
    "not UTF-8": (
        lambda s: (s / "community/topics.jsonl").write_bytes(b'{"id": "\xff"}\n'),
        "community/topics.jsonl:1: cannot be read as UTF-8 JSON",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_wrong_is_named_with_its_place(tmp_path: Path, case: str) -> None:
    change, expected = BROKEN[case]
    problems = problems_after(tmp_path / "small", change)
    assert any(problem.startswith(expected) for problem in problems), problems


def test_all_problems_come_at_once(tmp_path: Path) -> None:
    def change(folder: Path) -> None:
        (folder / "snapshot.json").write_text("{", encoding="utf-8")
        write_rows(folder, "messages", ["{", MESSAGE | {"topic_id": 9}])
        _truncate("data/images.zip")(folder)
        _text("leaderboard.csv", "rank\n1\n")(folder)

    places = {problem.split(": ")[0] for problem in problems_after(tmp_path / "small", change)}
    assert places >= {
        "snapshot.json:1",
        "community/messages.jsonl:1",
        "community/messages.jsonl:2",
        "data/images.zip",
        "leaderboard.csv:1",
    }


def test_a_grader_of_its_own_allows_a_metric_that_is_not_listed(tmp_path: Path) -> None:
    def change(folder: Path) -> None:
        write_manifest(folder, metric={"name": "glee", "direction": "minimize"})
        (folder / "private/grade.py").write_text("def grade(): ...\n", encoding="utf-8")

    assert problems_after(tmp_path / "small", change) == []


def test_a_file_with_a_million_mistakes_gives_a_short_list(tmp_path: Path) -> None:
    problems = problems_after(tmp_path / "small", lambda s: write_rows(s, "topics", ["{"] * 5000))
    assert len(problems) < 200
    assert any("and 4,950 more of this kind (JSON)" in problem for problem in problems)


def test_a_large_file_is_checked_in_bounded_memory(tmp_path: Path) -> None:
    folder = write_small(tmp_path / "small")
    write_manifest(folder)
    row = "x" * 180 + "\n"
    with (folder / "data/train.csv").open("w", encoding="utf-8") as file:
        file.write("id,y,note\n")
        for start in range(0, 100_000, 1000):
            file.write("".join(f"{i},1,{row}" for i in range(start, start + 1000)))
    with zipfile.ZipFile(folder / "data/images.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.write(folder / "data/train.csv", "more/train.csv")
    tracemalloc.start()
    try:
        problems = check(folder, METRICS).problems
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert [str(p) for p in problems] == []
    assert peak < 8_000_000


def test_nothing_is_written_into_the_snapshot(tmp_path: Path) -> None:
    folder = write_small(tmp_path / "small")
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    check(folder, METRICS)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before


def test_a_manifest_that_is_any_json_never_raises(tmp_path: Path) -> None:
    folder = write_small(tmp_path / "small")
    contents: list[object] = [None, 3, [], {}, {"format": 1}, {"format": "1"}, {"format": 1, "sha256": {"a": 3}}]
    for content in contents:
        (folder / "snapshot.json").write_text(json.dumps(content), encoding="utf-8")
        assert check(folder, METRICS).problems


def test_rows_that_are_the_sample_file_are_compared_with_the_answers(tmp_path: Path) -> None:
    header, rows = ["id", "y"], [[i, 0] for i in range(101, 109)]
    problems = problems_after(tmp_path / "s", lambda s: write_csv(s / "data/sample_submission.csv", header, rows))
    assert problems == [
        "data/sample_submission.csv: is missing 1 ids from private/answers.csv: '100'",
        "data/sample_submission.csv: has 1 ids not in private/answers.csv: '108'",
    ]
