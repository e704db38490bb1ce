"""Files of a snapshot: names, second places, archives, tables and times."""

import math
import zipfile
from pathlib import Path

import pytest

from scrapers.snapshots.archives import check_archive
from scrapers.snapshots.files import escapes, resolve_inside
from scrapers.snapshots.linking import link_files
from scrapers.snapshots.problems import Problems
from scrapers.snapshots.tables import ends_within_row, read_number
from scrapers.snapshots.times import parse_times


@pytest.mark.parametrize("name", ["", "/", "/etc/passwd", "..", "../a", "a/../../b", "..\\a", "a/\0b", "."])
def test_names_that_leave_the_folder_or_mean_none_are_never_resolved(tmp_path: Path, name: str) -> None:
    assert resolve_inside(tmp_path, name) is None


@pytest.mark.parametrize("name", ["a.py", "kernels/a.py", "kernels/..a.py", "a b/c:d.R"])
def test_plain_names_do_not_escape(name: str) -> None:
    assert not escapes(name)


def test_a_link_inside_is_followed_and_one_that_leads_out_is_not(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "secret").write_text("s", encoding="utf-8")
    (root / "file").write_text("f", encoding="utf-8")
    (root / "good").symlink_to("file")
    (root / "bad").symlink_to("../secret")
    assert resolve_inside(root, "good") == root / "good"
    assert resolve_inside(root, "bad") is None
    assert resolve_inside(root, "none") is None


def everything(_: str) -> bool:
    return True


def test_files_are_linked_and_not_copied_where_that_can_be(tmp_path: Path):
    source, target = tmp_path / "a", tmp_path / "b"
    (source / "deep/er").mkdir(parents=True)
    target.mkdir()
    (source / "deep/er/file").write_text("text")
    (source / "left").write_text("left")
    seen: list[int] = []
    link_files(source, target, lambda name: name != "left", seen.append)
    assert (target / "deep/er/file").samefile(source / "deep/er/file")
    assert not (target / "left").exists()
    assert seen == [1, 2]


def test_links_within_the_folder_become_files_and_others_stay_links(tmp_path: Path):
    source, target = tmp_path / "a", tmp_path / "b"
    source.mkdir()
    target.mkdir()
    (source / "file").write_text("text")
    (source / "inside").symlink_to(source / "file")
    (source / "outside").symlink_to("/etc/hostname")
    (source / "nowhere").symlink_to("gone")
    link_files(source, target, everything, lambda _: None)
    assert (target / "inside").samefile(source / "file")
    assert not (target / "inside").is_symlink()
    assert str((target / "outside").readlink()) == "/etc/hostname"
    assert (target / "nowhere").is_symlink()


def test_a_file_that_cannot_be_linked_is_copied(tmp_path: Path):
    # A name that is there already is one of the reasons for which a link fails.
    source, target = tmp_path / "a", tmp_path / "b"
    source.mkdir()
    target.mkdir()
    (source / "file").write_text("text")
    (target / "file").write_text("older")
    link_files(source, target, everything, lambda _: None)
    assert (target / "file").read_text() == "text"
    assert not (target / "file").samefile(source / "file")


def _problems(path: Path) -> list[str]:
    found = Problems()
    good = check_archive(path, "a.zip", found)
    assert good is not bool(found.problems)
    return [problem.message for problem in found.problems]


def _archive(path: Path, **members: str) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name.replace("__", "/"), text)
    return path


def test_a_good_archive_passes(tmp_path: Path) -> None:
    assert _problems(_archive(tmp_path / "a.zip", train__1="one", train__2="two")) == []


def test_every_truncation_is_refused(tmp_path: Path) -> None:
    whole = _archive(tmp_path / "a.zip", one="1" * 50, two="abcdefgh" * 9).read_bytes()
    for length in range(0, len(whole), 7):
        (tmp_path / "cut.zip").write_bytes(whole[:length])
        assert _problems(tmp_path / "cut.zip")


def test_a_damaged_member_is_named(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("picture.png", "abcdefgh" * 100)
    data = (tmp_path / "a.zip").read_bytes().replace(b"abcdefgh", b"abcdefgX", 1)
    (tmp_path / "a.zip").write_bytes(data)
    assert _problems(tmp_path / "a.zip") == ["its member 'picture.png' is damaged"]


def test_members_that_lead_out_are_refused(tmp_path: Path) -> None:
    problems = _problems(_archive(tmp_path / "a.zip", **{"..__..__etc__passwd": "x", "ok": "y"}))
    assert problems == ["its member '../../etc/passwd' points outside the folder"]


def test_a_file_that_only_has_the_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_text("version https://git-lfs.github.com/spec/v1\n", encoding="utf-8")
    assert _problems(tmp_path / "a.zip")[0].startswith("is not a readable zip archive")


@pytest.mark.parametrize(
    ("text", "value"), [("1", 1), (" 12 ", 12), ("1e5", 1e5), ("-.5", -0.5), ("007", 7), ("inf", math.inf)]
)
def test_what_looks_like_a_number_is_one(text, value):
    assert read_number(text) == value


def test_nan_is_a_number():
    assert math.isnan(read_number("NaN"))


@pytest.mark.parametrize("text", ["0013_01", "1_000", "1,000", "0x10", "", " ", "one", "١٢", "2011-01-01", "1 2"])
def test_what_only_python_would_read_is_none(text):
    assert read_number(text) is None


@pytest.mark.parametrize(
    ("text", "is_cut"),
    [
        ("id,text,author\n1,a,b\n2,c,d\n", False),
        ("id,text,author\n1,a,b\n2,c,d", False),  # many tables have no last line end
        ("id,text,author\n1,a,b\n2,c", True),
        ('id,author,text\n1,b,"a"\n2,d,"c and', True),
        ('id,text,author\n1,"a\nb\nc",d', False),
        ('id,text,author\n1,"a\nb', True),
        ("id\n1\n2", False),
        ("", False),
    ],
)
def test_a_table_that_ends_within_a_row_is_seen_by_its_end(tmp_path: Path, text: str, is_cut: bool) -> None:
    table = tmp_path / "train.csv"
    table.write_text(text)
    assert ends_within_row(table) is is_cut


DAY = 86400.0


def test_common_ways_to_write_a_time_are_read():
    assert parse_times(["1970-01-02", "1970-01-01 12:00:00"]) == [DAY, DAY / 2]
    assert parse_times(["1970-01-01T01:00:00+01:00"]) == [0.0]
    assert parse_times(["01/13/1970"]) == [12 * DAY]
    assert parse_times(["13/01/1970 00:00"]) == [12 * DAY]
    assert parse_times(["1970/01/13 00:00:00"]) == [12 * DAY]
    assert parse_times(["13.01.1970 12:00", "02.01.1970 00:00"]) == [12.5 * DAY, DAY]
    assert parse_times(["13-Jan-1970", "02-Jan-1970"]) == [12 * DAY, DAY]
    assert parse_times(["Jan 13, 1970"]) == [12 * DAY]
    assert parse_times(["1/31/70 6:00 PM"]) == [30.75 * DAY]


def test_numbers_and_text_are_no_times():
    assert parse_times(["20110101", "20110102"]) is None
    assert parse_times(["1970-01-02", "soon"]) is None
    assert parse_times(["1.2.10", "1.2.11"]) is None, "a version"
    assert parse_times([]) is None
