import csv
import io
import json
import lzma
import zipfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import fastparquet
import pandas as pd
import py7zr
import pytest

from bot.evaluation.layouts.reader import read_layout
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.evaluation.views.build import VERSION
from bot.evaluation.views.split import SMALLEST, split_rows
from bot.solve.build_snapshot import FEWEST, FORM, FORMATS, build_snapshot, restore_form
from bot.solve.input_files import collect_files
from bot.solve.solve_options import SolveOptions
from bot.solve.tables.user_table import UserTable
from bot.solve.train_test_split import with_unlabelled_rows
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


def grown(source, tmp_path, **options):
    """Grow a folder; return the checked snapshot and the lines that are shown, by what they are on."""
    task = tmp_path / "work" / "task"
    task.parent.mkdir(parents=True)
    (tmp_path / "runs").mkdir()
    with collect_files(Path(source), tmp_path / "runs") as collected:
        detected = build_snapshot(collected, task, "churn", SolveOptions(**options), NOW)
    return Snapshot.load(task, METRIC_DIRECTIONS, own_data=True), {
        what: sentence for what, sentence, _ in detected.lines
    }


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_the_fewest_rows_are_those_that_can_be_split():
    assert FEWEST == SMALLEST


def test_what_is_predicted_identified_and_scored_is_found_and_shown(folder, tmp_path):
    snapshot, shown = grown(folder, tmp_path)
    assert (snapshot.card.id_column, snapshot.card.prediction_columns) == ("person_id", ("no", "yes"))
    assert snapshot.card.metric.name == "roc_auc"
    assert shown["target"] == "`pays`, the only column missing from test.csv"
    assert shown["id"] == "`person_id`, chosen because of its name; its values are distinct"
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
    assert shown["id"].endswith("rows are numbered; to use `ticket`, whose values are distinct, pass --id ticket")


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
    assert shown["target"] == "`target`, chosen because of its name" and len(answers) == 12
    for name in answers:
        assert answers[name] == {
            "person_id": name,
            "no": str(int(int(name[1:]) % 3 == 0)),
            "yes": str(int(int(name[1:]) % 3 > 0)),
        }
    assert {row["person_id"] for row in table(snapshot.data / "train.csv")}.isdisjoint(answers)
    assert "target" not in table(snapshot.data / "test.csv")[0]


@pytest.mark.parametrize(
    "form", ["{:02}.01.2020", "202001{:02}", "2020/01/{:02} 14:03", "{:02}/01/2020 2:03 PM", "January {}, 2020"]
)
def test_the_latest_rows_are_found_by_days_as_people_write_them(form, tmp_path):
    lines = [[f'"{form.format(1 + n // 2)}"', str(n % 5), str(n % 2)] for n in range(60)]
    write(tmp_path / "visits.csv", ["day", "x", "target"], lines)
    snapshot, shown = grown(tmp_path / "visits.csv", tmp_path)
    tested = {row["day"] for row in table(snapshot.data / "test.csv")}
    assert {day[:10] for day in tested} == {f"2020-01-{day}" for day in range(25, 31)}
    assert "--shuffle" in shown["test rows"]


