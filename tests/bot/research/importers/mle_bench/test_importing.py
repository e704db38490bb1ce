import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.research.importers.mle_bench.importing import BenchImport, BenchImportResult, Dates
from bot.research.importers.mle_bench.prepared_files import find_places
from bot.research.metric_search.grade_calls import FoundMetric, MetricQuestion
from scrapers.snapshots.card import Direction
from scrapers.snapshots.snapshot import Snapshot
from state.errors import Problem, SnapshotError
from tests.bot.research.importers.mle_bench.prepared_folder import (
    POINTER,
    authors,
    numbers,
    questions,
    spoken,
    write_board,
    write_competition,
    write_table,
)
from tests.source_tree import ROOT

METRICS: dict[str, Direction] = {"rmse": "minimize", "log_loss": "minimize", "accuracy": "maximize"}
NOW = datetime(2026, 11, 20, tzinfo=UTC)
MIDSUMMER = Dates(datetime(2019, 6, 1, tzinfo=UTC), datetime(2019, 7, 1, tzinfo=UTC), "given by hand")


def finds(name: str, direction: Direction = "minimize") -> Callable[[MetricQuestion], FoundMetric]:
    return lambda question: FoundMetric(name, direction, "for the test")


def imported(
    root: Path, found: Callable[[MetricQuestion], FoundMetric] | None = None, dates: Dates | None = None
) -> dict[str, BenchImportResult]:
    places = find_places([root / "data"], root / "competitions")
    importing = BenchImport(root / "out", METRICS, found or finds("rmse"), NOW, dates)
    return {place.slug: importing.run(place) for place in places}


def problems_of(outcome: BenchImportResult) -> str:
    return " | ".join(map(str, outcome.problems))


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_a_competition_becomes_a_snapshot_that_loads(tmp_path: Path) -> None:
    numbers("sums", tmp_path)
    outcome = imported(tmp_path)["sums"]
    assert (outcome.status, outcome.rows, outcome.teams, outcome.omitted) == ("imported", 80, 12, ())
    snapshot = Snapshot.load(tmp_path / "out/sums", METRICS)
    assert files(snapshot.path) == {
        *("snapshot.json", "description.md", "leaderboard.csv", "private/answers.csv"),
        *("data/train.csv", "data/test.csv", "data/sample_submission.csv"),
    }
    assert (snapshot.card.title, snapshot.card.id_column, snapshot.card.prediction_columns) == (
        "The sums competition",
        "id",
        ("y",),
    )
    assert snapshot.leaderboard[:2] == [0.1, 0.15000000000000002]
    assert snapshot.card.description.startswith("# sums\n\nOf the package.")


def test_data_is_linked_and_nothing_of_the_source_is_touched(tmp_path: Path) -> None:
    folder = numbers("sums", tmp_path)
    before = {path: (path.stat().st_mtime_ns, path.stat().st_mode) for path in folder.rglob("*")}
    imported(tmp_path)
    linked = tmp_path / "out/sums/data/train.csv"
    assert linked.samefile(folder / "prepared/public/train.csv")
    assert {path: (path.stat().st_mtime_ns, path.stat().st_mode) for path in folder.rglob("*")} == before


def test_folders_and_names_of_the_data_stay_as_they_are(tmp_path: Path) -> None:
    public = numbers("sums", tmp_path) / "prepared/public"
    for name in ("train/cat/1.txt", "train/dog/2.txt", "labels.json"):
        (public / name).parent.mkdir(parents=True, exist_ok=True)
        (public / name).write_text(f"[{name!r}]")
    assert imported(tmp_path)["sums"].status == "imported"
    assert files(public) - {"description.md"} == files(tmp_path / "out/sums/data")


def test_dates_are_those_of_the_board_and_each_entry_keeps_its_own(tmp_path: Path) -> None:
    numbers("sums", tmp_path)
    imported(tmp_path, dates=MIDSUMMER)
    manifest = json.loads((tmp_path / "out/sums/snapshot.json").read_text())
    assert (manifest["enabled_at"], manifest["deadline"]) == ("2019-01-10T10:20:30Z", "2019-03-18T10:20:30Z")
    assert any(
        line.startswith("enabled_at and deadline: first and last `submissionDate`") for line in manifest["sources"]
    )
    board = (tmp_path / "out/sums/leaderboard.csv").read_text().splitlines()
    assert board[:2] == ["rank,score,submitted_at", "1,0.1,2019-01-10T10:20:30Z"]


