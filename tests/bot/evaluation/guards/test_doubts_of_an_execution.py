"""Guards of an execution: each fires on what it is there for, and all are quiet on what an honest model leaves."""

from collections.abc import Callable
from dataclasses import asdict, replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest

from bot.evaluation.answers import LabelledView
from bot.evaluation.answers import findings as registry
from bot.evaluation.answers.findings import doubts_of
from bot.evaluation.guards.running import guard_execution
from bot.evaluation.guards.scores import latest_row
from tests.bot.evaluation.guards import planted
from tests.bot.evaluation.guards.parts import Ground, Left, Row, ground, knowing_repeated, near
from tests.bot.evaluation.parts import card, write

OUTPUT = """
random forest on table                   0.51234      3.2
blend: 0.47 of random forest + linear model
cross-validated log_loss: {score:.5f}
"""


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Ground:
    return ground(tmp_path_factory.mktemp("clean"))


@pytest.fixture
def here(clean: Ground, tmp_path: Path) -> Ground:
    """The same ground, with a folder of its own for what executions leave."""
    for name in ("view", "labels"):
        (tmp_path / name).symlink_to(clean.folder / name)
    return replace(clean, folder=tmp_path)


def honest(here: Ground, **more: object) -> Left:
    return Left(here, near(0.8), **more).write()  # type: ignore[arg-type]


def test_an_honest_execution_passes_all(here: Ground) -> None:
    baseline = Left(here, near(0.5), name="baseline", node=2)
    own = honest(here, others=[baseline])
    own.output = OUTPUT.format(score=own.score * 1.1)
    found = own.found()
    assert [one.guard for one in found] == list(registry.EXECUTION_GUARDS)
    assert all(one.passed for one in found), [asdict(one) for one in found]
    assert doubts_of(found) is None


@pytest.mark.parametrize(("others", "words"), [(True, "for the previous best, node 2;"), (False, "is perfect")])
def test_a_score_out_of_nowhere_is_too_good(here: Ground, others: bool, words: str) -> None:
    def knows(labels: dict[str, float], _: object) -> list[float]:
        return list(labels.values())

    before = [Left(here, near(0.6), name="other", node=2)] if others else []
    found = Left(here, knows, others=before, test=near(1.0)(here.truth, np.random.default_rng(0))).finding("too good")
    assert found.verdict == "suspicious"
    assert words in found.sentence


def test_a_perfect_score_on_an_easy_task_is_believed_and_so_is_a_large_gain(here: Ground) -> None:
    def sure(share: float) -> Callable[[dict[str, float], object], list[float]]:
        return lambda labels, _: [share * label + (1 - share) / 2 for label in labels.values()]

    easy = Left(here, sure(0.98), name="easy", node=2)
    assert Left(here, sure(0.9999), others=[easy]).finding("too good").passed
    assert Left(here, near(1.6), others=[Left(here, near(0.6), name="weak", node=3)]).finding("too good").passed


def test_a_score_far_beyond_the_leaderboard_is_too_good_and_one_a_little_beyond_is_not(here: Ground) -> None:
    own = honest(here).score
    board = [own * 3, own * 3.2, own * 3.4]
    assert "beats the leaderboard's best" in honest(here, board=board).finding("too good").sentence
    assert honest(here, board=[own * 1.1, own * 1.6, own * 1.7]).finding("too good").passed


@pytest.mark.parametrize("where", ["test", "validation"])
def test_constant_predictions_are_found_and_spoil_the_file(here: Ground, where: str) -> None:
    own = Left(here, near(0.8), test=[0.3] * len(here.truth))
    if where == "validation":
        own = Left(here, lambda labels, _: [0.3] * len(labels), test=near(0.8)(here.truth, np.random.default_rng(0)))
    found = own.finding("constant")
    assert (found.verdict, found.spoils) == ("suspicious", True)
    assert "have the same value" in found.sentence


def dated(table: list[Row], rng: np.random.Generator) -> list[Row]:
    """Give each row a day, test rows the last ones."""
    return [{**row, "date": date(2020, 1, 1) + timedelta(days=place)} for place, row in enumerate(table)]


def test_the_last_value_is_no_constant_where_later_rows_are_predicted(tmp_path: Path) -> None:
    here = ground(tmp_path, "numbers", dated)
    last = float(here.view.layout.truth(latest_row(here.view) or 0)[0])
    for value in (last, last + 0.1):
        own = Left(
            here, lambda labels, _, v=value: [v] * len(labels), test=[value] * len(here.truth), name=f"own {value}"
        )
        assert own.finding("constant").passed is (value == last)
        assert own.finding("copied").passed is (value == last)


def test_a_copied_submission_is_found_by_what_it_copies(here: Ground) -> None:
    other = Left(here, near(0.8), name="other", node=7).write()
    same = near(0.8)(here.truth, np.random.default_rng(1))
    node = Left(here, near(0.8), test=same, others=[replace(other, test=same, files=[])]).finding("copied")
    assert (node.sentence, node.spoils) == ("the submission shares all values with node 7", False)
    public = write(here.data / "benchmark.csv", ["id", "y"], zip(here.truth, same, strict=True))
    copied = Left(here, near(0.8), test=same).finding("copied")
    public.unlink()
    assert (copied.verdict, copied.spoils) == ("suspicious", True)
    assert "public file benchmark.csv" in copied.sentence
    sample = Left(here, near(0.8), test=[0.5] * len(here.truth)).finding("copied")
    assert "the sample submission" in sample.sentence


