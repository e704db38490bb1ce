import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.evaluation.tables.csv_table import encode_row, read_table, write_table
from state.errors import UnsupportedLayout

CELLS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\x00"), max_size=12)


@given(st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=5))
def test_cells_survive_writing_and_reading_by_any_reader(rows):
    text = "".join(encode_row(row) for row in [["a", "b"], *rows])
    assert list(csv.reader(io.StringIO(text, newline=""))) == [["a", "b"], *rows]


def test_bytes_that_are_not_utf8_survive(tmp_path):
    (tmp_path / "in.csv").write_bytes(b"id,name\n1,caf\xe9\n2,0.10\n")
    table = read_table(tmp_path / "in.csv")
    write_table(tmp_path / "out.csv", table.header, table.rows(), table.delimiter)
    assert (tmp_path / "out.csv").read_bytes() == (tmp_path / "in.csv").read_bytes()


def test_the_delimiter_is_found_from_the_header(tmp_path):
    (tmp_path / "in.tsv").write_text("id\tname, full\n1\ta,b\n")
    table = read_table(tmp_path / "in.tsv")
    assert (table.delimiter, table.header, list(table.rows())) == ("\t", ("id", "name, full"), [["1", "a,b"]])


def test_a_ragged_row_is_named_by_its_line(tmp_path):
    (tmp_path / "in.csv").write_text("a,b\n1,2\n\n1,2,3\n")
    with pytest.raises(UnsupportedLayout, match=r"in.csv, line 4: 3 cells, but the header has 2"):
        list(read_table(tmp_path / "in.csv").rows())


def test_an_empty_file_is_no_table(tmp_path):
    (tmp_path / "in.csv").write_text("")
    with pytest.raises(UnsupportedLayout, match="empty"):
        read_table(tmp_path / "in.csv")
