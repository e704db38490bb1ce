"""Guards, and the interval, on every layout: each looks at the rows or reports itself why it has none to look at."""

import json
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from bot.evaluation.answers import LabelledView
from bot.evaluation.answers.findings import GuardFinding
from bot.evaluation.guards.running import guard_execution, guard_view
from bot.evaluation.metrics.registry import METRICS
from bot.evaluation.scoring.interval import validation_interval
from bot.evaluation.scoring.score import score_execution
from scrapers.snapshots.card import TaskCard
from tests.bot.evaluation.parts import card, write
from tests.bot.evaluation.written_layouts import LAYOUTS, view_of, write_layout

Record = dict[str, Any]
TRAIN, TEST = 300, 60
GRADER = """def grade(submission, answers):
    return float((submission[{column!r}].fillna("") == answers[{column!r}].fillna("")).mean())
"""


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_guard_of_the_data_runs(tmp_path: Path, name: str) -> None:
    found = guards_of(*write_layout(name, tmp_path))
    assert [one.sentence for one in found.values() if one.verdict == "not run"] == []


@pytest.mark.integration
@pytest.mark.parametrize("name", LAYOUTS)
def test_every_guard_of_an_execution_runs_and_there_is_an_interval(tmp_path: Path, name: str) -> None:
    data, task = write_layout(name, tmp_path)
    grader = None
    if task.metric.name not in METRICS:
        grader = tmp_path / "grade.py"
        grader.write_text(GRADER.format(column=task.prediction_columns[0]))
    _, view, labels = view_of(data, task)
    predicted = Path(shutil.copy(labels, tmp_path / "validation_predictions.csv"))
    submission = view / "sample_submission.csv"
    labelled = LabelledView(view, labels.parent, task, grader)
    score = score_execution(labelled, predicted, submission).score.value
    found = guard_execution(labelled, predicted, submission, score, "", seconds=600.0)
    assert [one.sentence for one in found if one.verdict == "not run" and one.is_doubt] == []
    result = validation_interval(labelled, predicted, 0, seconds=1.0)
    assert result.note is None
    assert result.low is not None and result.high is not None