def test_without_dates_on_the_board_they_must_be_given(tmp_path: Path) -> None:
    numbers("sums", tmp_path)
    write_board(tmp_path / "competitions/sums/leaderboard.csv", dated=False)
    assert "pass the competition's dates with --enabled-at and --deadline" in problems_of(imported(tmp_path)["sums"])
    assert imported(tmp_path, dates=MIDSUMMER)["sums"].status == "imported"
    manifest = json.loads((tmp_path / "out/sums/snapshot.json").read_text())
    assert (manifest["enabled_at"], "enabled_at and deadline: given by hand" in manifest["sources"]) == (
        "2019-06-01T00:00:00Z",
        True,
    )


@pytest.mark.parametrize(
    ("many", "sentence"), [(1, "1 entry without a score is"), (2, "2 entries without a score are")]
)
def test_entries_of_the_board_without_a_score_are_left_out_and_problems_of(
    tmp_path: Path, many: int, sentence: str
) -> None:
    numbers("sums", tmp_path)
    with (tmp_path / "competitions/sums/leaderboard.csv").open("a") as board:
        board.write("".join(f",{900 + team},True,2019-01-11 10:20:30,,False\n" for team in range(many)))
    outcome = imported(tmp_path)["sums"]
    assert (outcome.status, outcome.teams) == ("imported", 12)
    assert f"{sentence} left out of leaderboard.csv" in outcome.notes


def test_of_private_only_the_sample_submission_reaches_the_data(tmp_path: Path) -> None:
    folder = spoken("spoken", tmp_path)
    (folder / "prepared/private/notes.txt").write_text("how the answers were made")
    outcome = imported(tmp_path, finds("accuracy", "maximize"))["spoken"]
    assert outcome.status == "imported"
    assert files(tmp_path / "out/spoken/data") == {"sample_submission.csv"}
    assert "only sample_submission.csv was taken from private/" in outcome.notes


@pytest.mark.parametrize("name", ["solution.csv", "answers.csv", "deep/labels.csv"])
def test_a_copy_of_the_answers_is_left_out_and_named(tmp_path: Path, name: str) -> None:
    prepared = numbers("sums", tmp_path) / "prepared"
    (prepared / "public" / name).parent.mkdir(exist_ok=True)
    shutil.copyfile(prepared / "private/answers.csv", prepared / "public" / name)
    outcome = imported(tmp_path)["sums"]
    assert outcome.omitted == (f"{name} is a copy of private/answers.csv",)
    assert name not in files(tmp_path / "out/sums/data")


def test_tables_with_the_answers_in_a_column_are_left_out_in_zips_too(tmp_path: Path) -> None:
    prepared = numbers("sums", tmp_path) / "prepared"
    rows = [line.split(",") for line in (prepared / "private/answers.csv").read_text().splitlines()[1:]]
    write_table(prepared / "public/known.csv", ("x", "y", "id"), [(1, cell, one) for one, cell in reversed(rows)])
    with zipfile.ZipFile(prepared / "public/known.zip", "w") as archive:
        archive.write(prepared / "public/known.csv", "a/known.csv")
    outcome = imported(tmp_path)["sums"]
    assert [one.split()[0] for one in outcome.omitted] == ["known.csv", "known.zip"]
    assert all("reveals the answers" in one for one in outcome.omitted)
    assert not {"known.csv", "known.zip"} & files(tmp_path / "out/sums/data")


def test_the_answers_are_left_out_as_json_and_under_other_names_too(tmp_path: Path) -> None:
    public = numbers("sums", tmp_path) / "prepared/public"
    known = [(f"n{place:03d}", round(3 + place * 0.37 % 5 + place % 7, 3)) for place in range(80)]
    (public / "test.json").write_text(json.dumps([{"id": id, "x": 1, "y": y} for id, y in known]))
    write_table(public / "labels.txt", ("image", "label"), known)
    outcome = imported(tmp_path)["sums"]
    assert outcome.status == "imported", problems_of(outcome)
    assert [one.split()[0] for one in outcome.omitted] == ["labels.txt", "test.json"]
    assert all("reveals the answers" in one for one in outcome.omitted)
    assert not (tmp_path / "out/sums/data/test.json").exists()


