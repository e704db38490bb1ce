"""Copies: a file that is valid and nobody else's passes; one that is public, whole, nearly or bent, is named."""

import os
import random
from pathlib import Path

import pytest

from bot.evaluation.answers import PublicCopy
from bot.evaluation.guards.copies import check_file
from scrapers.snapshots.card import TaskCard
from state.errors import InvalidSubmission
from tests.bot.evaluation.parts import card, write

IDS = [f"t{n}" for n in range(3_000)]
RNG = random.Random(1)
OWN = [RNG.random() for _ in IDS]


def table(path: Path, values: list[float] | list[str]) -> Path:
    return write(path, ["id", "y"], zip(IDS, values, strict=True))


@pytest.fixture
def view(tmp_path: Path) -> Path:
    table(tmp_path / "view" / "sample_submission.csv", [0.5] * len(IDS))
    write(
        tmp_path / "view" / "train.csv", ["id", "x", "y"], ([id, 1, value] for id, value in zip(IDS, OWN, strict=True))
    )
    write(tmp_path / "view" / "more" / "notes.csv", ["id", "text"], [["t0", "hello"]])
    return tmp_path / "view"


def copied(view: Path, values: list[float] | list[str], task: TaskCard | None = None) -> str | None:
    file = table(view.parent / "own.csv", values)
    copied: str | None = check_file(file, view, view.parent / "outputs", task or card("mae")).copied
    return copied


def test_a_file_of_our_own_passes_and_training_rows_are_no_public_file(view: Path) -> None:
    assert check_file(table(view.parent / "own.csv", OWN), view, None, card("mae")) == PublicCopy(None, 1)


def test_a_file_that_is_not_valid_says_why(view: Path) -> None:
    file = write(view.parent / "own.csv", ["id", "y"], [["t0", 1.0]])
    with pytest.raises(InvalidSubmission, match="has 1 rows; 3000 are expected"):
        check_file(file, view, None, card("mae"))


def test_the_sample_submission_is_recognised_and_so_is_one_with_as_little_in_it(view: Path) -> None:
    assert copied(view, [0.5] * len(IDS)) == "every value is the same as in the sample submission"
    assert copied(view, [0.25] * len(IDS)) == "all rows are in the same order as in the sample submission"
    nearly = [0.5] * len(IDS)
    nearly[7] = 0.75
    assert copied(view, nearly) is None, "a file may well be nearly constant"


@pytest.mark.parametrize("place", ["outputs/ann-linear/submission.csv", "view/benchmark.csv"])
def test_a_public_file_is_recognised_also_nearly_whole_or_bent(view: Path, place: str) -> None:
    table(view.parent / place, OWN)
    public = place.partition("/")[2]
    assert copied(view, OWN) == f"every value is the same as in the public file {public}"
    changed = [*OWN[:-2], 0.123, 0.456]
    assert copied(view, changed) == f"99.93% of the values are the same as in the public file {public}"
    assert copied(view, [value**3 for value in OWN]) == f"all rows are in the same order as in the public file {public}"
    assert copied(view, [value + RNG.gauss(0, 0.01) for value in OWN]) is None


def test_labels_are_compared_as_labels(view: Path) -> None:
    rng = random.Random(3)
    labels = [rng.choice(["a", "b"]) for _ in IDS]
    table(view.parent / "outputs" / "x.csv", labels)
    assert (
        copied(view, [f" {label}" for label in labels], card("accuracy"))
        == "every value is the same as in the public file x.csv"
    )
    assert copied(view, [rng.choice(["a", "b"]) for _ in IDS], card("accuracy")) is None


def test_public_files_that_cannot_be_read_are_passed_over(view: Path) -> None:
    outputs = view.parent / "outputs"
    table(outputs / "good.csv", OWN)
    (outputs / "folder.csv").mkdir()
    os.mkfifo(outputs / "pipe.csv")
    (outputs / "gone.csv").symlink_to("nothing")
    (outputs / "image.csv").write_bytes(b"\x89PNG\r\n\x1a\n" * 100)
    (outputs / "open.csv").write_bytes(b'id,y\nt0,"' + b"x" * 9_000_000)
    (outputs / "latin.csv").write_bytes(b"id,y\nt0,caf\xe9\n")
    found = check_file(table(view.parent / "own.csv", OWN), view, outputs, card("mae"))
    assert found == PublicCopy("every value is the same as in the public file good.csv", 2)
