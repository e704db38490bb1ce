"""Tables for people: they fit the width they have."""

import pytest

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