def test_a_gold_submission_is_left_out_though_its_bytes_are_not_those_of_the_answers(tmp_path: Path) -> None:
    prepared = questions("asked", tmp_path) / "prepared"
    shutil.copyfile(prepared / "private/gold_submission.csv", prepared / "public/gold.csv")
    outcome = imported(tmp_path, finds("grade.py", "maximize"))["asked"]
    assert outcome.omitted == ("gold.csv is a copy of private/gold_submission.csv",)


def test_a_gold_submission_is_the_truth_where_the_answers_have_the_columns_in_another_form(tmp_path: Path) -> None:
    boxes = [(f"p{place}", f"A {place} {place} 9 9") for place in range(30)]
    points = [(name, f"A {place + 1} {place + 1}") for place, (name, _) in enumerate(boxes)]
    folder = write_competition(
        tmp_path,
        "pages",
        header=("id", "labels"),
        answers=boxes,
        sample=[(name, "A 1 1") for name, _ in boxes],
        grader="",
        gold=True,
    )
    write_table(folder / "prepared/private/gold_submission.csv", ("id", "labels"), points)
    outcome = imported(tmp_path)["pages"]
    assert "the true values are from gold_submission.csv" in outcome.notes
    assert (tmp_path / "out/pages/private/answers.csv").read_text().splitlines()[1] == "p0,A 1 1"


def test_a_sample_submission_that_is_the_answers_fails(tmp_path: Path) -> None:
    prepared = numbers("sums", tmp_path) / "prepared"
    shutil.copyfile(prepared / "private/answers.csv", prepared / "public/sample_submission.csv")
    assert "cannot be the sample submission because it is a copy of private/answers.csv" in problems_of(
        imported(tmp_path)["sums"]
    )
    assert not list((tmp_path / "out").iterdir())


def test_links_into_private_and_out_of_the_folder(tmp_path: Path) -> None:
    prepared = numbers("sums", tmp_path) / "prepared"
    (tmp_path / "elsewhere.txt").write_text("weights")
    (prepared / "public/more.txt").symlink_to(tmp_path / "elsewhere.txt")
    (prepared / "public/peek.csv").symlink_to(prepared / "private/answers.csv")
    (prepared / "public/all").symlink_to(prepared / "private")
    outcome = imported(tmp_path)["sums"]
    assert set(outcome.omitted) == {"peek.csv is a link into private/", "all is a link into private/"}
    assert (tmp_path / "out/sums/data/more.txt").read_text() == "weights"
    assert not (tmp_path / "out/sums/data/more.txt").is_symlink()


@pytest.mark.parametrize(
    ("file", "named"),
    [
        ("competitions/sums/leaderboard.csv", "leaderboard.csv"),
        ("competitions/sums/grade.py", "grade.py"),
        ("data/sums/prepared/private/answers.csv", "prepared/private/answers.csv"),
        ("data/sums/prepared/public/train.csv", "public/train.csv"),
    ],
)
def test_pointers_of_git_lfs_are_named_with_what_to_do(tmp_path: Path, file: str, named: str) -> None:
    numbers("sums", tmp_path)
    (tmp_path / file).write_text(POINTER)
    outcome = imported(tmp_path)["sums"]
    assert outcome.status == "failed"
    assert [problem.file for problem in outcome.problems] == [named]
    assert "`git lfs pull`" in problems_of(outcome)


@pytest.mark.parametrize("packed", ["sample_submission.csv.zip", "sample_submission.zip"])
def test_a_zipped_sample_submission_is_unpacked(tmp_path: Path, packed: str) -> None:
    public = numbers("sums", tmp_path) / "prepared/public"
    plain = (public / "sample_submission.csv").read_bytes()
    with zipfile.ZipFile(public / packed, "w") as archive:
        archive.write(public / "sample_submission.csv", "sample_submission.csv")
        archive.writestr("__MACOSX/._sample_submission.csv", b"\0\5\x16\7")
    (public / "sample_submission.csv").unlink()
    assert imported(tmp_path)["sums"].status == "imported"
    assert files(tmp_path / "out/sums/data") == {"sample_submission.csv", "train.csv", "test.csv"}
    assert (tmp_path / "out/sums/data/sample_submission.csv").read_bytes() == plain


