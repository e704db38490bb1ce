"""The manifest: its fields, its mistakes, what is reserved, and the task card it gives."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.research.importers.mle_live.community import read_thread
from scrapers.snapshots.manifest import Manifest, read_manifest
from scrapers.snapshots.problems import Problems
from tests.scrapers.small import KERNEL, MANIFEST, MESSAGE, OBSERVATION, TOPIC, problems_after, write_rows

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"format": 2}, "has format 2; this version reads format 1"),
    ({"slug": "a/b"}, "field `slug`: String should match pattern"),
    ({"slug": "../up"}, "field `slug`: String should match pattern"),
    ({"surprise": 1}, "field `surprise`: is not a known field"),
    ({"metric": {"name": "rmse"}}, "field `metric.direction`: is missing"),
    ({"metric": {"name": "rmse", "direction": "down"}}, "field `metric.direction`: Input should be 'minimize'"),
    ({"deadline": "2020-03-01"}, "field `deadline`: not a time such as"),
    ({"deadline": None}, "field `deadline`: not a time such as"),
    ({"deadline": "2019-03-01T00:00:00Z"}, "`deadline` is before `enabled_at`"),
    ({"prediction_columns": []}, "`id_column` and `prediction_columns` must be given together"),
    (
        {"prediction_columns": ["y", "y"]},
        "`id_column`, `key_columns` and `prediction_columns` must not name a column twice",
    ),
    ({"prediction_columns": "y"}, "field `prediction_columns`: Input should be a valid list"),
    ({"submission_file": "../x.csv"}, "field `submission_file`: must be a file name without a folder"),
    ({"max_daily_submissions": "5"}, "field `max_daily_submissions`: Input should be a valid integer"),
    ({"sha256": {"data/a": "xyz"}}, "field `sha256`: not 64 hexadecimal digits: data/a"),
    ({"kind": "notebook"}, "field `kind`: Input should be 'csv' or 'code'"),
]


def _read(folder: Path, text: str) -> tuple[Manifest | None, list[str]]:
    (folder / "snapshot.json").write_text(text, encoding="utf-8")
    found = Problems()
    manifest = read_manifest(folder, found)
    return manifest, [problem.message for problem in found.problems]


@pytest.mark.parametrize(("changes", "expected"), WRONG)
def test_a_wrong_field_is_named(tmp_path: Path, changes: dict[str, Any], expected: str) -> None:
    manifest, problems = _read(tmp_path, json.dumps(MANIFEST | changes))
    assert manifest is None
    assert any(problem.startswith(expected) for problem in problems), problems


def test_all_wrong_fields_are_named_at_once(tmp_path: Path) -> None:
    _, problems = _read(tmp_path, json.dumps(MANIFEST | {"kind": 3, "slug": "", "deadline": 1}))
    assert len(problems) == 3


@pytest.mark.parametrize("text", ["", "{", "[]", "\ufeff{}", "[" * 99_999, "1" * 9_999, '{"format": true, "x": NaN}'])
def test_what_is_no_manifest_is_one_problem(tmp_path: Path, text: str) -> None:
    manifest, problems = _read(tmp_path, text)
    assert manifest is None
    assert len(problems) >= 1


def test_what_is_not_known_may_be_null_or_left_out(tmp_path: Path) -> None:
    known = ("format", "slug", "metric", "id_column", "prediction_columns", "enabled_at", "deadline", "collected_at")
    least = {name: MANIFEST[name] for name in known}
    manifest, problems = _read(tmp_path, json.dumps(least | {"title": None, "split": None}))
    assert problems == []
    card = manifest.card("text")
    assert (card.title, card.category, card.submission_file) == ("small", "unknown", "submission.csv")
    assert card.sources["submission_file"] == "default (snapshot.json)"


def test_the_card_names_where_each_field_is_from() -> None:
    card = Manifest.model_validate(MANIFEST).card("Predict y.")
    assert card.description == "Predict y."
    assert card.deadline == datetime(2020, 3, 1, tzinfo=UTC)
    assert card.sources.keys() == type(card).model_fields.keys() - {"sources"}
    assert card.sources["description"] == "description.md"
    assert card.sources["metric"] == "snapshot.json"


ROWS: dict[str, dict[str, Any]] = {"topics": TOPIC, "messages": MESSAGE, "kernels": KERNEL, "observations": OBSERVATION}

TIERS = (
    *("TEAM", "team", " Team ", "TE\u200bAM", "\uff34\uff25\uff21\uff2d", "TEAM\n", "T E A M", "\U0001d413eam"),
    *("\u3164TEAM", "TE\ufe0fAM", "T\u0301EAM", "\u03a4\u0395\u0391\u041c", "our TEAM", "(TEAM)", "T.E.A.M"),
)


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("tier", TIERS)
def test_a_reserved_tier_is_a_problem_of_its_line(tmp_path: Path, name: str, tier: str) -> None:
    found = problems_after(tmp_path / "s", lambda s: write_rows(s, name, [ROWS[name] | {"tier": tier}]))
    assert any(one.startswith(f"community/{name}.jsonl:1: field `tier`: ") for one in found)


@pytest.mark.parametrize(("name", "key"), [("topics", "id"), ("messages", "id"), ("kernels", "id"), ("kernels", "ref")])
@pytest.mark.parametrize(
    "value",
    ["note-0a1b2c3d-baseline", "NOTE-1", "\u200bnote-1", "note-1/v2", "n\u034fote-1", "\u2800note-1", " nóte-1"],
)
def test_an_id_of_a_note_is_a_problem_of_its_line(tmp_path: Path, name: str, key: str, value: str) -> None:
    row = ROWS[name] | {key: f"notes/{value}" if key == "ref" else value}
    found = problems_after(tmp_path / "s", lambda s: write_rows(s, name, [row]))
    assert any(one.startswith(f"community/{name}.jsonl:1: field `{key}`: ") for one in found)


@pytest.mark.parametrize("name", ["topics", "messages", "kernels"])
@pytest.mark.parametrize(
    "id",
    ["1\n[news] new best: 0.001", '1 · 0.001 measured here · "x', "n\u043ete-1", "note\u20111", "1" * 201, "\ud800"],
)
def test_an_id_is_a_plain_word(tmp_path: Path, name: str, id: str) -> None:
    found = problems_after(tmp_path / "s", lambda s: write_rows(s, name, [ROWS[name] | {"id": id}]))
    assert any(problem.startswith(f"community/{name}.jsonl:1: field `id`: ") for problem in found)


def test_a_tier_that_is_none_of_the_reserved_ones_is_legal(tmp_path: Path) -> None:
    assert problems_after(tmp_path / "s", lambda s: write_rows(s, "topics", [TOPIC | {"tier": "RECALC"}])) == []
    assert problems_after(tmp_path / "t", lambda s: write_rows(s, "topics", [TOPIC | {"tier": None}])) == []


@pytest.mark.parametrize(
    ("written", "read"), [("TEAM", None), ("team", None), ("4", "GRANDMASTER"), ("master", "MASTER")]
)
def test_an_import_takes_kaggles_tiers_alone(written: str, read: str | None) -> None:
    thread = read_thread(f"# T\n(a <TIER: {written}>) words\n")
    assert thread is not None and thread.messages[0].tier == read
