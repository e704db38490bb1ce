import gzip
import io
import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.evaluation.csv_rows import Limits, open_rows
from bot.evaluation.submission_file import read_submission
from state.errors import InvalidSubmission
from tests.bot.evaluation.parts import card, write

IDS = ["1", "2", "3"]
GOOD = "id,y\n1,0.5\n2,1\n3,2\n"
TEXT = {"predictions": "text"}
MEGABYTE = 1 << 20


@pytest.fixture
def sample(tmp_path):
    return write(tmp_path / "sample_submission.csv", ["id", "y"], [[i, 0] for i in IDS])


def rejection(path, sample, task=None):
    with pytest.raises(InvalidSubmission) as caught:
        read_submission(path, sample, task or card())
    message = str(caught.value)
    assert message.isprintable() and message.endswith(".") and len(message) < 500
    return message


def saying(sample, content, task=None):
    path = sample.with_name("submission.csv")
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return rejection(path, sample, task)


def zipped(*names):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name in names:
            archive.writestr(name, GOOD)
    return made.getvalue()


NO_CSV = {
    "a PNG image": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "compressed by gzip": gzip.compress(GOOD.encode()),
    "a zip archive": zipped("submission.csv"),
    "an Excel workbook": zipped("[Content_Types].xml", "xl/workbook.xml"),
    "a Parquet file": b"PAR1\x15\x04\x15\0\x15",
    "a Python pickle": b"\x80\x05\x95\x10\0\0\0",
    "a NumPy array": b"\x93NUMPY\x01\0v\0{'descr': '<f8'}",
}


@pytest.mark.parametrize("what", NO_CSV)
def test_a_file_of_another_kind_is_called_by_its_name(sample, what):
    assert f"is not CSV: it is {what}." in saying(sample, NO_CSV[what])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<!DOCTYPE html>\n<html><title>404</title>", "lacks the columns 'id', 'y'.*seems to be an HTML page"),
        (json.dumps([{"id": 1, "y": 2}]), "lacks the columns 'id', 'y'.*seems to be JSON"),
        (GOOD.encode("utf-16"), "is UTF-16 text, not UTF-8"),
        (GOOD.encode("utf-16-le"), "seems to be UTF-16 without its mark"),
        (GOOD.encode("utf-16-be"), "seems to be UTF-16 without its mark"),
        (GOOD.encode("utf-32"), "is UTF-32 text, not UTF-8"),
        ("id,y\n1,0\n2,\0\n3,1\n", "holds a NUL byte in line 3"),
        ("id,y\n1,0\n" + "\n" * 900 + " " * 8000 + "\n2,\0\n", "row 903 .id '2'.*holds a NUL character: '.x00'"),
        ("id,y\n1,0\nn\xe4her,1\n3,2\n".encode("latin-1"), r"row 2: the id 'n\\udce4her' is not in the sample"),
        ("id,y\n1,0\n2,1\xb5\n3,2\n".encode("latin-1"), r"row 2 \(id '2'\): the value of 'y' is not UTF-8 text"),
    ],
)
def test_what_is_no_text_in_utf_8_is_said_to_be_so(sample, content, expected):
    assert re.search(expected, saying(sample, content))


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("id;y\n1;0,5\n2;1\n3;2\n", "separated by commas, not semicolons"),
        ("id\ty\n1\t0.5\n2\t1\n3\t2\n", "separated by commas, not tabs"),
        ("1,0.5\n2,1\n3,2\n", "its first line is a row (id '1'), not the header"),
        (
            ",id,y\n0,1,0.5\n1,2,1\n2,3,2\n",
            "should not have the column ''; expected are id, y; the first column looks like",
        ),
        ("Unnamed: 0,id,y\n0,1,0.5\n", "table's index (pandas: index=False)"),
        ("ID,Y\n1,0\n", "its column 'ID' is not written like 'id'"),
        ("id, y\n1,0\n", "its column ' y' is not written like 'y'"),
        ("id,y,\n1,0,\n", "its header ends with a comma"),
        ("id,y\n1,0,\n2,1,\n", "row 1: 3 cells where the header has 2; it ends with a comma"),
        ("id,y\n1,0,5\n2,1,2\n", "it may hold a decimal comma, or one between thousands."),
        ("id,y\n1;2\n", "row 1: 1 cells where the header has 2; cells are to be separated by commas, not semicolons"),
        ('id,y\n1,"0,5"\n', "is not a number: '0,5'; the decimal mark is a point"),
        ('id,y\n1,"12,345.6"\n', "thousands have no mark"),
        ("id,y\n1,12 345\n", "thousands have no mark"),
        ("id,y\n1,50%\n", "percentages are to be written as shares"),
        ("id,y\n1,True\n", "truth values are to be written as 1 and 0"),
        ("id,y\n1,0x1A\n", "is to be written in decimal"),
        ("id,y\n1,1e999\n", "is not finite: '1e999'"),
        ("id,y\n1,\u0661\n", "is not a number: '\u0661'"),
        ("id,y\n1.0,0\n2.0,1\n", "written as a decimal number where the sample has '1'"),
        ("id,y\n 1,0\n", "the sample has it without blanks, '1'"),
        ("id,y\n001,0\n", "the sample writes this number as '1'"),
        ('id,y\n1,0\n2,"1\n3,2\n', "row 2 opens a quote that is never closed"),
        ('"id,y\n1,0\n2,1\n3,2\n', "its header opens a quote that is never closed"),
        ("\ufeff\ufeffid,y\n1,0\n", r"its column '\ufeffid' is not written like 'id'"),
        ("id,y\n" + "\n" * 2000, "has more than 1,003 blank lines"),
        ("\n\n \n", "is empty"),
        (GOOD + "4,1\n", "row 4: the id '4' is not in the sample"),
        (GOOD + "3,1\n", "row 4: the id '3' appears too often"),
    ],
)
def test_the_likely_cause_of_a_common_mistake_is_named(sample, content, expected):
    assert expected in saying(sample, content)


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
    assert "(id '2'): the value of 'y' holds a NUL character" in saying(sample, long + b"2,a\0b\n", task)