@pytest.mark.parametrize(
    ("leak", "guard", "words"),
    [
        (None, None, ""),
        ("feature", "target in features", "the column 'angle' alone predicts 'is_iceberg'"),
        ("ids", "ids", "'is_iceberg' can be predicted from number 2 in the id"),
        ("order", "row order", "training rows are sorted by 'is_iceberg'"),
        ("copies", "duplicate rows", "of repeated rows have the same label"),
    ],
)
@pytest.mark.parametrize("lines", [False, True])
def test_leaks_of_json_records_are_found(
    tmp_path: Path, leak: str | None, guard: str | None, words: str, lines: bool
) -> None:
    rng = random.Random(3)
    rows: list[Record] = [{"is_iceberg": int(rng.random() < 0.5)} for _ in range(TRAIN + TEST)]
    if leak in ("ids", "order"):
        rows[:TRAIN] = sorted(rows[:TRAIN], key=lambda row: row["is_iceberg"])
    numbers = [*range(TRAIN + TEST)] if leak == "ids" else rng.sample(range(10_000), TRAIN + TEST)
    for row, number in zip(rows, numbers, strict=True):
        row["id"] = f"t3_{number}"
        row["band_1"] = [rng.random(), rng.random()]
        row["angle"] = 7 - row["is_iceberg"] if leak == "feature" else rng.random()
    if leak == "ids":
        rows[:TRAIN] = rng.sample(rows[:TRAIN], TRAIN)
    if leak == "copies":
        rows[50::5] = [{**one, "id": f"t3_x{at}"} for at, one in enumerate(rows[: (TRAIN + TEST - 50) // 5])]
    found = guards_of(*of_records(tmp_path, rows, "is_iceberg", lines=lines))
    assert [one.guard for one in found.values() if not one.passed] == ([guard] if guard else [])
    assert guard is None or words in found[guard].sentence


@pytest.mark.parametrize("leaks", [False, True])
def test_lists_of_labels_count_by_their_means(tmp_path: Path, leaks: bool) -> None:
    rng = random.Random(4)
    rows = [{"id": f"id_{number}", "level": 0.0, "y": []} for number in rng.sample(range(10_000), TRAIN + TEST)]
    for row in rows:
        base = rng.random() * 5
        row["y"] = [round(base + rng.random(), 3) for _ in range(4)]
        row["level"] = round(2 * base if leaks else rng.random(), 3)
    data, task = of_records(tmp_path, rows, "y")
    ids = [f"{row['id']}_{place}" for row in rows[TRAIN:] for place in range(6)]
    write(data / "sample_submission.csv", ["place", "y"], [[id, 0] for id in ids])
    found = guards_of(data, task.model_copy(update={"id_column": "place", "metric": card("rmse").metric}))
    assert [one.guard for one in found.values() if not one.passed] == (["target in features"] if leaks else [])
    assert "the column 'level' alone" in found["target in features"].sentence or not leaks


@pytest.mark.parametrize("leaks", [False, True])
def test_columns_that_are_asked_for_in_rows_are_targets_each(tmp_path: Path, leaks: bool) -> None:
    rng = random.Random(5)
    bones = ("C1", "C2")
    numbers = rng.sample(range(10_000), TRAIN + TEST)
    labels = [[rng.randrange(2) for _ in bones] for _ in numbers]
    site = ["ab"[one[1]] if leaks else rng.choice("ab") for one in labels]
    rows = [[f"s.{n}", where, *one] for n, where, one in zip(numbers, site, labels, strict=True)]
    data = tmp_path / "data"
    write(data / "train.csv", ["study", "site", *bones], rows[:TRAIN])
    asked = [[f"{row[0]}_{bone}", *row[:2]] for row in rows[TRAIN:] for bone in bones]
    write(data / "test.csv", ["row_id", "study", "site"], asked)
    write(data / "sample_submission.csv", ["row_id", "fractured"], [[row[0], 0.5] for row in asked])
    found = guards_of(data, card("log_loss", ("fractured",), "row_id"))
    assert [one.guard for one in found.values() if not one.passed] == (["target in features"] if leaks else [])
    assert "the column 'site' alone predicts 'C2'" in found["target in features"].sentence or not leaks


@pytest.mark.parametrize("leaks", [False, True])
def test_images_of_labels_count_by_their_brightness(tmp_path: Path, leaks: bool) -> None:
    rng = random.Random(6)
    asked = []
    for number in range(TRAIN + 5):
        side = "train" if number < TRAIN else "test"
        bright = number * 255 // (TRAIN + 5) if leaks else rng.randrange(256)
        for folder, base in ((side, rng.randrange(256)), (f"{side}_cleaned", bright)):
            if folder != "test_cleaned":
                (tmp_path / "data" / folder).mkdir(parents=True, exist_ok=True)
                Image.new("L", (2, 2), base).save(tmp_path / "data" / folder / f"{number:03d}.png")
        asked += [[f"{number:03d}_{y}_{x}", 1] for y in (1, 2) for x in (1, 2)] if side == "test" else []
    write(tmp_path / "data" / "sample_submission.csv", ["id", "value"], asked)
    found = guards_of(tmp_path / "data", card("rmse", ("value",)))
    assert [one.guard for one in found.values() if not one.passed] == (["ids", "row order"] if leaks else [])


@pytest.mark.parametrize("word", [lambda label, rng: label, lambda label, rng: rng.choice(("pug", "corgi"))])
def test_ids_under_another_name_are_looked_at(tmp_path: Path, word: Callable[[str, random.Random], str]) -> None:
    rng = random.Random(7)
    breeds = [rng.choice(("pug", "corgi")) for _ in range(TRAIN + TEST)]
    names = [f"{word(breed, rng)}_{number}" for number, breed in enumerate(breeds)]
    data = tmp_path / "data"
    write(data / "labels.csv", ["image_id", "breed"], zip(names[:TRAIN], breeds[:TRAIN], strict=True))
    write(data / "sample_submission.csv", ["id", "corgi", "pug"], [[name, 0.5, 0.5] for name in names[TRAIN:]])
    found = guards_of(data, card("log_loss", ("corgi", "pug")))
    result = all(name.startswith(breed) for name, breed in zip(names, breeds, strict=True))
    assert [one.guard for one in found.values() if not one.passed] == (["ids"] if result else [])


@pytest.mark.parametrize("leaks", [False, True])
def test_ids_of_two_columns_are_looked_at(tmp_path: Path, leaks: bool) -> None:
    rng = random.Random(8)
    tokens = [(sentence, token) for sentence in range(120) for token in range(4)]
    words = [("w" if leaks else rng.choice("xyz"), rng.choice("abc")) for _ in tokens]
    rows = [[s, t, w if not leaks else f"{w}{a}", a] for (s, t), (w, a) in zip(tokens, words, strict=True)]
    header, data = ["sentence_id", "token_id", "before", "after"], tmp_path / "data"
    write(data / "train.csv", header, rows[80:])
    write(data / "test.csv", header[:3], [row[:3] for row in rows[:80]])
    write(data / "sample_submission.csv", ["id", "after"], [[f"{row[0]}_{row[1]}", "a"] for row in rows[:80]])
    found = guards_of(data, card("accuracy", ("after",)))
    assert [one.guard for one in found.values() if not one.passed] == (["target in features"] if leaks else [])


def test_texts_that_are_not_utf_8_are_compared_as_well(tmp_path: Path) -> None:
    rng, data = random.Random(9), tmp_path / "data"
    rows = [
        (b"caf\xe9%d" % n, b"t\xe9%d" % rng.randrange(10**6), b"%d" % rng.randrange(2)) for n in range(TRAIN + TEST)
    ]
    rows[50::5] = [(b"caf\xe9x%d" % at, *one[1:]) for at, one in enumerate(rows[: (TRAIN + TEST - 50) // 5])]
    data.mkdir()
    for name, header, part in (
        ("train", b"id,x,y", rows[:TRAIN]),
        ("test", b"id,x", [row[:2] for row in rows[TRAIN:]]),
        ("sample_submission", b"id,y", [(row[0], b"0.5") for row in rows[TRAIN:]]),
    ):
        (data / f"{name}.csv").write_bytes(b"".join(b",".join(row) + b"\n" for row in [(header,), *part]))
    found = guards_of(data, card("log_loss"))
    assert [one.guard for one in found.values() if not one.passed] == ["duplicate rows"]
    assert found["duplicate rows"].verdict == "suspicious"


def test_a_guard_that_cannot_run_says_so_in_words(tmp_path: Path) -> None:
    data, task = write_layout("statoil_icebergs", tmp_path)
    _, view, labels = view_of(data, task)
    (view / "validation.json").write_text('[{"id": "of nothing"}]')
    sentences = {
        one.sentence for one in guard_view(LabelledView(view, labels.parent, task)) if one.verdict == "not run"
    }
    expected = "it failed: The rows in validation.json do not match those in sample_validation.csv."
    assert sentences == {expected}
    (view / "validation.json").unlink()
    (result,) = {
        one.sentence for one in guard_view(LabelledView(view, labels.parent, task)) if one.verdict == "not run"
    }
    assert result == "it failed: The view contains no validation rows."


def guards_of(data: Path, task: TaskCard) -> dict[str, GuardFinding]:
    """Return what the guards say of a competition's hold-out view."""
    _, view, labels = view_of(data, task)
    return {one.guard: one for one in guard_view(LabelledView(view, labels.parent, task))}


def of_records(folder: Path, rows: list[Record], label: str, *, lines: bool = False) -> tuple[Path, TaskCard]:
    """Write a competition of JSON records, the last of them the test's."""
    data, suffix = folder / "data", "jsonl" if lines else "json"
    data.mkdir()
    test = [{key: cell for key, cell in row.items() if key != label} for row in rows[TRAIN:]]
    for name, part in (("train", rows[:TRAIN]), ("test", test)):
        text = "".join(json.dumps(row) + "\n" for row in part) if lines else json.dumps(part)
        (data / f"{name}.{suffix}").write_text(text)
    write(data / "sample_submission.csv", ["id", label], [[row["id"], 0.5] for row in rows[TRAIN:]])
    return data, card("log_loss", (label,))
