import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.evaluation.scoring.prediction_file import read_submission
from state.errors import InvalidSubmission
from tests.bot.evaluation.parts import card, write
from tests.bot.evaluation.rejections import GOOD, IDS, saying

TEXT = {"predictions": "text"}
MEGABYTE = 1 << 20


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        GOOD.rstrip("\n"),
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\r"),
        "\n" + GOOD.replace("\n", "\n\n") + "  \n\n",
        '"id","y"\n"1","0.5"\n"2",1\n"3"," 2 "\n',
    ],
)
def test_line_ends_a_mark_blank_lines_and_quotes_are_free(sample, content):
    path = sample.with_name("submission.csv")
    path.write_bytes(content.encode())
    assert read_submission(path, sample, card())[1].ravel().tolist() == [0.5, 1.0, 2.0]


def test_a_quoted_cell_may_hold_line_ends_commas_and_quotes(tmp_path):
    ids, texts = ["a\nb", "c,d"], ["first\r\nsecond", 'say "yes", or\rno']
    sample = write(tmp_path / "sample_submission.csv", ["id", "y"], [[one, ""] for one in ids])
    path = write(tmp_path / "submission.csv", ["id", "y"], zip(ids, texts, strict=True))
    got, values = read_submission(path, sample, card("own", **TEXT))
    assert (got, values.ravel().tolist()) == (ids, texts)


@pytest.mark.parametrize(("metric", "params"), [("accuracy", {}), ("own", TEXT)])
def test_text_that_is_not_utf_8_or_holds_a_nul_is_no_prediction(sample, metric, params):
    task, long = card(metric, **params), b"id,y\n1,x\n" + b"\n" * 999 + b" " * 4000 + b"\n"
    assert "(id '2'): the value of 'y' is not UTF-8 text" in saying(sample, long + b"2,caf\xe9\n", task)
    assert "(id '2'): the value of 'y' contains a NUL character" in saying(sample, long + b"2,a\0b\n", task)


def test_bytes_that_are_not_utf_8_are_named_where_they_make_an_id_another(sample):
    message = saying(sample, b"id,y\n1,1\n2\xe9,1\n", card())
    assert message == r"submission.csv, row 2, column 'id': contains bytes that are not UTF-8 (0xE9): '2\xe9'."


def test_an_id_in_the_bytes_of_the_sample_is_taken_and_shown_as_such(tmp_path):
    sample = tmp_path / "sample_submission.csv"
    sample.write_bytes(b"id,y\ncaf\xe9,0\n2,0\n")
    path = tmp_path / "submission.csv"
    path.write_bytes(b"id,y\n2,3\ncaf\xe9,1\n")
    assert read_submission(path, sample, card())[1].ravel().tolist() == [1.0, 3.0]
    assert r"the first missing id is 'caf\xe9'" in saying(sample, b"id,y\n2,3\n", card())


_CHILD = """
import resource, sys
from pathlib import Path
from bot.evaluation.scoring.prediction_file import read_submission
from state.errors import InvalidSubmission
from tests.bot.evaluation.parts import card
sample, task = Path(sys.argv[2]), card("own", predictions=sys.argv[3])
pages = int(Path("/proc/self/statm").read_text().split()[0])
allowed = pages * resource.getpagesize() + int(sys.argv[1])
resource.setrlimit(resource.RLIMIT_AS, (allowed, allowed))
for name in sys.argv[4:]:
    try:
        read_submission(Path(name), sample, task)
        print("valid")
    except InvalidSubmission as error:
        print(error)
"""


