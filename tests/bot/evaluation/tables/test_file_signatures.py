import gzip
import io
import json
import re
import zipfile

import pytest

from tests.bot.evaluation.rejections import GOOD, saying


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
        ("id,y\n1,0\nn\xe4her,1\n3,2\n".encode("latin-1"), r"column 'id': bytes that are not UTF-8 \(0xE4\)"),
        ("id,y\n1,0\n2,1\xb5\n3,2\n".encode("latin-1"), r"row 2 \(id '2'\): the value of 'y' is not UTF-8 text"),
    ],
)
def test_what_is_no_text_in_utf_8_is_said_to_be_so(sample, content, expected):
    assert re.search(expected, saying(sample, content))
