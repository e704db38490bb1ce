"""Tests of what is read from a folder of data."""

from pathlib import Path

from scrapers.kaggle.card.evidence import Tables
from scrapers.kaggle.card.task import read_tables


def write(folder: Path, **tables: str) -> Path:
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    return folder


def test_headers_cells_and_classes_are_read(tmp_path: Path) -> None:
    tables = read_tables(
        write(
            tmp_path,
            sample_submission="id,oak,ash\n1,0.5,0.5\n2,0.5,0.5\n",
            train="id,x,species\n7,1,oak\n8,2,ash\n9,3,oak\n",
            test="id,x\n1,4\n2,5\n",
        )
    )
    assert (tables.train, tables.test) == (("id", "x", "species"), ("id", "x"))
    assert tables.labels == {"species": frozenset({"oak", "ash"})}
    assert tables.sample is not None
    assert tables.sample.header == ("id", "oak", "ash")
    assert (tables.sample.rows, tables.sample.unique, tables.sample.numeric) == (2, {"id"}, {"oak", "ash"})


def test_ids_that_occur_twice_anywhere_are_seen(tmp_path: Path) -> None:
    rows = "".join(f"{number},0\n" for number in [*range(20_000), 0])
    tables = read_tables(write(tmp_path, sample_submission=f"id,x\n{rows}"))
    assert tables.sample is not None
    assert tables.sample.unique == frozenset()


def test_columns_of_whole_numbers_that_differ_look_like_keys(tmp_path: Path) -> None:
    tables = read_tables(write(tmp_path, sample_submission="id,day,name,x,y\n1,1,a,0,0.1\n2,2,b,0,0.7\n"))
    assert tables.sample is not None
    assert tables.sample.numeric == {"x", "y"}


def test_what_is_not_there_or_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_bytes(b'a,b\n"' + b"x" * 17_000_000)
    (tmp_path / "test.csv").write_bytes(b"")
    assert read_tables(tmp_path) == Tables(train=("a", "b"))


def test_several_files_that_may_be_the_sample_are_named(tmp_path: Path) -> None:
    write(tmp_path, stage1_sample_submission="id,x\n", stage2_sample_submission="id,x\n")
    assert read_tables(tmp_path).candidates == ("stage1_sample_submission.csv", "stage2_sample_submission.csv")