def test_a_sample_submission_of_another_name_gets_the_usual_one(tmp_path: Path) -> None:
    public = numbers("sums", tmp_path) / "prepared/public"
    (public / "sample_submission.csv").rename(public / "sampleSubmission.csv")
    config = tmp_path / "competitions/sums/config.yaml"
    config.write_text(config.read_text().replace("public/sample_submission.csv", "public/sampleSubmission.csv"))
    (public / "sample_submission.csv").write_text("another table\n1\n")
    outcome = imported(tmp_path)["sums"]
    assert outcome.omitted == ("sample_submission.csv is not the graded sample submission (sampleSubmission.csv)",)
    assert files(tmp_path / "out/sums/data") == {"sample_submission.csv", "train.csv", "test.csv"}


def test_a_grader_of_its_own_comes_with_its_modules_and_the_whole_answers(tmp_path: Path) -> None:
    authors("authors", tmp_path)
    questions("asked", tmp_path)
    outcomes = imported(tmp_path, finds("grade.py", "minimize"))
    assert outcomes["authors"].status == "imported"
    private = tmp_path / "out/authors/private"
    assert files(private) == {"answers.csv", "whole_answers.csv", "grade.py", "classes.py"}
    # The board of the other one points upwards.
    assert "is not sorted from best to worst" in problems_of(outcomes["asked"])
    imported(tmp_path, finds("grade.py", "maximize"))
    manifest = json.loads((tmp_path / "out/asked/snapshot.json").read_text())
    assert manifest["metric"]["params"] == {"answers": "test.jsonl"}
    assert files(tmp_path / "out/asked/private") == {"answers.csv", "grade.py", "test.jsonl"}
    assert (tmp_path / "out/asked/private/answers.csv").read_text().startswith("example_id,PredictionString\nq00,0:4\n")


def test_a_metric_of_the_registry_needs_no_grader_beside_the_answers(tmp_path: Path) -> None:
    authors("authors", tmp_path)
    imported(tmp_path, finds("log_loss"))
    assert files(tmp_path / "out/authors/private") == {"answers.csv"}


def test_what_is_there_already_is_skipped_and_never_replaced(tmp_path: Path) -> None:
    numbers("sums", tmp_path)
    assert imported(tmp_path)["sums"].status == "imported"
    before = (tmp_path / "out/sums/snapshot.json").stat().st_mtime_ns
    again = imported(tmp_path, finds("accuracy"))["sums"]
    assert (again.status, again.metric) == ("already exists", "rmse")
    assert (tmp_path / "out/sums/snapshot.json").stat().st_mtime_ns == before
    (tmp_path / "out/sums/snapshot.json").unlink()
    assert "already exists and is not" in problems_of(imported(tmp_path)["sums"])
    assert (tmp_path / "out/sums/leaderboard.csv").is_file()


def test_one_that_cannot_be_imported_stops_no_other(tmp_path: Path) -> None:
    numbers("broken", tmp_path)
    (tmp_path / "competitions/broken/config.yaml").write_text("id: broken\ndataset: [\n")
    numbers("sums", tmp_path)
    (tmp_path / "data/raw-only/raw").mkdir(parents=True)
    shutil.copytree(tmp_path / "competitions/sums", tmp_path / "competitions/raw-only")
    outcomes = imported(tmp_path)
    assert {slug: outcome.status for slug, outcome in outcomes.items()} == {
        "broken": "failed",
        "raw-only": "failed",
        "sums": "imported",
    }
    assert "config.yaml:3: is not valid YAML" in problems_of(outcomes["broken"])
    assert "`mlebench prepare -c raw-only`" in problems_of(outcomes["raw-only"])


def test_rows_that_only_two_columns_together_identify_have_both_as_their_key(tmp_path: Path) -> None:
    rows = [(case, organ, "1 5") for case in range(20) for organ in ("liver", "lung")]
    sample = [(case, organ, "") for case, organ, _ in rows]
    write_competition(
        tmp_path,
        "organs",
        header=("id", "class", "predicted"),
        answers=rows,
        sample=sample[::-1],
        grader="grade = None\n",
        lower_is_better=True,
    )
    outcome = imported(tmp_path)["organs"]
    assert outcome.status == "imported", problems_of(outcome)
    assert "rows are identified by the combination of 'id', 'class'" in outcome.notes
    card = Snapshot.load(tmp_path / "out/organs", METRICS).card
    assert (card.id_column, card.key_columns, card.prediction_columns) == ("id", ("class",), ("predicted",))