@pytest.mark.parametrize(
    ("asked", "part"),
    [({"time": "day"}, lambda row: row["day"] >= "2020-01-25"), ({"shuffle": True}, lambda row: row["patient"])],
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


def leave_out_the_tables(folder):
    for path in folder.iterdir():
        path.unlink()


BROKEN = {
    "no such folder": (lambda folder: leave_out_the_tables(folder) or folder.rmdir(), {}, "no such file or folder:"),
    "a snapshot": (
        lambda folder: leave_out_the_tables(folder) or (folder / "snapshot.json").write_text("{}"),
        {},
        "is a snapshot: use `bot replay`",
    ),
    "tables in a folder": (
        lambda folder: (
            [(folder / "data").mkdir(), (folder / "train.csv").rename(folder / "data/train.csv")]
            and (folder / "test.csv").unlink()
        ),
        {},
        "data/train.csv is a table in a subfolder: pass",
    ),
    "nothing in it": (leave_out_the_tables, {}, "contains neither a table"),
    "another format": (
        lambda folder: leave_out_the_tables(folder) or (folder / "train.parquet").write_bytes(b"PAR1"),
        {},
        "train.parquet cannot be read as a table",
    ),
    "no such target": (None, {"target": "pay"}, "--target pay: train.csv has no such column; did you mean pays?"),
    "the test has the target": (
        lambda folder: write(folder / "test.csv", ["person_id", "visits", "colour", "pays"], rows(9, 40)),
        {"target": "pays"},
        "test.csv contains the target `pays`",
    ),
    "which column it is": (
        lambda folder: write(folder / "test.csv", ["person_id", "visits"], [["p50", "1"]]),
        {},
        "for example, pass --target pays (candidates: colour, pays)",
    ),
    "one class": (
        lambda folder: write(
            folder / "train.csv", ["person_id", "visits", "colour", "pays"], ([*r[:3], "no"] for r in rows(20))
        ),
        {},
        "the target `pays` has only the value 'no' in train.csv",
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
        "train.csv has a header but no rows",
    ),
    "an empty file": (lambda folder: (folder / "train.csv").write_text(""), {}, "train.csv is empty"),
    "not text": (lambda folder: (folder / "train.csv").write_bytes(b"PK\x03\x04"), {}, "train.csv is a zip archive"),
    "a torn row": (
        lambda folder: write(folder / "train.csv", ["person_id", "pays"], [["p1", "1"], ["p2"]]),
        {},
        "train.csv:3: 1 of 2 rows have fewer cells than the header, which has 2; this row is the first",
    ),
    "an unknown metric": (None, {"metric": "rmes"}, "--metric rmes: unknown metric; did you mean rmse?"),
    "a metric of numbers": (None, {"metric": "rmse"}, "--metric rmse requires numbers, but the target `pays` contains"),
    "an id that repeats": (
        None,
        {"id": "colour"},
        "--id colour: train.csv has repeated or empty values in this column",
    ),
    "words in a quantity": (
        lambda folder: write(
            folder / "train.csv",
            ["person_id", "visits", "colour", "pays"],
            ([*r[:3], r[0] if n == 3 else f"{n}.5"] for n, r in enumerate(rows(60))),
        ),
        {},
        "`pays` is numeric, but has values such as 'p3' in 1 row of train.csv",
    ),
    "the target twice": (
        lambda folder: (
            (folder / "test.csv").unlink()
            or write(
                folder / "train.csv",
                ["n", "price", "price_again"],
                [[f"{n % 7}", f"{n}.5", f"{n}.5"] for n in range(60)],
            )
        ),
        {"target": "price"},
        "`price_again` is the same as the target `price`: remove it from train.csv",
    ),
    "no time": (
        lambda folder: (folder / "test.csv").unlink(),
        {"target": "pays", "time": "colour"},
        "--time-column colour: 'red' in row 1 of train.csv is not a time such as 2017-10-25,",
    ),
    "too few rows": (
        lambda folder: write(folder / "train.csv", ["person_id", "visits", "colour", "pays"], rows(9)),
        {},
        "train.csv has only 9 rows to learn `pays` from: at least 10 are needed",
    ),
    "two training tables": (
        lambda folder: (
            (folder / "train.csv").rename(folder / "train_a.csv") and write(folder / "train_b.csv", ["x"], [["1"]])
        ),
        {},
        "--train train_a.csv; or bot solve",
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
    assert shown["numbers"].endswith(": Umsatz, Lager, Weg")  # 1,234 is as other columns have it
    assert snapshot.card.metric.name == "rmse" and "numbers from 1000 to 1029.9" in shown["task"]
    (first, *_) = table(snapshot.data / "train.csv")
    assert first == {"id": "0", "Umsatz": "1000.00", "Preis": "n/a", "Lager": "1.234", "Weg": "0.5"}


def test_the_test_table_has_the_decimal_commas_of_the_training_table(tmp_path):
    data = tmp_path / "sales"
    write(data / "train.csv", ["id;Preis;Umsatz"], [[f"{n};{n},50;{n * 3}"] for n in range(30)])
    write(data / "test.csv", ["id;Preis"], [["30;1,234"], ["31;2 000"]])
    snapshot, _ = grown(data, tmp_path)
    assert [row["Preis"] for row in table(snapshot.data / "test.csv")] == ["1.234", "2000"]
    assert json.loads((snapshot.path / FORMATS).read_text())["formats"]["Preis"][0] == ","


def test_a_table_of_windows_is_read_and_said_to_be_one(tmp_path):
    write(tmp_path / "w.csv", ["id", "Fläche", "y"], [[str(n), "groß", str(n / 2)] for n in range(30)], "cp1252")
    snapshot, shown = grown(tmp_path / "w.csv", tmp_path, target="y")
    assert shown["note"].startswith("w.csv: it is not UTF-8")
    assert table(snapshot.data / "train.csv")[0]["Fläche"] == "groß"


@pytest.mark.parametrize(("no", "yes"), [("no", "yes"), ("Nein", "Ja"), ("N", "Y"), ("bad", "good")])
def test_two_words_of_which_a_sample_asks_one_probability_are_written_as_1_and_0(no, yes, tmp_path):
    data = tmp_path / "churn"
    write(data / "train.csv", ["id", "x", "churned"], [[str(n), str(n % 7), no if n % 3 else yes] for n in range(30)])
    write(data / "test.csv", ["id", "x"], [[str(n), "1"] for n in range(30, 35)])
    write(data / "sample_submission.csv", ["id", "churned"], [[str(n), "0.5"] for n in range(30, 35)])
    snapshot, shown = grown(data, tmp_path)
    assert snapshot.card.metric.name == "roc_auc" and shown["labels"].startswith(f"`{yes}` becomes 1 and ")
    assert [row["churned"] for row in table(snapshot.data / "train.csv")][:4] == ["1", "0", "0", "1"]
    assert f"1 stands for '{yes}'" in snapshot.card.description
    assert split_rows(read_layout(snapshot.data, snapshot.card), 0, VERSION).rows("holdout")


@pytest.fixture
def task(tmp_path):
    """A folder of data that a test fills."""
    folder = tmp_path / "given"
    folder.mkdir()
    return folder


FEATURES = [[str(n), str(n % 7), f"{n * 0.5}"] for n in range(60)]


def test_a_word_that_looks_missing_is_a_class_and_its_rows_are_no_test_rows(tmp_path):
    lines = [[*row, ["None", "Apnea", "None", "Insomnia"][n % 4]] for n, row in enumerate(FEATURES)]
    write(tmp_path / "sleep.csv", ["id", "x", "z", "disorder"], lines)
    snapshot, shown = grown(tmp_path / "sleep.csv", tmp_path, target="disorder")
    assert snapshot.card.prediction_columns == ("Apnea", "Insomnia", "None") and "withheld" in shown["test rows"]
    assert "keep_default_na=False" in snapshot.card.description


def test_a_sample_of_a_few_rows_shows_the_form_and_all_test_rows_are_predicted(task, tmp_path):
    write(task / "train.csv", ["id", "x", "z", "y"], [[*row, row[2]] for row in FEATURES[:40]])
    write(task / "test.csv", ["id", "x", "z"], FEATURES[40:])
    write(task / "sample_submission.csv", ["id", "y"], [["41", "0"], ["40", "0"]])
    snapshot, shown = grown(task, tmp_path)
    assert [row["id"] for row in table(snapshot.data / "sample_submission.csv")] == [str(n) for n in range(40, 60)]
    assert "2 rows as examples" in shown["predictions"]


def test_dates_that_identify_rows_are_read_and_stand_in_predictions_as_they_were_written(task, tmp_path):
    days = [[f"{1 + n % 28}.{1 + n // 28:02}.2019", *row[1:]] for n, row in enumerate(FEATURES)]
    write(task / "train.csv", ["day", "x", "z", "y"], [[*row, f"{n % 7}.5"] for n, row in enumerate(days[:40])])
    write(task / "test.csv", ["day", "x", "z"], days[40:])
    write(task / "sample_submission.csv", ["day", "y"], [[row[0], "0"] for row in days[:39:-1]])
    snapshot, _ = grown(task, tmp_path)
    assert table(snapshot.data / "test.csv")[0]["day"] == "2019-02-13"
    submission = tmp_path / "submission.csv"
    submission.write_text((snapshot.data / "sample_submission.csv").read_text())
    restore_form(snapshot.path / FORM, submission)
    assert [row["day"] for row in table(submission)] == [row[0] for row in days[:39:-1]]


def test_a_sample_in_another_order_keeps_its_order(task, tmp_path):
    write(task / "train.csv", ["id", "x", "z", "y"], [[*row, row[2]] for row in FEATURES[:40]])
    write(task / "test.csv", ["id", "x", "z"], FEATURES[40:])
    write(task / "sample_submission.csv", ["id", "y"], [[row[0], "0"] for row in reversed(FEATURES[40:])])
    snapshot, _ = grown(task, tmp_path)
    assert [row["id"] for row in table(snapshot.data / "sample_submission.csv")][:2] == ["59", "58"]


def test_features_and_labels_are_joined_by_the_columns_of_both(task, tmp_path):
    weeks = [[city, str(week), str(week % 5)] for city in ("sj", "iq") for week in range(40)]
    old = [row for row in weeks if int(row[1]) < 30]
    new = [row for row in weeks if int(row[1]) >= 30]
    write(task / "train_features.csv", ["city", "week", "rain"], old)
    write(task / "train_labels.csv", ["city", "week", "cases"], [[*row[:2], str(n)] for n, row in enumerate(old)][::-1])
    write(task / "test_features.csv", ["city", "week", "rain"], new)
    write(task / "submission_format.csv", ["city", "week", "cases"], [[*row[:2], "0"] for row in new[::-1]])
    snapshot, shown = grown(task, tmp_path)
    assert shown["joined"] == "train_features.csv and train_labels.csv by city, week"
    trained = table(snapshot.data / "train.csv")
    assert [row["cases"] for row in trained] == [str(n) for n in range(60)]
    numbers = [row["row"] for row in table(snapshot.data / "sample_submission.csv")]
    submission = tmp_path / "submission.csv"
    write(submission, ["row", "cases"], [[number, f"{number}.5"] for number in numbers])
    restore_form(snapshot.path / FORM, submission)
    restored = table(submission)
    assert [(row["city"], row["week"]) for row in restored] == [(row[0], row[1]) for row in new[::-1]]
    assert restored[0]["cases"] == f"{numbers[-1]}.5"
    restore_form(snapshot.path / FORM, submission)
    assert table(submission) == restored


def test_rows_are_joined_in_order_where_labels_have_no_key(task, tmp_path):
    write(task / "X_train.csv", ["x", "z"], [row[1:] for row in FEATURES[:40]])
    write(task / "y_train.csv", ["", "price"], [[str(n), f"{n}.5"] for n in range(40)])
    write(task / "X_test.csv", ["x", "z"], [row[1:] for row in FEATURES[40:]])
    write(task / "y_test.csv", ["", "price"], [[str(n), "7"] for n in range(20)])
    snapshot, shown = grown(task, tmp_path)
    assert [row["price"] for row in table(snapshot.data / "train.csv")] == [f"{n}.5" for n in range(40)]
    assert shown["left out"].startswith("y_test.csv") and not (snapshot.data / "y_test.csv").exists()


def test_two_tables_of_features_are_not_taken_for_features_and_labels(task, tmp_path):
    for part, rows_of in (("train", FEATURES[:40]), ("test", FEATURES[40:])):
        write(
            task / f"{part}_payment.csv",
            ["id", "x", *(["y"] if part == "train" else [])],
            [[*row[:2], *(["1"] if part == "train" else [])] for row in rows_of],
        )
        write(task / f"{part}_identity.csv", ["id", "z"], [[row[0], row[2]] for row in rows_of[::4]])
    with pytest.raises(UsageError, match=r"--train train_payment\.csv"):
        grown(task, tmp_path)


@pytest.mark.parametrize("beside", ["README.txt", "data.names.txt"])
def test_a_text_beside_a_table_is_no_table(beside, task, tmp_path):
    write(task / "iris.csv", ["x", "z", "target"], [[*row[1:], ["a", "b"][n % 2]] for n, row in enumerate(FEATURES)])
    (task / beside).write_text("Iris, as Fisher has it.\n1. Title: Iris, plants\n2, 3, 4\n")
    _, shown = grown(task, tmp_path)
    assert shown["training rows"].startswith("iris.csv")


@pytest.mark.parametrize("other", ["latest_prices.csv", "contest.csv"])
def test_a_test_table_is_told_by_its_columns_not_by_letters_in_its_name(other, task, tmp_path):
    write(task / "houses_train.csv", ["id", "x", "z", "y"], [[*row, f"{n % 7}.5"] for n, row in enumerate(FEATURES)])
    write(task / other, ["day", "rate"], [[str(n), "1"] for n in range(9)])
    snapshot, shown = grown(task, tmp_path, target="y")
    assert "withheld" in shown["test rows"] and (snapshot.data / other).exists()


def test_tables_without_telling_names_are_told_by_their_columns(task, tmp_path):
    write(task / "known.csv", ["id", "x", "z", "y"], [[*row, row[2]] for row in FEATURES[:40]])
    write(task / "wanted.csv", ["id", "x", "z"], FEATURES[40:])
    _, shown = grown(task, tmp_path)
    assert shown["training rows"].startswith("known.csv") and shown["test rows"] == "wanted.csv, 20 rows"


def test_a_table_beside_the_others_that_holds_answers_is_left_out(task, tmp_path):
    write(task / "train.csv", ["id", "x", "z", "y"], [[*row, row[2]] for row in FEATURES[:40]])
    write(task / "test.csv", ["id", "x", "z"], FEATURES[40:])
    write(task / "solution.csv", ["id", "y"], [[row[0], row[2]] for row in FEATURES[40:]])
    snapshot, shown = grown(task, tmp_path)
    assert shown["left out"].startswith("solution.csv") and not (snapshot.data / "solution.csv").exists()


def pack(path, name, content):
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr(name, content)


def save_tables(save, task):
    """Save the training and the test table by a function of name and text."""
    train = "\n".join(["id,x,z,y", *(",".join([*row, row[2]]) for row in FEATURES[:40])]) + "\n"
    test = "\n".join(["id,x,z", *(",".join(row) for row in FEATURES[40:])]) + "\n"
    for name, text in (("train", train), ("test", test)):
        save(task, name, text)


def save_zips(task, name, text):
    pack(task / f"{name}.csv.zip", f"{name}.csv", text)


def save_mixed(task, name, text):
    save_zips(task, name, text) if name == "train" else (task / "test.csv").write_text(text)


def save_nested(task, name, text):
    pack(task / "inner.zip", f"{name}.csv", text)
    pack(task / f"{name}.zip", f"{name}.zip", (task / "inner.zip").read_bytes())
    (task / "inner.zip").unlink()


def save_7z(task, name, text):
    with py7zr.SevenZipFile(task / f"{name}.7z", "w") as packed:
        packed.writestr(text, f"{name}.csv")


def save_parquet(task, name, text):
    fastparquet.write(str(task / f"{name}.parquet"), pd.read_csv(io.StringIO(text)))


def save_web_page(task, name, text):
    cells = ("".join(f"<td>{cell}</td>" for cell in row) for row in csv.reader(io.StringIO(text)))
    (task / f"{name}.xls").write_text("".join(["<table>", *(f"<tr>{row}</tr>" for row in cells), "</table>"]))


def save_json_lines(task, name, text):
    (task / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in csv.DictReader(io.StringIO(text))))


def save_json_by_column(task, name, text):
    pd.read_csv(io.StringIO(text)).to_json(task / f"{name}.json")


def save_json_split(task, name, text):
    pd.read_csv(io.StringIO(text)).to_json(task / f"{name}.json", orient="split")


def save_json_within(task, name, text):
    (task / f"{name}.json").write_text(json.dumps({"count": 9, "data": [*csv.DictReader(io.StringIO(text))]}))


def save_xz(task, name, text):
    (task / f"{name}.csv.xz").write_bytes(lzma.compress(text.encode()))


@pytest.mark.parametrize(
    "save",
    [
        *(save_zips, save_mixed, save_nested, save_7z, save_parquet, save_xz),
        *(save_web_page, save_json_lines, save_json_by_column, save_json_split, save_json_within),
    ],
)
def test_packed_and_other_formats_are_read(save, task, tmp_path):
    save_tables(save, task)
    snapshot, shown = grown(task, tmp_path)
    assert shown["target"].startswith("`y`") and shown["test rows"].endswith("20 rows")
    assert [float(row["z"]) for row in table(snapshot.data / "test.csv")][:2] == [20.0, 20.5]
    asked = [row["id"] for row in table(snapshot.data / "sample_submission.csv")]
    assert asked == [str(n) for n in range(40, 60)], "ids stand in predictions as they are"


def test_a_workbook_is_read(task, tmp_path):
    frame = pd.DataFrame(FEATURES, columns=["id", "x", "z"]).astype({"id": int, "z": float})
    frame.assign(day=datetime(2020, 1, 2)).to_excel(task / "data.xlsx", index=False)  # noqa: DTZ001 (as a sheet has it)
    snapshot, shown = grown(task / "data.xlsx", tmp_path, target="z")
    assert shown["training rows"] == "data.csv, 60 rows, 4 columns" and snapshot.card.metric.name == "rmse"
    first = table(snapshot.data / "train.csv")[0]
    assert first["id"].isdigit() and first["day"] == "2020-01-02"


def test_several_targets_of_words_are_scored_by_their_mean_accuracy(task, tmp_path):
    labels = [[["a", "b", "c"][n % 3], ["u", "v"][n % 2]] for n in range(60)]
    write(task / "train.csv", ["id", "x", "z", "kind", "form"], [[*FEATURES[n], *labels[n]] for n in range(40)])
    write(task / "test.csv", ["id", "x", "z"], FEATURES[40:])
    write(task / "sample_submission.csv", ["id", "kind", "form"], [[row[0], "a", "u"] for row in FEATURES[40:]])
    snapshot, _ = grown(task, tmp_path)
    assert snapshot.card.metric.name == "mean_columnwise_accuracy"
    assert split_rows(read_layout(snapshot.data, snapshot.card), 0, VERSION).rows("holdout")


def test_the_likelier_reading_is_taken_where_nobody_is_to_be_asked(task, tmp_path):
    write(
        task / "iris.csv",
        ["5.1", "3.5", "setosa"],
        [[f"{n % 5}.2", f"{n % 3}.1", ["setosa", "virginica"][n % 2]] for n in range(40)],
    )
    _, shown = grown(task / "iris.csv", tmp_path / "sure", yes=True)
    assert shown["target"].startswith("`column_3`, the most likely target among 3 columns")
    with pytest.raises(UsageError, match="--target column_3"):
        grown(task / "iris.csv", tmp_path)


def test_of_two_tables_with_equal_columns_the_larger_is_the_likelier(task, tmp_path):
    for name, many in (("latest_prices.csv", 20), ("listings.csv", 60)):
        write(task / name, ["size", "target"], [[str(n), f"{n % 7}.5"] for n in range(many)])
    _, shown = grown(task, tmp_path / "sure", yes=True)
    assert shown["training rows"].startswith("listings.csv, 60 rows")
    with pytest.raises(UsageError, match=r"--train listings\.csv; or .*--train latest_prices\.csv"):
        grown(task, tmp_path)


@pytest.mark.parametrize(
    ("header", "line"),
    [(["ID", "y"], ["{}", "0"]), (["number", "y"], ["{}", "0"]), (["", "id", "y"], ["7", "{}", "0"])],
)
def test_a_sample_with_another_name_for_the_id_or_with_row_numbers_is_understood(header, line, task, tmp_path):
    write(task / "train.csv", ["id", "x", "z", "y"], [[*row, row[2]] for row in FEATURES[:40]])
    write(task / "test.csv", ["id", "x", "z"], FEATURES[40:])
    write(task / "sample_submission.csv", header, [[cell.format(row[0]) for cell in line] for row in FEATURES[40:]])
    snapshot, _ = grown(task, tmp_path)
    assert snapshot.card.id_column == header[-2] and snapshot.card.prediction_columns == ("y",)
    assert next(iter(table(snapshot.data / "test.csv")[0])) == header[-2]


def test_a_target_of_the_test_table_with_one_word_for_nothing_is_empty(folder, tmp_path):
    lines = [[*row, "?"] for row in rows(9, 40, answers=False)]
    write(folder / "test.csv", ["person_id", "visits", "colour", "pays"], lines)
    _, shown = grown(folder, tmp_path)
    assert shown["target"] == "`pays`, which is empty in test.csv"


def test_row_numbers_of_the_training_table_alone_are_no_target(folder, tmp_path):
    write(
        folder / "train.csv",
        ["", "person_id", "visits", "colour", "pays"],
        [[str(n), *r] for n, r in enumerate(rows(40))],
    )
    _, shown = grown(folder, tmp_path)
    assert shown["target"].startswith("`pays`, the only column")


def test_of_several_tables_the_one_with_the_target_has_the_training_rows(task, tmp_path):
    write(task / "houses.csv", ["x", "z", "y"], [[*row[1:], f"{n % 9}.5"] for n, row in enumerate(FEATURES)])
    write(task / "dictionary.csv", ["column", "meaning"], [["x", "rooms"], ["z", "age"]])
    _, shown = grown(task, tmp_path, target="y")
    assert shown["training rows"].startswith("houses.csv")


def test_dates_are_read_as_the_test_table_has_them_where_the_training_table_leaves_two_ways(task, tmp_path):
    days = [f"{1 + n % 12:02}/{1 + n // 12:02}/2019" for n in range(60)]
    write(task / "train.csv", ["day", "x", "y"], [[day, "1", f"{n}.5"] for n, day in enumerate(days)])
    write(task / "test.csv", ["day", "x"], [[f"{13 + n}/11/2019", "1"] for n in range(9)])
    snapshot, _ = grown(task, tmp_path)
    assert table(snapshot.data / "train.csv")[12]["day"] == "2019-02-01"
    assert table(snapshot.data / "test.csv")[0]["day"] == "2019-11-13"


def test_names_of_the_test_table_that_differ_in_case_are_those_of_the_training_table(folder, tmp_path):
    write(folder / "test.csv", ["Person_ID", "Visits", "colour"], rows(10, 40, answers=False))
    snapshot, shown = grown(folder, tmp_path)
    assert shown["target"].startswith("`pays`") and "is `visits` in train.csv" in shown["note"]
    assert list(table(snapshot.data / "test.csv")[0]) == ["person_id", "visits", "colour"]


def test_a_time_in_several_columns_orders_the_rows(tmp_path):
    start = datetime(2019, 12, 30, tzinfo=UTC)
    times = [start + timedelta(hours=n) for n in range(100)]
    lines = [[str(t.year), t.strftime("%B"), str(t.day), str(t.hour), f"{n % 7}.5"] for n, t in enumerate(times)]
    write(tmp_path / "load.csv", ["Year", "Month", "Day", "Hour", "target"], lines)
    snapshot, shown = grown(tmp_path / "load.csv", tmp_path)
    assert "the latest rows by timestamp" in shown["test rows"] and "Year, Month, Day, Hour" in shown["note"]
    assert table(snapshot.data / "test.csv")[0]["timestamp"] == "2020-01-02 08:00:00"


@pytest.mark.parametrize(("names", "target"), [("Date,Time", "Time"), ("Year,Month", "Month")])
def test_a_target_is_not_joined_to_a_time(names, target, tmp_path):
    lines = [
        [f"{1 + n % 28}.05.2019", f"3:{n % 60:02}"] if target == "Time" else ["2019", str(1 + n % 12)]
        for n in range(60)
    ]
    write(tmp_path / "t.csv", [*names.split(","), "x"], [[*line, "7"] for line in lines])
    snapshot, _ = grown(tmp_path / "t.csv", tmp_path, target=target)
    (row, *_) = table(snapshot.data / "train.csv")
    assert "timestamp" not in row and len(row.get("Date", "2019-05-01")) == 10


def test_words_among_the_numbers_of_a_target_are_refused_not_taken_for_rows_to_predict(tmp_path):
    lines = [[str(n % 5), "n.d." if n == 7 else f"{n % 30}.5"] for n in range(100)]
    write(tmp_path / "t.csv", ["x", "target"], lines)
    with pytest.raises(UsageError, match=r"is numeric, but has values such as 'n\.d\.' in 1 row"):
        grown(tmp_path / "t.csv", tmp_path)


def test_a_few_classes_with_a_unit_keep_it(tmp_path):
    write(tmp_path / "t.csv", ["x", "target"], [[str(n % 7), f"{1 + n % 3} rooms"] for n in range(60)])
    snapshot, _ = grown(tmp_path / "t.csv", tmp_path)
    assert snapshot.card.prediction_columns == ("1 rooms", "2 rooms", "3 rooms")


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        (lambda n: "Aproved" if n == 3 else ["Approved", "Rejected"][n % 2], "Aproved (1) for Approved"),
        (lambda n: "-999" if n % 20 == 3 else f"{n % 9}.5", "is -999 in 5 rows, far from all other values"),
    ],
)
def test_values_of_the_target_that_are_hardly_meant_are_named(cell, words, tmp_path):
    write(tmp_path / "t.csv", ["x", "target"], [[str(n % 7), cell(n)] for n in range(100)])
    _, shown = grown(tmp_path / "t.csv", tmp_path)
    assert words in shown["caution"]