def in_little_memory(allowed, sample, kind, paths):
    """Return the message of a child on each file that may take so many bytes above what it takes before it reads any."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(allowed), str(sample), kind, *map(str, paths)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        cwd=Path(__file__).parents[4],
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def made(path, start, size=0, fill=b"7"):
    with path.open("wb") as file:
        file.write(start)
        for _ in range(size // MEGABYTE):
            file.write(fill * (MEGABYTE // len(fill)))
    return path


@pytest.mark.integration
def test_no_file_makes_the_reader_of_numbers_take_more_than_fifty_megabytes(sample, tmp_path):
    sparse = made(tmp_path / "two-gigabytes.csv", GOOD.encode())
    os.truncate(sparse, 2_000_000_000)
    hole = made(tmp_path / "hole.csv", b"")
    os.truncate(hole, 9_000_000)
    files = {
        sparse: "has 2,000,000,000 bytes; at most 10,002,100 are allowed.",
        hole: "contains a NUL byte, so it is not UTF-8 text.",
        made(tmp_path / "cell.csv", b"id,y\n1,", 9 * MEGABYTE): "row 1 is longer than 1,048,876 characters.",
        made(tmp_path / "header.csv", b"", 9 * MEGABYTE): "the header is longer than 1,048,876 characters.",
        made(tmp_path / "page.csv", b"<html>", 9 * MEGABYTE): "the header is longer than 1,048,876 characters.",
        made(tmp_path / "columns.csv", b"id,y", 9 * MEGABYTE, b",extra01"): "the header is longer than 1,048,876",
        made(tmp_path / "many.csv", b"id,y", MEGABYTE, b",e"): "repeats the column 'e'",
        made(tmp_path / "cells.csv", b"id,y\n1", MEGABYTE, b",1"): "row 1: 524,289 cells, but the header has 2",
        made(tmp_path / "quote.csv", b'id,y\n1,"', 9 * MEGABYTE, b"1,0.5\n3"): "it may contain an unclosed quote.",
        made(tmp_path / "digits.csv", b"id,y\n1,", MEGABYTE): "row 1 (id '1'): the value of 'y' is not finite: '777",
        made(tmp_path / "blank.csv", b"id,y\n", 3 * MEGABYTE, b"\n"): "has 0 rows; 3 are expected",
        made(tmp_path / "ends.csv", b"id,y\r", 3 * MEGABYTE, b"\r"): "has 0 rows; 3 are expected",
        made(tmp_path / "rows.csv", b"id,y\n", 9 * MEGABYTE, b"1,0.50.\n"): "row 1 (id '1'): the value of 'y' is not a",
        made(tmp_path / "same.csv", b"id,y\n", 9 * MEGABYTE, b"1,0.500\n"): "row 2: the id '1' appears more often than",
    }
    lines = in_little_memory(50 * MEGABYTE, sample, "number", files)
    assert [line for line, expected in zip(lines, files.values(), strict=True) if expected not in line] == []


@pytest.mark.integration
def test_no_file_makes_the_reader_of_texts_take_more_than_three_hundred_megabytes(sample, tmp_path):
    wide = "\U0001f600".encode()
    files = {
        made(tmp_path / "wide.csv", b"id,y\n1," + wide, 60 * MEGABYTE): "row 1 is longer than 8,388,908 characters.",
        made(tmp_path / "mask.csv", b"id,y\n2,x\n3,x\n1," + wide, 7 * MEGABYTE, b"12 34567"): "valid",
    }
    lines = in_little_memory(300 * MEGABYTE, sample, "text", files)
    assert [line for line, expected in zip(lines, files.values(), strict=True) if expected not in line] == []


@pytest.mark.parametrize("kind", ["number", "label", "text"])
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_whatever_bytes_a_file_holds_there_are_values_or_a_sentence(sample, kind, data):
    pieces = st.sampled_from(
        [b"id,y\n", b"1,", b"2,0.5\n", b"3", b"\n", b"\r", b'"', b",", b"\0", b"\xff", b"\xef\xbb\xbf", b" "]
    )
    content = data.draw(st.one_of(st.binary(max_size=200), st.lists(pieces, max_size=30).map(b"".join)))
    path = sample.with_name("submission.csv")
    path.write_bytes(content)
    try:
        ids, values = read_submission(path, sample, card("own", predictions=kind))
    except InvalidSubmission as error:
        assert str(error).isprintable() and str(error).endswith(".")
    else:
        assert ids == IDS and values.shape == (3, 1)
        assert kind != "number" or np.isfinite(values).all()