def test_ids_that_repeat_as_often_in_the_answers_are_distinguished_by_their_order(tmp_path: Path) -> None:
    rows = [(row % 2, f"2012-0{row % 9}", f"comment {row}") for row in range(40)]
    rows += [(1, "", "comment 7"), (1, "", "comment 7")]
    write_competition(
        tmp_path,
        "insults",
        header=("Insult", "Date", "Comment"),
        answers=rows,
        sample=[(0, *row[1:]) for row in rows],
        grader="grade = None\n",
        lower_is_better=True,
    )
    outcome = imported(tmp_path)["insults"]
    assert outcome.status == "imported", problems_of(outcome)
    assert "'Comment', 'Date' repeats in 1 of 42 rows; repeated rows are matched by order" in outcome.notes
    card = Snapshot.load(tmp_path / "out/insults", METRICS).card
    assert (card.id_column, card.key_columns, card.prediction_columns) == ("Comment", ("Date",), ("Insult",))


def test_too_many_ids_that_repeat_are_reported_by_their_own_column(tmp_path: Path) -> None:
    rows = [(row % 2, f"comment {row}") for row in [*range(20), *range(0, 20, 5)]]
    write_competition(
        tmp_path,
        "insults",
        header=("Insult", "Comment"),
        answers=rows,
        sample=[(0, comment) for _, comment in rows],
        grader="grade = None\n",
    )
    assert "'Comment' repeats in 4 of 24 rows, which is too many for an id" in problems_of(
        imported(tmp_path)["insults"]
    )


def test_the_id_is_a_later_column_where_the_first_does_not_name_each_row(tmp_path: Path) -> None:
    rows = [(row % 2, f"comment {row}") for row in range(40)]
    write_competition(
        tmp_path,
        "insults",
        header=("Insult", "Comment"),
        answers=rows,
        sample=[(0, comment) for _, comment in rows],
        grader="grade = None\n",
        lower_is_better=True,
    )
    outcome = imported(tmp_path)["insults"]
    assert (outcome.status, len(outcome.notes)) == ("imported", 1)
    assert Snapshot.load(tmp_path / "out/insults", METRICS).card.id_column == "Comment"


def test_ids_that_are_the_same_numbers_take_the_samples_spelling(tmp_path: Path) -> None:
    answers = [(f"{row}.0", row * 3 % 7) for row in range(30)]
    write_competition(
        tmp_path,
        "spelled",
        header=("id", "y"),
        answers=answers,
        sample=[(row, 0) for row in range(30)],
        grader="grade = None\n",
    )
    assert imported(tmp_path)["spelled"].status == "imported"
    assert (tmp_path / "out/spelled/private/answers.csv").read_text().startswith("id,y\n0,0\n1,3\n")


def renamed(tmp_path: Path) -> None:
    """Write a competition whose predictions have another name than the answers, which also hold what is public."""
    comments = [(row, f"comment {row}", row / 30, row % 3) for row in range(30)]
    write_competition(
        tmp_path,
        "renamed",
        header=("id", "text", "toxicity", "identity"),
        sample_header=("id", "prediction"),
        answers=comments,
        sample=[(row, 0) for row in range(30)],
        grader="grade = None\n",
        lower_is_better=True,
    )
    write_table(tmp_path / "data/renamed/prepared/public/test.csv", ("id", "text"), [row[:2] for row in comments])
    trained = [(row + 100, f"comment {row}", row / 30) for row in range(30)]
    write_table(tmp_path / "data/renamed/prepared/public/train.csv", ("id", "text", "toxicity"), trained)


def test_answers_without_the_samples_column_are_kept_for_the_grader_alone(tmp_path: Path) -> None:
    asked: list[MetricQuestion] = []

    def grade(question: MetricQuestion) -> FoundMetric:
        asked.append(question)
        return FoundMetric("grade.py", "minimize", "for the test", {"predictions": "number"})

    renamed(tmp_path)
    outcome = imported(tmp_path, grade)["renamed"]
    assert outcome.status == "imported", problems_of(outcome)
    assert asked[0].truth is None
    assert (
        "no table has the true 'prediction'; the grader uses 'toxicity', 'identity' from answers.csv"
        in outcome.notes[0]
    )
    snapshot = Snapshot.load(tmp_path / "out/renamed", METRICS)
    assert snapshot.answers.read_text().startswith("id,toxicity,identity\n0,0.0,0\n")
    assert (snapshot.card.prediction_columns, snapshot.card.metric.params["answers"]) == (
        ("prediction",),
        "whole_answers.csv",
    )


