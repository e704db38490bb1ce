"""Archives are read to their end before they are trusted."""

import zipfile
from pathlib import Path

from scrapers.snapshots.archives import check_archive
from scrapers.snapshots.problems import Problems


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
    assert problems == ["its member '../../etc/passwd' leads out of the folder"]


def test_a_file_that_only_has_the_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_text("version https://git-lfs.github.com/spec/v1\n", encoding="utf-8")
    assert _problems(tmp_path / "a.zip")[0].startswith("is not a zip archive that can be read")
