import csv
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.evaluation.layouts.reader import read_layout
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.evaluation.views.build import VERSION
from bot.evaluation.views.split import SMALLEST, split_rows
from bot.replay.own_data.asked import Asked
from bot.replay.own_data.growing import DECIMALS, FEWEST, grow
from scrapers.snapshots.snapshot import Snapshot
from state.errors import UsageError

NOW = datetime(2026, 1, 2, tzinfo=UTC)


def rows(count, first=0, *, answers=True):
    """Rows of a person's table: a number, a word, and whether they pay."""
    for n in range(first, first + count):
        yield [f"p{n}", str(n % 7), ["red", "blue"][n % 2], *(["yes" if n % 3 else "no"] if answers else [])]


def write(path, header, lines, encoding="utf-8"):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(",".join(line) for line in [header, *lines])
    path.write_bytes((text + "\n").encode(encoding))


@pytest.fixture
def folder(tmp_path):
    data = tmp_path / "churn"
    write(data / "train.csv", ["person_id", "visits", "colour", "pays"], rows(40))
    write(data / "test.csv", ["person_id", "visits", "colour"], rows(10, 40, answers=False))
    return data


def grown(source, tmp_path, **asked):
    """Grow a folder; return the checked snapshot and the lines that are shown, by what they are on."""
    task = tmp_path / "work" / "task"
    task.parent.mkdir()
    found = grow(Path(source), task, "churn", Asked(**asked), tmp_path / "runs", NOW)
    return Snapshot.load(task, METRIC_DIRECTIONS, own_data=True), dict(found.lines)


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_fewest_rows_are_those_that_can_be_split():
    assert FEWEST == SMALLEST


def test_what_is_predicted_identified_and_scored_is_found_and_shown(folder, tmp_path):
    snapshot, shown = grown(folder, tmp_path)
    assert (snapshot.card.id_column, snapshot.card.prediction_columns) == ("person_id", ("no", "yes"))
    assert snapshot.card.metric.name == "roc_auc"
    assert shown["target"] == "`pays`, the only column that test.csv lacks"
    assert shown["id"] == "`person_id`, by its name; no value repeats"
    assert "2 classes: yes (26), no (14)" in shown["task"]
    sample = table(snapshot.data / "sample_submission.csv")
    assert [row["person_id"] for row in sample] == [f"p{n}" for n in range(40, 50)]
    assert not snapshot.answers.exists() and snapshot.card.deadline == NOW


def test_rows_without_an_id_are_numbered_on_in_the_test_table(tmp_path):
    data = tmp_path / "houses"
    write(data / "train.csv", ["area", "price"], [[str(n), f"{n * 1.5}"] for n in range(30)])
    write(data / "test.csv", ["area"], [[str(n)] for n in range(5)])
    snapshot, shown = grown(data, tmp_path)
    assert snapshot.card.metric.name == "rmse" and "numbers from 0 to 43.5" in shown["task"]
    assert [row["row"] for row in table(snapshot.data / "test.csv")] == ["30", "31", "32", "33", "34"]
    assert [row["row"] for row in table(snapshot.data / "train.csv")][:2] == ["0", "1"]


def test_a_column_that_numbers_rows_under_another_name_is_proposed(tmp_path):
    data = tmp_path / "repairs"
    write(data / "train.csv", ["note", "ticket", "hours"], [[f"no {n}", f"T{n:04}", f"{n * 1.5}"] for n in range(30)])
    write(data / "test.csv", ["note", "ticket"], [[f"no {n}", f"T{n:04}"] for n in range(30, 35)])
    _, shown = grown(data, tmp_path)
    assert shown["id"].endswith("rows are numbered; `ticket` never repeats: --id ticket takes it")


def test_a_column_of_the_test_table_that_is_empty_is_the_target(folder, tmp_path):
    write(
        folder / "test.csv",
        ["person_id", "visits", "colour", "pays"],
        ([*row, ""] for row in rows(9, 40, answers=False)),
    )
    snapshot, shown = grown(folder, tmp_path)
    assert shown["target"] == "`pays`, which is empty in test.csv"
    assert "pays" not in table(snapshot.data / "test.csv")[0]