@pytest.mark.parametrize("name", ["more.csv", "test_expanded.csv", "deep/more.csv"])
def test_a_public_table_with_one_of_those_labels_is_left_out(tmp_path: Path, name: str) -> None:
    renamed(tmp_path)
    public = tmp_path / "data/renamed/prepared/public"
    write_table(public / name, ("id", "x", "toxicity"), [(row, 1, row / 30) for row in range(30)])
    outcome = imported(tmp_path, finds("grade.py"))["renamed"]
    assert outcome.status == "imported", problems_of(outcome)
    assert [one.split()[0] for one in outcome.omitted] == [name]
    assert (tmp_path / "out/renamed/private/answers.csv").read_text().startswith("id,toxicity,identity\n")


def test_a_training_table_whose_ids_are_the_tests_makes_no_label_public(tmp_path: Path) -> None:
    renamed(tmp_path)
    public = tmp_path / "data/renamed/prepared/public"
    write_table(public / "train.csv", ("id", "text", "toxicity"), [(row, f"c {row}", row % 5) for row in range(60)])
    outcome = imported(tmp_path, finds("grade.py"))["renamed"]
    assert (outcome.status, outcome.omitted) == ("imported", ())
    assert "the grader uses 'toxicity', 'identity' from answers.csv" in outcome.notes[0]


WRONG: dict[str, tuple[tuple[str, ...], list[tuple[object, ...]], list[tuple[object, ...]]]] = {
    "one id differs": (
        ("id", "class", "predicted"),
        [(case, organ, case) for case in range(20) for organ in ("liver", "lung")],
        [(case + 100 * (case == 7), organ, "") for case in range(20) for organ in ("liver", "lung")],
    ),
    "no id in common": (
        ("id", "label"),
        [(row, row % 3) for row in range(60)],
        [(row + 900, row % 3) for row in range(60)],
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_class_or_a_prediction_is_never_taken_for_an_id(tmp_path: Path, what: str) -> None:
    header, answers, sample = WRONG[what]
    write_competition(tmp_path, "wrong", header=header, answers=answers, sample=sample, grader="grade = None\n")
    outcome = imported(tmp_path)["wrong"]
    assert outcome.status == "failed"
    assert "no column identifies the same rows as answers.csv: matched by 'id'" in problems_of(outcome)


def test_a_prediction_that_is_the_same_everywhere_is_no_part_of_a_key(tmp_path: Path) -> None:
    rows = [(f"comment {row}", 0, row % 2) for row in range(40)] + [("comment 7", 0, 1)]
    header = ("text", "rare", "insult")
    sample = [(row[0], 0, 0.5) for row in rows]
    write_competition(
        tmp_path, "rare", header=header, answers=rows, sample=sample, grader="grade = None\n", lower_is_better=True
    )
    outcome = imported(tmp_path)["rare"]
    assert outcome.status == "imported", problems_of(outcome)
    card = Snapshot.load(tmp_path / "out/rare", METRICS).card
    assert (card.id_column, card.key_columns, card.prediction_columns) == ("text", (), ("rare", "insult"))


def test_a_metric_that_cannot_be_found_fails_with_its_reason_and_leaves_nothing(tmp_path: Path) -> None:
    def nothing(question: MetricQuestion) -> FoundMetric:
        raise SnapshotError([Problem("grade.py", 3, "needs cv2")])

    numbers("sums", tmp_path)
    assert problems_of(imported(tmp_path, nothing)["sums"]) == "grade.py:3: needs cv2"
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.integration
def test_an_import_that_is_killed_leaves_no_snapshot_and_the_next_one_finishes(tmp_path: Path) -> None:
    numbers("first", tmp_path)
    numbers("second", tmp_path)
    program = [sys.executable, "-m", "tests.bot.research.importers.mle_bench.stuck_import", str(tmp_path)]
    with subprocess.Popen(program, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as stuck:
        assert stuck.stdout is not None
        assert stuck.stdout.readline() == b"asking for the metric of second\n"
        stuck.kill()
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"first", ".import-second"}
    outcomes = imported(tmp_path)
    assert [outcomes[slug].status for slug in ("first", "second")] == ["already exists", "imported"]
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"first", "second"}
