"""What a card is derived from: pages in markdown, the leaderboard's order, and tables of data."""

from pathlib import Path

import pytest

from scrapers.kaggle.card.board import read_order
from scrapers.kaggle.card.evidence import Tables
from scrapers.kaggle.card.pages import description_of
from scrapers.kaggle.card.task import read_tables
from scrapers.kaggle.competitions import CompetitionPage
from tests.scrapers.kaggle.card.cases import as_markdown


def read(content: str, mime: str = "") -> str:
    (page,) = as_markdown([CompetitionPage(name="evaluation", content=content, mime_type=mime)])
    return page.content


def test_html_is_read_whether_it_says_so_or_not() -> None:
    content = "<h2>Evaluation</h2><p>On <b>RMSE</b>.</p><pre>id,x</pre>"
    assert read(content) == read(content, "text/html") == "## Evaluation\n\nOn **RMSE**.\n\n```\nid,x\n```"


def test_what_nobody_sees_is_not_read() -> None:
    assert read("On <!-- RMSE --> MAE", "text/markdown") == "On   MAE"


def test_the_description_holds_task_evaluation_and_data_but_no_rules() -> None:
    pages = [
        CompetitionPage(name=name, content=f"About {name}.")
        for name in ("rules", "data-description", "Evaluation", "description")
    ]
    assert description_of(pages) == (
        "# Description\n\nAbout description.\n\n# Evaluation\n\nAbout Evaluation.\n\n"
        "# Data description\n\nAbout data-description."
    )


@pytest.mark.parametrize(
    ("scores", "direction"),
    [
        (("0.1", "0.1", "0.3"), "minimize"),
        (("0.9", "0.8"), "maximize"),
        (("", "1e-3", "nan", " 0.5 ", "inf"), "minimize"),
        (("-0.2", "-0.4"), "maximize"),
        (("0.1", "0.3", "0.2"), None),
        (("0.5", "0.50", "0.5000"), None),
        (("0.5",), None),
        (("--",), None),
        ((), None),
    ],
)
def test_the_order_shows_a_direction_or_none(scores: tuple[str, ...], direction: str | None) -> None:
    assert read_order(scores).direction == direction


def test_why_there_is_no_direction_is_said() -> None:
    told = [read_order(scores).description for scores in ((), ("1", "1"), ("1", "3", "2"))]
    assert told == [
        "the leaderboard is empty",
        "all leaderboard scores are equal",
        "the leaderboard is not sorted by score",
    ]


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
    assert tables.sample.header == ("id", "oak", "ash")
    assert (tables.sample.rows, tables.sample.unique, tables.sample.numeric) == (2, {"id"}, {"oak", "ash"})


def test_ids_that_occur_twice_anywhere_are_seen(tmp_path: Path) -> None:
    rows = "".join(f"{number},0\n" for number in [*range(20_000), 0])
    tables = read_tables(write(tmp_path, sample_submission=f"id,x\n{rows}"))
    assert tables.sample.unique == frozenset()


def test_columns_of_whole_numbers_that_differ_look_like_keys(tmp_path: Path) -> None:
    tables = read_tables(write(tmp_path, sample_submission="id,day,name,x,y\n1,1,a,0,0.1\n2,2,b,0,0.7\n"))
    assert tables.sample.numeric == {"x", "y"}


def test_what_is_not_there_or_cannot_be_read_is_none(tmp_path: Path) -> None:
    (tmp_path / "train.csv").write_bytes(b'a,b\n"' + b"x" * 17_000_000)
    (tmp_path / "test.csv").write_bytes(b"")
    assert read_tables(tmp_path) == Tables(train=("a", "b"))


def test_several_files_that_may_be_the_sample_are_named(tmp_path: Path) -> None:
    write(tmp_path, stage1_sample_submission="id,x\n", stage2_sample_submission="id,x\n")
    assert read_tables(tmp_path).candidates == ("stage1_sample_submission.csv", "stage2_sample_submission.csv")