def test_of_one_table_the_rows_without_a_target_are_predicted(tmp_path):
    lines = [[*row[:3], "" if n >= 30 else row[3]] for n, row in enumerate(rows(40))]
    write(tmp_path / "churn.csv", ["person_id", "visits", "colour", "pays"], lines)
    snapshot, shown = grown(tmp_path / "churn.csv", tmp_path, target="pays")
    assert shown["test rows"] == "the 10 rows without `pays`"
    assert len(table(snapshot.data / "train.csv")) == 30 and not snapshot.answers.exists()


def test_of_one_whole_table_some_rows_are_withheld_with_their_answers(tmp_path):
    write(tmp_path / "churn.csv", ["person_id", "visits", "colour", "target"], rows(60))
    snapshot, shown = grown(tmp_path / "churn.csv", tmp_path)
    answers = {row["person_id"]: row for row in table(snapshot.answers)}
    assert shown["target"] == "`target`, by its name" and len(answers) == 12
    for name in answers:
        assert answers[name] == {
            "person_id": name,
            "no": str(int(int(name[1:]) % 3 == 0)),
            "yes": str(int(int(name[1:]) % 3 > 0)),
        }
    assert {row["person_id"] for row in table(snapshot.data / "train.csv")}.isdisjoint(answers)
    assert "target" not in table(snapshot.data / "test.csv")[0]