def test_what_is_no_plain_file_is_never_waited_for(sample, tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "nothing.csv").symlink_to(tmp_path / "gone")
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    (tmp_path / "zero.csv").symlink_to("/dev/zero")
    for name, expected in {
        "pipe.csv": "is a pipe",
        "folder.csv": "is a folder",
        "nothing.csv": "is a link to nothing",
        "loop.csv": "leads back to itself",
        "zero.csv": "is a device",
        "gone.csv": "does not exist",
        "gone\n.csv": "'gone\\n.csv' does not exist",
        "n" * 300 + ".csv": "name is too long",
        "folder.csv/x.csv": "x.csv does not exist",
        "a\0b.csv": "no file can have such a name",
    }.items():
        assert expected in rejection(tmp_path / name, sample)


def test_a_link_to_a_file_is_that_file(sample, tmp_path):
    (tmp_path / "file").write_text(GOOD)
    (tmp_path / "submission.csv").symlink_to(tmp_path / "file")
    assert read_submission(tmp_path / "submission.csv", sample, card())[1].ravel().tolist() == [0.5, 1.0, 2.0]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_said_to_be_so(sample, tmp_path):
    path = tmp_path / "submission.csv"
    path.write_text(GOOD)
    path.chmod(0)
    assert "may not be read" in rejection(path, sample)


@pytest.mark.parametrize("after", [GOOD + "4,1\n", "id,y\n", GOOD.replace("0.5", "0.7")])
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path, after):
    path = tmp_path / "submission.csv"
    path.write_text(GOOD)
    os.utime(path, (1, 1))
    refused = pytest.raises(InvalidSubmission, match=r"submission\.csv changed while it was read")
    with refused, open_rows(path, Limits(1000, 1000, 10)) as rows:
        next(iter(rows))
        path.write_text(after)
        list(rows)


def test_a_file_that_somebody_goes_on_writing_is_not_read_for_ever(tmp_path):
    path = tmp_path / "submission.csv"
    path.write_text("id,y\n" + "1,2\n" * 5)
    numbers = []
    refused, appending = pytest.raises(InvalidSubmission, match="changed while it was read"), path.open("a")
    with appending, refused, open_rows(path, Limits(2000, 1000, 10)) as rows:
        for number, _ in rows:
            numbers.append(number)
            appending.write("1,2\n" * 100)
            appending.flush()
    assert 5 < len(numbers) <= 500


