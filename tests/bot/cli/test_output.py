"""Tables and progress for people: they fit the width they have."""

import io

import pytest
from rich.console import Console

from bot.cli import output
from bot.cli.output import print_table

COLUMNS = ("run", "status", "nodes\nso far", "note")
ROW = ("spooky_author_identification-comind-builtin-0-20261120T101500000000Z", "finished", "12", "all is well here")


def test_a_table_that_fits_is_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(COLUMNS, [ROW], width=140)
    shown = capsys.readouterr().out
    assert ROW[0] in shown and "│" in shown


@pytest.mark.parametrize("width", [80, 40])
def test_one_that_does_not_fit_has_a_line_for_each_cell(capsys: pytest.CaptureFixture[str], width: int) -> None:
    print_table(COLUMNS, [ROW, ("b", "failed", "", "")], title="runs", width=width)
    shown = capsys.readouterr().out
    assert "│" not in shown
    assert all(len(line) <= width for line in shown.splitlines())
    assert "  nodes so far: 12\n" in shown
    assert shown.rstrip().endswith("run b\n  status: failed"), "an empty cell has no line"


def test_a_line_of_progress_has_a_bar_with_the_time_that_is_left_where_the_share_is_known() -> None:
    out = io.StringIO()
    console = Console(file=out, width=80, color_system=None)
    console.print(output._line("imports 3 of 12", 0.25, 60.0))
    console.print(output._line("looks around", None, 60.0))
    line, bar, plain = out.getvalue().splitlines()
    assert (line.strip(), plain.strip()) == ("imports 3 of 12", "looks around")
    assert bar.startswith("━") and bar.strip().endswith("25%, 3 min left")


def test_a_pipe_has_a_plain_line_and_no_more_of_them_than_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    with output.progress_line(3600.0) as say:
        for number in range(5):
            say(f"{number} of 5", number / 5)
    assert capsys.readouterr().err == "0 of 5\n"