@pytest.mark.parametrize("form", ["{:02}.01.2020", "202001{:02}", "{:02}/01/2020 14:03"])
def test_the_latest_rows_are_found_by_days_as_people_write_them(form, tmp_path):
    lines = [[form.format(1 + n // 2), str(n % 5), str(n % 2)] for n in range(60)]
    write(tmp_path / "visits.csv", ["day", "x", "target"], lines)
    snapshot, _ = grown(tmp_path / "visits.csv", tmp_path, time="day")
    assert {row["day"] for row in table(snapshot.data / "test.csv")} == {form.format(day) for day in range(25, 31)}


@pytest.mark.parametrize(
    ("asked", "part"),
    [({"time": "day"}, lambda row: row["day"] >= "2020-01-25"), ({}, lambda row: row["patient"])],
    ids=["the latest rows", "whole patients"],
)
def test_one_table_is_parted_by_time_or_by_groups(tmp_path, asked, part):
    lines = [[f"2020-01-{1 + n // 2:02d}", f"a{n % 12}", str(n % 5), str(n % 2)] for n in range(60)]
    write(tmp_path / "visits.csv", ["day", "patient", "x", "target"], lines)
    snapshot, _ = grown(tmp_path / "visits.csv", tmp_path, **asked)
    test, train = ({part(row) for row in table(snapshot.data / f"{name}.csv")} for name in ("test", "train"))
    assert test and train and test.isdisjoint(train)


def test_a_kaggle_folder_keeps_its_sample_and_what_it_asks_for(folder, tmp_path):
    write(folder / "sampleSubmission.csv", ["person_id", "pays"], [[f"p{n}", "no"] for n in range(40, 50)])
    snapshot, shown = grown(folder, tmp_path)
    assert snapshot.card.metric.name == "accuracy"  # the sample shows labels
    assert shown["sample"] == "sampleSubmission.csv"
    assert [row["pays"] for row in table(snapshot.data / "sample_submission.csv")] == ["no"] * 10


def test_files_in_folders_by_class_become_rows_whose_names_say_nothing(tmp_path):
    for label in ("cat", "dog"):
        for n in range(12):
            path = tmp_path / f"pets/train/{label}/{label}{n}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(f"{label} {n}".encode())
    (tmp_path / "pets/test").mkdir()
    (tmp_path / "pets/test/7.png").write_bytes(b"?")
    snapshot, shown = grown(tmp_path / "pets", tmp_path)
    assert shown["training rows"] == "24 files in 2 folders"
    names = {row["id"]: row["label"] for row in table(snapshot.data / "train.csv")}
    assert len(names) == 24 and not any("cat" in name or "dog" in name for name in names)
    for name, label in names.items():
        assert (snapshot.data / "train" / name).read_text().startswith(label)
    assert table(snapshot.data / "test.csv") == [{"id": "7.png"}] and (snapshot.data / "test/7.png").exists()


def test_texts_in_folders_by_class_become_a_column(tmp_path):
    for n in range(20):
        path = tmp_path / f"mail/{['ham', 'spam'][n % 2]}/{n}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"hello {n}", encoding="utf-8")
    snapshot, _ = grown(tmp_path / "mail", tmp_path)
    (one, *_) = table(snapshot.data / "train.csv")
    assert set(one) == {"id", "text", "label"} and one["text"].startswith("hello")


def break_header(folder):
    write(folder / "train.csv", ["person_id", "pays", "pays"], [["p1", "1", "2"]])


def leave_out_the_tables(folder):
    for path in folder.iterdir():
        path.unlink()


BROKEN = {
    "no such folder": (lambda folder: leave_out_the_tables(folder) or folder.rmdir(), {}, "there is no folder or file"),
    "a snapshot": (
        lambda folder: leave_out_the_tables(folder) or (folder / "snapshot.json").write_text("{}"),
        {},
        "is a snapshot: `bot replay` works on it",
    ),
    "tables in a folder": (
        lambda folder: (
            [(folder / "data").mkdir(), (folder / "train.csv").rename(folder / "data/train.csv")]
            and (folder / "test.csv").unlink()
        ),
        {},
        "data/train.csv is a table in a folder: name",
    ),
    "nothing in it": (leave_out_the_tables, {}, "holds no table"),
    "another format": (
        lambda folder: leave_out_the_tables(folder) or (folder / "train.parquet").write_bytes(b"PAR1"),
        {},
        "train.parquet is no CSV or TSV",
    ),
    "no such target": (None, {"target": "pay"}, "--target pay: train.csv has no such column; did you mean pays?"),
    "the test has the target": (
        lambda folder: write(folder / "test.csv", ["person_id", "visits", "colour", "pays"], rows(9, 40)),
        {"target": "pays"},
        "test.csv holds the target `pays`",
    ),
    "which column it is": (
        lambda folder: write(folder / "test.csv", ["person_id", "visits"], [["p50", "1"]]),
        {},
        "name the one to predict with --target: colour, pays",
    ),
    "one class": (
        lambda folder: write(
            folder / "train.csv", ["person_id", "visits", "colour", "pays"], ([*r[:3], "no"] for r in rows(20))
        ),
        {},
        "the target `pays` has the one value 'no' in train.csv",
    ),
    "an empty target": (
        lambda folder: write(
            folder / "train.csv", ["person_id", "visits", "colour", "pays"], ([*r[:3], ""] for r in rows(20))
        ),
        {},
        "the target `pays` is empty in every row of train.csv",
    ),
    "no rows": (
        lambda folder: write(folder / "train.csv", ["person_id", "pays"], []),
        {},
        "train.csv has a header and no rows",
    ),
    "an empty file": (lambda folder: (folder / "train.csv").write_text(""), {}, "train.csv is empty"),
    "not UTF-8": (
        lambda folder: (folder / "train.csv").write_bytes(b"person_id,pays\np1,\x81\n"),
        {},
        "train.csv is not UTF-8",
    ),
    "UTF-16": (
        lambda folder: write(folder / "train.csv", ["person_id", "pays"], [["p1", "süß"]], "utf-16"),
        {},
        "train.csv is not UTF-8",
    ),
    "not text": (
        lambda folder: (folder / "train.csv").write_bytes(b"PK\x03\x04"),
        {},
        "train.csv cannot be read as a table: is a zip",
    ),
    "a torn row": (
        lambda folder: write(folder / "train.csv", ["person_id", "pays"], [["p1", "1"], ["p2"]]),
        {},
        "train.csv, line 3: it has 1 cells, but the header has 2",
    ),
    "a header twice": (break_header, {}, "train.csv names the column 'pays' twice"),
    "an unknown metric": (None, {"metric": "rmes"}, "--metric rmes: it is not known; did you mean rmse?"),
    "a metric of numbers": (None, {"metric": "rmse"}, "--metric rmse takes numbers, but the target `pays` holds"),
    "an id that repeats": (None, {"id": "colour"}, "--id colour: train.csv has a value of it more than once"),
    "no time": (
        lambda folder: (folder / "test.csv").unlink(),
        {"target": "pays", "time": "colour"},
        "--time-column colour: 'red' in row 1 of train.csv is no time such as 2017-10-25,",
    ),
    "too few rows": (
        lambda folder: write(folder / "train.csv", ["person_id", "visits", "colour", "pays"], rows(9)),
        {},
        "train.csv leaves 9 rows to learn `pays` from: at least 10 are needed",
    ),
    "two training tables": (
        lambda folder: (
            (folder / "train.csv").rename(folder / "train_a.csv") and write(folder / "train_b.csv", ["x"], [["1"]])
        ),
        {},
        "any of train_a.csv, train_b.csv may be the training rows: name the table with --train",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_wrong_is_one_sentence_that_says_what_to_do(case, folder, tmp_path):
    spoil, asked, sentence = BROKEN[case]
    if spoil is not None:
        spoil(folder)
    with pytest.raises(UsageError) as raised:
        grown(folder, tmp_path, **asked)
    assert sentence in str(raised.value) and "\n" not in str(raised.value)


def test_a_table_with_semicolons_and_a_mark_of_its_encoding_is_read(tmp_path):
    lines = ["\ufeffid;x;y", *(f"{n};{n % 5};{n * 0.5}" for n in range(20))]
    (tmp_path / "t.csv").write_text("\n".join(lines), encoding="utf-8")
    snapshot, _ = grown(tmp_path / "t.csv", tmp_path, metric="mae")
    assert snapshot.card.metric.name == "mae"
    assert json.loads((snapshot.path / "snapshot.json").read_text())["prediction_columns"] == ["y"]


def test_decimal_commas_become_points_in_both_tables(tmp_path):
    data = tmp_path / "sales"
    lines = [f"{n};1.{n:03},{n % 10}0;n/a;1,234;{n},5 m" for n in range(30)]
    write(data / "train.csv", ["id;Umsatz;Preis;Lager;Weg"], [[line] for line in lines])
    lines = [f"{n};{n};1,234;{n},5 m" for n in range(30, 35)]
    write(data / "test.csv", ["id;Preis;Lager;Weg"], [[line] for line in lines])
    snapshot, shown = grown(data, tmp_path)
    assert shown["numbers"] == "decimal commas are read as points in: Umsatz"
    assert snapshot.card.metric.name == "rmse" and "numbers from 1000 to 1029.9" in shown["task"]
    (first, *_) = table(snapshot.data / "train.csv")
    assert first == {"id": "0", "Umsatz": "1000.00", "Preis": "n/a", "Lager": "1,234", "Weg": "0,5 m"}


def test_the_test_table_has_the_decimal_commas_of_the_training_table(tmp_path):
    data = tmp_path / "sales"
    write(data / "train.csv", ["id;Preis;Umsatz"], [[f"{n};{n},50;{n * 3}"] for n in range(30)])
    write(data / "test.csv", ["id;Preis"], [["30;1,234"], ["31;2 000"]])
    snapshot, _ = grown(data, tmp_path)
    assert [row["Preis"] for row in table(snapshot.data / "test.csv")] == ["1.234", "2000"]
    assert json.loads((snapshot.path / DECIMALS).read_text()) == ["Preis"]


def test_a_table_of_windows_is_read_and_said_to_be_one(tmp_path):
    write(tmp_path / "w.csv", ["id", "Fläche", "y"], [[str(n), "groß", str(n / 2)] for n in range(30)], "cp1252")
    snapshot, shown = grown(tmp_path / "w.csv", tmp_path, target="y")
    assert shown["encoding"] == "not UTF-8, so read as that of Windows, cp1252: w.csv"
    assert table(snapshot.data / "train.csv")[0]["Fläche"] == "groß"


@pytest.mark.parametrize(("no", "yes"), [("no", "yes"), ("Nein", "Ja"), ("N", "Y"), ("bad", "good")])
def test_two_words_of_which_a_sample_asks_one_probability_are_written_as_1_and_0(no, yes, tmp_path):
    data = tmp_path / "churn"
    write(data / "train.csv", ["id", "x", "churned"], [[str(n), str(n % 7), no if n % 3 else yes] for n in range(30)])
    write(data / "test.csv", ["id", "x"], [[str(n), "1"] for n in range(30, 35)])
    write(data / "sample_submission.csv", ["id", "churned"], [[str(n), "0.5"] for n in range(30, 35)])
    snapshot, shown = grown(data, tmp_path)
    assert snapshot.card.metric.name == "roc_auc" and shown["labels"].startswith(f"`{yes}` is 1,")
    assert [row["churned"] for row in table(snapshot.data / "train.csv")][:4] == ["1", "0", "0", "1"]
    assert f"1 stands for '{yes}'" in snapshot.card.description
    assert split_rows(read_layout(snapshot.data, snapshot.card), 0, VERSION).rows("holdout")
