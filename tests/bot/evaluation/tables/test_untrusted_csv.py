import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.evaluation.scoring.prediction_file import read_submission
from bot.evaluation.tables.untrusted_csv import CsvReadLimits, fault_of_place, open_rows
from state.errors import InvalidSubmission
from tests.bot.evaluation.parts import card
from tests.bot.evaluation.rejections import GOOD, rejection

LIMITS = CsvReadLimits(file_bytes=1000, row_characters=1000)


def test_what_is_no_plain_file_is_never_waited_for(sample, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "nothing.csv").symlink_to(tmp_path / "gone")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    for name, expected in {
        "pipe.csv": "is not a plain file",
        "folder.csv": "is a folder",
        "nothing.csv": "is a broken link",
        "loop.csv": "points back to itself",
        "zero.csv": "is not a plain file",
        "gone.csv": "does not exist",
        "gone\n.csv": "'gone\\n.csv' does not exist",
        "n" * 300 + ".csv": "name is too long",
        "folder.csv/x.csv": "x.csv does not exist",
        "a\0b.csv": "is not a valid file name",
    }.items():
        assert expected in rejection(tmp_path / name, sample)


def test_a_link_to_a_file_is_that_file(sample, tmp_path):
    (tmp_path / "file").write_text(GOOD)
    (tmp_path / "submission.csv").symlink_to(tmp_path / "file")
    assert read_submission(tmp_path / "submission.csv", sample, card())[1].ravel().tolist() == [0.5, 1.0, 2.0]


@contextmanager
def as_somebody():
    """Root may read everything."""
    before = os.geteuid()
    os.seteuid(before or 65534)
    try:
        yield
    finally:
        os.seteuid(before)


def test_a_file_that_may_not_be_read_is_reported():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "submission.csv"
        path.write_text(GOOD)
        path.chmod(0)
        Path(folder).chmod(0o755)
        with as_somebody(), pytest.raises(InvalidSubmission, match="permission denied"), open_rows(path, LIMITS):
            pass
        Path(folder).chmod(0)
        with as_somebody():
            assert "cannot be read: permission denied" in (fault_of_place(path) or "")
        Path(folder).chmod(0o700)


@pytest.mark.parametrize("after", [GOOD + "4,1\n", "id,y\n", GOOD.replace("0.5", "0.7")])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, after):
    path = tmp_path / "submission.csv"
    path.write_text(GOOD)
    os.utime(path, (1, 1))
    refused = pytest.raises(InvalidSubmission, match=r"submission\.csv changed while it was being read")
    with refused, open_rows(path, LIMITS) as rows:
        next(iter(rows))
        path.write_text(after)
        list(rows)


def test_a_file_that_somebody_goes_on_writing_is_not_read_for_ever(tmp_path):
    path = tmp_path / "submission.csv"
    path.write_text("id,y\n" + "1,2\n" * 5)
    numbers = []
    refused, appending = pytest.raises(InvalidSubmission, match="changed while it was being read"), path.open("a")
    with appending, refused, open_rows(path, CsvReadLimits(2000, 1000)) as rows:
        for number, _ in rows:
            numbers.append(number)
            appending.write("1,2\n" * 100)
            appending.flush()
    assert 5 < len(numbers) <= 500