def test_rows_without_a_date_are_no_test_rows_of_a_dated_table(tmp_path):
    lines = [["NA" if n % 9 == 3 else f"{1 + n % 28}.{1 + n // 28:02}.2019", str(n % 5), str(n % 2)] for n in range(60)]
    write(tmp_path / "visits.csv", ["day", "x", "target"], lines)
    snapshot, shown = grown(tmp_path / "visits.csv", tmp_path)
    assert "the latest rows by day" in shown["test rows"]
    assert min(row["day"] for row in table(snapshot.data / "test.csv")) > "2019-02-15"


@pytest.mark.parametrize(
    ("copy", "clause"),
    [
        (lambda n: ["c1", "c2"][n % 2], "duplicates"),
        (lambda n: [f"{n}.5", ""][n % 2], "has values only for some classes of"),
        (lambda n: "x", None),
        (lambda n: "" if n % 20 else f"c{n}", None),
    ],
    ids=["by another word", "by its gaps", "of one value", "of few values"],
)
def test_a_column_that_tells_the_target_is_named(copy, clause, tmp_path):
    lines = [[str(n * n % 7), copy(n), ["good", "bad"][n % 2]] for n in range(60)]
    write(tmp_path / "t.csv", ["x", "code", "target"], lines)
    _, shown = grown(tmp_path / "t.csv", tmp_path)
    assert shown.get("caution", "").startswith(f"`code` {clause}" if clause else "") and ("caution" in shown) == (
        clause is not None
    )


