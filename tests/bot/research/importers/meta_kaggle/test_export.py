"""Opening an export: each table is converted once, and one that is not Meta Kaggle's is refused with the place."""

import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

from bot.research.importers.meta_kaggle import export as export_module
from bot.research.importers.meta_kaggle.export import open_export
from state.errors import SnapshotError, UsageError
from tests.bot.research.importers.meta_kaggle.made_export import small_tables, write_export, write_table

Change = Callable[[Path], object]


def converted(folder: Path) -> list[str]:
    """Open the export, and return what was converted, in order."""
    reports: list[tuple[str, float]] = []
    with open_export(folder, lambda what, share: reports.append((what, share))):
        pass
    shares = [share for _, share in reports]
    assert shares == sorted(shares)
    assert all(0 <= share <= 1 for share in shares)
    return list(dict.fromkeys(what.split()[1] for what, _ in reports))


def test_a_table_is_converted_once_and_again_when_it_has_changed(tmp_path: Path) -> None:
    write_export(tmp_path, small_tables())
    assert len(converted(tmp_path)) == 13
    assert converted(tmp_path) == []
    write_table(tmp_path, "Users", [{"Id": 1, "UserName": "another"}])
    assert converted(tmp_path) == ["Users.csv"]
    (tmp_path / "ForumMessages.csv").unlink()  # the converted one is enough
    assert converted(tmp_path) == []


def test_a_table_is_converted_in_pieces_of_whole_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces of a few rows, with quotes and line breaks at every place of their ends."""
    monkeypatch.setattr(export_module, "_PIECE", 700)
    texts = [f"{number}" + '"\n",\r\n""' * (number % 7) + "x" * (number % 11) for number in range(1, 200)]
    write_export(tmp_path, {"Users": [{"Id": number, "UserName": text} for number, text in enumerate(texts)]})
    with open_export(tmp_path, lambda what, share: None) as export:
        rows = export.connection.execute("SELECT UserName FROM Users ORDER BY Id").fetchall()
    assert [text for (text,) in rows] == texts


def _cut(folder: Path) -> None:
    path = folder / "ForumMessages.csv"
    path.write_bytes(path.read_bytes()[:-40])


def _rename_column(folder: Path) -> None:
    path = folder / "Kernels.csv"
    path.write_text(path.read_text().replace("MadePublicDate", "PublicDate"))


def _lengthen_row(folder: Path) -> None:
    with (folder / "ForumTopics.csv").open("a") as file:
        file.write('"1","2","3"\n')


def _put_text_for_a_number(folder: Path) -> None:
    write_table(folder, "Users", [{"Id": "seven"}])


def _use_other_dates(folder: Path) -> None:
    write_table(folder, "Submissions", [{"Id": 1, "SubmissionDate": "2024-02-01"}])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_cut, r"ForumMessages.csv: ends in the middle of a row: download it again"),
        (_rename_column, r"Kernels.csv:1: lacks the columns MadePublicDate; it has Id, "),
        (_lengthen_row, r"ForumTopics.csv: cannot be read after byte 0: .* Expected Number of Columns: 13 Found: 3"),
        (_put_text_for_a_number, r"Users.csv: cannot be read after byte 0: .*seven"),
        (_use_other_dates, r"Submissions.csv: 1 of 1 rows have a date not formatted like 12/31/2024 or"),
    ],
)
def test_a_table_that_is_not_meta_kaggles_is_refused(tmp_path: Path, change: Change, message: str) -> None:
    change(write_export(tmp_path, small_tables()))
    with pytest.raises(SnapshotError, match=message):
        converted(tmp_path)


@pytest.mark.parametrize(("size", "is_whole"), [(1, True), (2, False), (3, False), (10, False), (30, False)])
def test_a_table_may_lack_its_last_line_break_and_no_more(tmp_path: Path, size: int, is_whole: bool) -> None:
    path = write_export(tmp_path, small_tables()) / "Kernels.csv"
    path.write_bytes(path.read_bytes()[:-size])
    with nullcontext() if is_whole else pytest.raises(SnapshotError, match=r"Kernels\.csv"):
        converted(tmp_path)


def test_a_folder_without_the_tables_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no Competitions.csv, ForumTopics.csv, .*: download kaggle/meta-kaggle"):
        converted(tmp_path)


def test_without_duckdb_the_error_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(UsageError, match=r"requires DuckDB: pip install 'kaggle-bot\[meta-kaggle\]'"):
        converted(tmp_path)
