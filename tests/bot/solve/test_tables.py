"""Tables as people have them, a case for each kind of form."""

import gzip

import pytest

from bot.solve.tables.cell_formats import PLAIN
from bot.solve.tables.text_records import TableError
from bot.solve.tables.user_table import UserTable


def read(tmp_path, content, name="t.csv", **options):
    """Read a table of this content; return it and its rows."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    table = UserTable.read(path, **options)
    return table, list(table.rows())


READ = {
    "a byte order mark": ("\ufeffa,b\n1,2\n", [["1", "2"]]),
    "lines of Windows": ("a,b\r\n1,2\r\n", [["1", "2"]]),
    "semicolons beside decimal commas": ("a;b\n1,5;2,5\n2,5;3,5\n", [["1.5", "2.5"], ["2.5", "3.5"]]),
    "tabs": ("a\tb\nx y\tz\n", [["x y", "z"]]),
    "blanks": ("a b\n1  2\n3  4\n", [["1", "2"], ["3", "4"]]),
    "a separator that is named": ("sep=;\na;b\n1;2\n", [["1", "2"]]),
    "a cell of several lines": ('a,b\n"x\ny",2\n', [["x\ny", "2"]]),
    "quotes escaped by backslashes": ('a,b,c\n"x \\"y\\", z",2,3\nu,4,5\n', [['x "y", z', "2", "3"], ["u", "4", "5"]]),
    "a comma more in the header": ("a,b,\n1,2\n3,4\n", [["1", "2"], ["3", "4"]]),
    "a comma more everywhere": ("a,b,\n1,2,\n3,4,\n", [["1", "2"], ["3", "4"]]),
    "a comma more in the rows": ("a,b\n1,2,\n3,4,\n", [["1", "2"], ["3", "4"]]),
    "blank rows": ("a,b\n1,2\n,\n  ,\n\n3,4\n,\n", [["1", "2"], ["3", "4"]]),
    "a title and a footer": ("Sales of 2019\n\na,b,c\n1,2,3\n4,5,6\nSource: us\n", [["1", "2", "3"], ["4", "5", "6"]]),
    "a title with commas": ("Sales of 2019,,\na,b,c\nx,2,3\ny,5,6\n", [["x", "2", "3"], ["y", "5", "6"]]),
    "totals and notes at the end": (
        "shop,n,m\n" + "a,1,2\n" * 9 + "\nTotal,9,18\nNote: all values are provisional,,\n",
        [["a", "1", "2"]] * 9,
    ),
    "statistics below numbers": ("n,m\n" + "1,2\n" * 9 + "Mean,2\nStd,0\n", [["1", "2"]] * 9),
    "statistics in a column of words": (
        "kind,n\n" + "a,1\nb,2\n" * 5 + "Total,15\nMax,2\nMin,1\n",
        [["a", "1"], ["b", "2"]] * 5,
    ),
    "a count of rows": ("n,m\n" + "1,2\n" * 9 + "(9 rows)\n", [["1", "2"]] * 9),
    "a last row with a name": ("shop,n\nSumo,1\nMaxi,2\nMax,3\n", [["Sumo", "1"], ["Maxi", "2"], ["Max", "3"]]),
    "the header again": ("shop,n\na,1\nb,2\nshop,n\nc,3\n", [["a", "1"], ["b", "2"], ["c", "3"]]),
    "pairs of words above": ("Report,Sales\nMade,2020\n\na,b,c\nx,2,3\ny,5,6\n", [["x", "2", "3"], ["y", "5", "6"]]),
    "units below the names": (
        "shop,n,m\n,(kg),(EUR)\na,1,2\nb,3,4\nc,5,6\n",
        [["a", "1", "2"], ["b", "3", "4"], ["c", "5", "6"]],
    ),
    "rows without last cells": ("a,b,c\n" + "1,2,3\n" * 200 + "4,5\n", [["1", "2", "3"]] * 200 + [["4", "5", ""]]),
    "thousands": ('a,b\n"1,234",x\n12,y\n"1,234,567.5",z\n', [["1234", "x"], ["12", "y"], ["1234567.5", "z"]]),
    "currency": ('a,b\n"$1,234.50",x\n$7,y\n"($3)",z\n', [["1234.50", "x"], ["7", "y"], ["-3", "z"]]),
    "thousands and millions": ("a,b\n$1.2k,x\n3M,y\n7,z\n", [["1200", "x"], ["3000000", "y"], ["7", "z"]]),
    "rupees in lakhs": ('a,b\n"Rs. 12,34,567",x\n"Rs. 7",y\n', [["1234567", "x"], ["7", "y"]]),
    "units behind numbers": (
        "a,b,c\n500 sqft,5mg,1 year\n7 sqft,0.5mg,2 years\n",
        [["500", "5", "1"], ["7", "0.5", "2"]],
    ),
    "other currencies": ('a,b\n"R$ 1,234.50",kr 7\n-$3,kr 1500\n', [["1234.50", "7"], ["-3", "1500"]]),
    "durations": ("a,b\n3:59:07,1\n0:00:30,2\n", [["14347", "1"], ["30", "2"]]),
    "row names of R between blanks": ('"a" "b c"\n"1" 5 "x y"\n"2" 6 "z"\n', [["1", "5", "x y"], ["2", "6", "z"]]),
    "codes that end in letters": ("a,b\n10 AM,12a\n11 PM,13b\n", [["10 AM", "12a"], ["11 PM", "13b"]]),
    "words among numbers": (
        "a,b\n" + "".join(f"0.{n},{n}\n" for n in range(10, 22)) + "n.d.,x\n<0.1,y\n",
        [*([f"0.{n}", str(n)] for n in range(10, 22)), ["", "x"], ["0.1", "y"]],
    ),
    "codes among numbers": (
        "a,b\n" + "".join(f"0.{n},x\n" for n in range(10, 30)) + "0.136A,y\n",
        [*([f"0.{n}", "x"] for n in range(10, 30)), ["0.136A", "y"]],
    ),
    "a long dash, and the end of a file of DOS": ("a,b\n–1.50,x\n7\x1a,y\n", [["-1.50", "x"], ["7", "y"]]),
    "a minus behind": ("a,b\n1.50-,x\n7,y\n", [["-1.50", "x"], ["7", "y"]]),
    "points of thousands beside decimal commas": ("a;b\n1.234;0,5\n12;1,5\n", [["1234", "0.5"], ["12", "1.5"]]),
    "percent": ("a,b\n12%,x\n7.5%,y\n", [["12", "x"], ["7.5", "y"]]),
    "decimal commas in quotes": ('a,b\n"11,9",x\n"0,5",y\n7,z\n', [["11.9", "x"], ["0.5", "y"], ["7", "z"]]),
    "thousands by points": ("a;b\n1.234,5;x\n12,0;y\n", [["1234.5", "x"], ["12.0", "y"]]),
    "thousands by apostrophes": ("a;b\n1'234.5;x\n12;y\n", [["1234.5", "x"], ["12", "y"]]),
    "a comma as other columns have it": ("a;b\n1,234;0,5\n2,345;1,5\n", [["1.234", "0.5"], ["2.345", "1.5"]]),
    "digits that are no numbers": ("a,b\n01234,1-2\n00501,3-4\n", [["01234", "1-2"], ["00501", "3-4"]]),
    "missing among numbers": (
        "a,b\n1,x\nNA,y\n?,z\n-,u\n3,v\n",
        [["1", "x"], ["", "y"], ["", "z"], ["", "u"], ["3", "v"]],
    ),
    "words that look missing": (
        "a,b\nNone,1\nNA,2\nnan,3\nFR,4\n",
        [["None", "1"], ["NA", "2"], ["nan", "3"], ["FR", "4"]],
    ),
    "missing words as R writes them": ('"a","b"\nNA,1\n"NA",2\n"x, NA",NA\n', [["", "1"], ["NA", "2"], ["x, NA", ""]]),
}


@pytest.mark.parametrize("case", READ)
def test_a_table_is_read_as_it_is_meant(case, tmp_path):
    content, rows = READ[case]
    table, read_rows = read(tmp_path, content)
    assert read_rows == rows and table.length == len(rows)
    assert len(table.header) == len(rows[0])


@pytest.mark.parametrize(
    ("first", "header"),
    [
        ("a,a,b", ("a", "a.1", "b")),
        ("a,,b", ("a", "Unnamed: 1", "b")),
        ("year,2019,2020", ("year", "2019", "2020")),
        ("# id,x,y", ("id", "x", "y")),
        ('"a","b"', ("Unnamed: 0", "a", "b")),  # R leaves the row names without a name
    ],
)
def test_names_are_those_of_pandas(first, header, tmp_path):
    table, rows = read(tmp_path, f"{first}\nx,1,2\ny,3,4\nz,5,6\n")
    assert table.header == header and rows[0] == ["x", "1", "2"] and table.has_header


@pytest.mark.parametrize(
    "content",
    [
        "5.1,3.5,setosa\n4.9,3.0,setosa\n6.3,3.3,virginica\n",
        "0.1,2.5,3\n1.5,2.5,4\n2.5,3.5,5\n",
        "x,b\ny,b\nx,b\nz,c\n",
    ],
)
def test_a_first_row_of_values_is_data_unless_the_user_says_otherwise(content, tmp_path):
    table, rows = read(tmp_path, content)
    assert not table.has_header and table.header[0] == "column_1" and len(rows) == content.count("\n")
    table, _ = read(tmp_path, content, has_header=True)
    assert table.header == tuple(content.splitlines()[0].split(","))


@pytest.mark.parametrize(
    ("encoding", "towns"),
    [
        *((name, ["Köln", "Zürich"]) for name in ("utf-8", "cp1252", "utf-16", "utf-16-le", "utf-32")),
        ("cp1251", ["Москва", "Омск", "Тверь"]),
        ("gb18030", ["北京", "重庆市"]),
    ],
)
def test_encodings_are_told_by_their_bytes(encoding, towns, tmp_path):
    _, rows = read(tmp_path, "".join(["town,n\n", *(f"{town},1\n" for town in towns)]).encode(encoding))
    assert [row[0] for row in rows] == towns


def test_a_stray_byte_leaves_the_rest_utf_8(tmp_path):
    content = "town,n\n" + "Köln,1\nÅrhus,2\n" * 50
    table, rows = read(tmp_path, content.encode() + "Malmö,3\n".encode("cp1252"))
    assert {row[0] for row in rows} == {"Köln", "Århus", "Malmö"}
    assert "1 byte" in table.notes[0] and "line 102" in table.notes[0]


def test_a_packed_table_is_read_like_another(tmp_path):
    _, rows = read(tmp_path, gzip.compress(b"a,b\n1,2\n"), "t.csv.gz")
    assert rows == [["1", "2"]]


def test_columns_write_numbers_as_another_table_does(tmp_path):
    train, _ = read(tmp_path, "a;b\n1,5;x\n2,5;y\n", "train.csv")
    _, rows = read(tmp_path, "a;b\n1,234;x\n7;y\n", "test.csv", formats=train.formats)
    assert rows == [["1.234", "x"], ["7", "y"]] and "b" not in train.formats


def test_plain_numbers_stay_as_they_are_written(tmp_path):
    table, rows = read(tmp_path, "a,b\n1.50,1e3\n2,-7\n")
    assert rows == [["1.50", "1e3"], ["2", "-7"]] and set(table.formats.values()) == {PLAIN}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "is empty"),
        ("a,b\n", "no rows"),
        ("a,b\n1,2\n3,4,5\n6,7\n", "t.csv:3: the row has 3 cells"),
        ("a,b\n1,2\n3\n6,7\n", "t.csv:3: 1 of 3 rows have fewer cells"),
        (
            'a,b,c\nx,"6 inch,2\n' + "y,z,3\n" * 4 + 'x,7 inch",2\n',
            "t.csv:2: an unclosed quote extends over the next 4 rows",
        ),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0,\0\n\0", "is not text"),
        (b"PK\x03\x04", "is a zip archive"),
    ],
)
def test_what_is_no_table_is_refused_with_the_place(content, reason, tmp_path):
    with pytest.raises(TableError, match=reason):
        read(tmp_path, content)


@pytest.mark.parametrize(
    ("name", "cells", "dates"),
    [
        ("day", ["13.02.2019", "01.03.2019"], ["2019-02-13", "2019-03-01"]),
        ("when", ["2010/01/01 00:00", "2010/01/01 01:00"], ["2010-01-01 00:00:00", "2010-01-01 01:00:00"]),
        ("when", ["1/2/2010 3:04 PM", "1/31/2010 12:04 AM"], ["2010-01-02 15:04:00", "2010-01-31 00:04:00"]),
        ("date", ["20190421", "20190422"], ["2019-04-21", "2019-04-22"]),
        ("time", ["1555800000", "1555803600"], ["2019-04-20 22:40:00", "2019-04-20 23:40:00"]),
        ("size", ["20190421", "20190422"], ["20190421", "20190422"]),
        ("day", ["2019-04-21", "2019-04-22"], ["2019-04-21", "2019-04-22"]),
        ("ratio", ["1/2", "3/4"], ["1/2", "3/4"]),
        ("version", ["1.2.10", "3.4.11"], ["1.2.10", "3.4.11"]),
        ("day", ["21.04.19", "02.05.19"], ["2019-04-21", "2019-05-02"]),
        (
            "when",
            ["2018-01-01 00:37:00 UTC", "2018-01-02 10:37:00 UTC"],
            ["2018-01-01 00:37:00", "2018-01-02 10:37:00"],
        ),
        (
            "when",
            ["2018-01-01T00:00:00+01:00", "2018-07-01T02:00:00+02:00"],
            ["2017-12-31 23:00:00", "2018-07-01 00:00:00"],
        ),
        (
            "when",
            ["2018-01-01 00:37:00 CET", "2018-07-01 10:37:00 CEST"],
            ["2018-01-01 00:37:00", "2018-07-01 10:37:00"],
        ),
        ("when", ["Wed Oct 10 20:19:24 +0200 2018"] * 2, ["2018-10-10 18:19:24"] * 2),
        ("when", ["10/Oct/2000:13:55:36 -0700"] * 2, ["2000-10-10 20:55:36"] * 2),
        ("when", ["2018-01-01 00:00:00.5", "2018-01-01 00:00:01"], ["2018-01-01 00:00:00", "2018-01-01 00:00:01"]),
        ("when", ["1/1/2018 0:00:00", "1/2/2018 0:13:00"], ["2018-01-01 00:00:00", "2018-01-02 00:13:00"]),
        ("day", ["2019-1-5", "2019-11-05"], ["2019-01-05", "2019-11-05"]),
        ("day", ["1 janv. 2019", "28 juillet 2019"], ["2019-01-01", "2019-07-28"]),
        ("day", ["01. Mai 2019", "02. Dezember 2019"], ["2019-05-01", "2019-12-02"]),
        ("day", ["5 de enero de 2019", "6 de abril de 2019"], ["2019-01-05", "2019-04-06"]),
        ("day", ["2019年1月5日", "2019年11月5日"], ["2019-01-05", "2019-11-05"]),
        ("date", ["43466", "43467"], ["2019-01-01", "2019-01-02"]),
        ("day", ["21.04.19", "NA"], ["2019-04-21", ""]),
        ("day", ["01/02/2019", "01/03/2019"], ["2019-02-01", "2019-03-01"]),  # by the month
        ("ts", ["1555800000000", "1555803600000.0"], ["2019-04-20 22:40:00", "2019-04-20 23:40:00"]),
        ("when", ["1949-01", "1949-02"], ["1949-01-01", "1949-02-01"]),
        ("when", ["1949Q1", "1949Q2"], ["1949-01-01", "1949-04-01"]),
        ("when", ["Jan-01", "Feb-01"], ["2001-01-01", "2001-02-01"]),
    ],
)
def test_dates_are_written_as_iso_8601(name, cells, dates, tmp_path):
    _, rows = read(tmp_path, f"{name},x\n" + "".join(f"{cell},1\n" for cell in cells * 3))
    assert [row[0] for row in rows[:2]] == dates


@pytest.mark.parametrize("clock", ["18.30.00", "18:30", "6:30 PM"])
def test_the_time_of_day_joins_the_date_beside_it(clock, tmp_path):
    _, rows = read(tmp_path, f"Date,Time,x\n10/03/2004,{clock},1\n21/03/2004,{clock},2\n")
    assert (rows[0][0], rows[0][2]) == ("2004-03-10 18:30:00", "1")


def test_years_in_order_are_dates_and_others_are_numbers(tmp_path):
    table, rows = read(tmp_path, "year,x\n1800,1\n1801,2\n1802,3\n")
    assert rows[0] == ["1800-01-01", "1"]
    table, rows = read(tmp_path, "year,x\n1800,1\n1800,2\n1802,3\n")
    assert rows[0] == ["1800", "1"] and table.notes == ()


def test_a_date_that_may_be_read_in_two_ways_is_read_as_other_columns_are_and_said(tmp_path):
    dates = ["05/02/2019", "02/01/2019", "04/06/2019"]
    table, rows = read(tmp_path, "day,x\n" + "".join(f"{date},1\n" for date in dates))
    assert rows[0][0] == "2019-05-02" and "is ambiguous: 05/02/2019 was read as 2019-05-02" in table.notes[0]
    table, rows = read(tmp_path, "day;x\n" + "".join(f"{date};1,5\n" for date in dates))
    assert rows[0] == ["2019-02-05", "1.5"]
    table, rows = read(tmp_path, "day,end\n" + "".join(f"{date},31/01/2019\n" for date in dates))
    assert rows[0][0] == "2019-02-05"


def test_a_single_date_and_time_may_be_read_in_two_ways(tmp_path):
    table, rows = read(tmp_path, "day,x\n05/02/2019 10:00,1\n,2\n,3\n")
    assert rows[0][0] == "2019-05-02 10:00:00" and "is ambiguous" in table.notes[0]