_CHILD = """
import resource, sys
from pathlib import Path
from bot.evaluation.submission_file import read_submission
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
    """Return what a child says of each file that may take so many bytes above what it takes before it reads any."""
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(allowed), str(sample), kind, *map(str, paths)],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        cwd=Path(__file__).parents[3],
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def made(path, start, size=0, fill=b"7"):
    with path.open("wb") as file:
        file.write(start)
        for _ in range(size // MEGABYTE):
            file.write(fill * (MEGABYTE // len(fill)))
    return path


def test_no_file_makes_the_reader_of_numbers_take_more_than_fifty_megabytes(sample, tmp_path):
    sparse = made(tmp_path / "two-gigabytes.csv", GOOD.encode())
    os.truncate(sparse, 2_000_000_000)
    hole = made(tmp_path / "hole.csv", b"")
    os.truncate(hole, 9_000_000)
    said = {
        sparse: "has 2,000,000,000 bytes; at most 10,002,100 are sensible.",
        hole: "holds a NUL byte in line 1, which no text has.",
        made(tmp_path / "cell.csv", b"id,y\n1,", 9 * MEGABYTE): "row 1 is longer than 1,048,876 characters.",
        made(tmp_path / "header.csv", b"", 9 * MEGABYTE): "its header is longer than 1,048,876 characters.",
        made(tmp_path / "page.csv", b"<html>", 9 * MEGABYTE): "it seems to be an HTML page.",
        made(tmp_path / "columns.csv", b"id,y", 9 * MEGABYTE, b",extra01"): "its header is longer than 1,048,876",
        made(tmp_path / "many.csv", b"id,y", MEGABYTE, b",e"): "more than once the column 'e'",
        made(tmp_path / "cells.csv", b"id,y\n1", MEGABYTE, b",1"): "row 1: 524,289 cells where the header has 2",
        made(tmp_path / "quote.csv", b'id,y\n1,"', 9 * MEGABYTE, b"1,0.5\n3"): "a quote in it may never be closed.",
        made(tmp_path / "digits.csv", b"id,y\n1,", MEGABYTE): "row 1 (id '1'): the value of 'y' is not finite: '777",
        made(tmp_path / "blank.csv", b"id,y\n", 9 * MEGABYTE, b"\n"): "has more than 1,003 blank lines.",
        made(tmp_path / "ends.csv", b"id,y\r", 9 * MEGABYTE, b"\r"): "has more than 1,003 blank lines.",
        made(tmp_path / "rows.csv", b"id,y\n", 9 * MEGABYTE, b"1,0.50.\n"): "row 1 (id '1'): the value of 'y' is not a",
        made(tmp_path / "same.csv", b"id,y\n", 9 * MEGABYTE, b"1,0.500\n"): "row 2: the id '1' appears too often.",
    }
    lines = in_little_memory(50 * MEGABYTE, sample, "number", said)
    assert [line for line, expected in zip(lines, said.values(), strict=True) if expected not in line] == []


def test_no_file_makes_the_reader_of_texts_take_more_than_three_hundred_megabytes(sample, tmp_path):
    wide = "\U0001f600".encode()
    said = {
        made(tmp_path / "cell.csv", b"id,y\n1,", 90 * MEGABYTE): "row 1 is longer than 8,388,908 characters.",
        made(tmp_path / "wide.csv", b"id,y\n1," + wide, 90 * MEGABYTE): "row 1 is longer than 8,388,908 characters.",
        made(tmp_path / "mask.csv", b"id,y\n2,x\n3,x\n1," + wide, 7 * MEGABYTE, b"12 34567"): "valid",
    }
    lines = in_little_memory(300 * MEGABYTE, sample, "text", said)
    assert [line for line, expected in zip(lines, said.values(), strict=True) if expected not in line] == []


@pytest.mark.parametrize("kind", ["number", "label", "text"])
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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