@pytest.mark.parametrize("unlabelled", [0, 30])
def test_of_a_table_that_takes_long_to_read_a_sample_is_learned_from_and_all_is_predicted(unlabelled, tmp_path):
    padding = "x" * 700
    lines = [f"{n};{n},5;{padding};{'n/a' if n < unlabelled else f'1.{n % 1000:03},5'}" for n in range(15_000)]
    write(tmp_path / "t.csv", ["n;x;z;y"], [[line] for line in lines])
    snapshot, shown = grown(tmp_path / "t.csv", tmp_path, target="y", seconds=0.001)
    assert "blocks is read: all 11 MB would take" in shown["note"]
    train, test = (table(snapshot.data / f"{name}.csv") for name in ("train", "test"))
    assert 1_500 <= len(train) < 9_000 and int(train[-1]["n"]) > 10_000
    assert len(test) == unlabelled or not unlabelled
    assert float(train[-1]["y"]) > 1000 and ".5" in train[0]["x"]
    assert json.loads((snapshot.path / FORMATS).read_text())["formats"]["x"][0] == ","


def test_no_time_joined_from_the_target_is_left_in_a_table_that_was_read_in_part(tmp_path):
    lines = [["2019", str(1 + n % 12), str(1 + n % 28), str(n % 24) if n % 40 else ""] for n in range(400)]
    write(tmp_path / "t.csv", ["year", "month", "day", "hour"], lines)
    part = replace(UserTable.read(tmp_path / "t.csv"), is_part=True, length=200)
    whole = with_unlabelled_rows(part, "hour", tmp_path / "out.csv")
    assert "timestamp" in part.header and "timestamp" not in whole.without_time_of("hour").header


def test_words_among_the_numbers_that_a_sample_asks_for_are_refused_too(folder, tmp_path):
    lines = [[*row[:3], "n.d." if n == 7 else f"{n}.5"] for n, row in enumerate(rows(40))]
    write(folder / "train.csv", ["person_id", "visits", "colour", "pays"], lines)
    write(folder / "sample_submission.csv", ["person_id", "pays"], [[f"p{n}", "0"] for n in range(40, 50)])
    with pytest.raises(UsageError, match=r"is numeric, but has values such as 'n\.d\.'"):
        grown(folder, tmp_path)