@pytest.mark.parametrize(
    "line",
    [
        "validation score: 0.0312",
        "CV log loss 0.0312",
        "cross-validated log_loss: 0.0312",
        "OOF score = 0.0312 (mean of 5)",
        "final score: 3.12e-2",
        "validation: 9.5",
    ],
)
def test_a_printed_score_that_is_not_the_files_is_found(here: Ground, line: str) -> None:
    found = honest(here, output=f"fitting\n{line}\n").finding("printed score")
    assert found.verdict == "suspicious", found
    assert found.sentence.endswith(f"but its file scores {'better' if '9.5' in line else 'worse'}")


@pytest.mark.parametrize(
    "line",
    [
        "validation accuracy: 0.99",
        "cv rmse: 9.5",
        "best iteration: 120",
        "validation rows: 180",
        "validation size 0.2",
        "mean age: 31.5",
        "cv 5 folds: 5",
        "val_auc: 0.99",
        "validation done in 0.01 seconds",
        "nothing at all",
    ],
)
def test_what_is_no_score_of_the_tasks_metric_is_no_claim(here: Ground, line: str) -> None:
    assert honest(here, output=f"{line}\n").finding("printed score").sentence == (
        "the script printed no comparable score"
    )


def test_a_score_that_comes_of_repeated_rows_is_reported(tmp_path: Path) -> None:
    here = ground(tmp_path, "classes", planted.two_rows_repeated)
    found = Left(here, knowing_repeated(here)).finding("better on duplicates")
    assert found.verdict == "suspicious"
    assert "validation rows that repeat training rows improve the score by" in found.sentence
    assert Left(here, near(0.8), name="honest").finding("better on duplicates").passed


@pytest.mark.parametrize("twice", [False, True])
def test_repeated_rows_are_distinguished_also_where_two_rows_have_one_id(tmp_path: Path, twice: bool) -> None:
    """Every second validation row is a training row, known by heart; the others are guessed."""
    rng, many = np.random.default_rng(0), 120
    train = [[f"t{n}", f"f{rng.integers(10**9)}", int(rng.integers(2))] for n in range(400)]
    asked = [[f"v{n // 2 if twice else n}", f"n{n}" if n % 2 else train[n][1]] for n in range(many)]
    truth = [int(rng.integers(2)) if n % 2 else train[n][2] for n in range(many)]
    data, labels = tmp_path / "view", tmp_path / "labels"
    write(data / "train.csv", ["id", "x", "y"], train)
    write(data / "test.csv", ["id", "x"], [[f"h{n}", f"z{n}"] for n in range(100)])
    write(data / "validation.csv", ["id", "x"], asked)
    write(data / "sample_validation.csv", ["id", "y"], [[row[0], 0] for row in asked])
    write(data / "sample_submission.csv", ["id", "y"], [[f"h{n}", 0] for n in range(100)])
    write(labels / "labels.csv", ["id", "y"], [[row[0], label] for row, label in zip(asked, truth, strict=True)])
    cells = [[row[0], 0.5 if n % 2 else 0.01 + 0.98 * truth[n]] for n, row in enumerate(asked)]
    files = write(tmp_path / "own.csv", ["id", "y"], cells), write(tmp_path / "s.csv", ["id", "y"], [["h0", 0.5]])
    found = guard_execution(LabelledView(data, labels, card("log_loss")), *files, 0.3516, "")
    (one,) = [one for one in found if one.guard == "better on duplicates"]
    assert "60 validation rows that repeat training rows improve the score by" in one.sentence
    assert one.evidence["without"] == pytest.approx(0.693147)


def test_rows_that_few_values_describe_repeat_training_rows_by_right(tmp_path: Path) -> None:
    """As where a row is an organ of an image, and its only column is the organ."""

    def few(table: list[Row], rng: np.random.Generator) -> list[Row]:
        return [{**row, "a": number % 3, "b": 0, "c": 0} for number, row in enumerate(table)]

    found = Left(ground(tmp_path, "classes", few), near(0.8)).finding("better on duplicates")
    assert found.passed
    assert "in columns with few distinct values" in found.sentence


def test_a_score_that_comes_of_repeated_rows_is_right_where_the_test_has_as_many(tmp_path: Path) -> None:
    def everywhere(table: list[Row], rng: np.random.Generator) -> list[Row]:
        kinds = [{name: row[name] for name in "abc"} for row in table[: len(table) // 2]]
        return [{**row, **kinds[at % len(kinds)]} for at, row in enumerate(table)]

    here = ground(tmp_path, "classes", everywhere)
    found = Left(here, knowing_repeated(here)).finding("better on duplicates")
    assert found.passed
    assert "of the test rows repeat training rows as well" in found.sentence


def test_folds_of_few_rows_may_be_worse_than_the_file_but_not_beyond_belief(here: Ground) -> None:
    score = honest(here).score
    assert honest(here, output=f"cv log loss: {2.2 * score:.4f}\n").finding("printed score").passed
    assert not honest(here, output=f"cv log loss: {12 * score:.4f}\n").finding("printed score").passed


def test_what_has_not_passed_is_stated_in_one_sentence(here: Ground) -> None:
    result = doubts_of(Left(here, near(0.8), test=[0.5] * len(here.truth)).found())
    assert result is not None
    assert result.startswith("constant (suspicious): all 300 rows of the submission have the same value; copied (")


def test_guards_of_files_that_are_gone_have_not_passed(here: Ground) -> None:
    own = honest(here)
    score = own.score
    own.files[1].unlink()
    found = {one.guard: one for one in guard_execution(here.labelled, *own.files, score, "validation score: 0.01")}
    assert {name for name, one in found.items() if one.verdict == "not run"} == {"constant", "copied"}
    assert "submission.csv does not exist" in found["copied"].sentence
    assert found["printed score"].verdict == "suspicious", "the others went on"
