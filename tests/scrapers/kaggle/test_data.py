"""Tests of a competition's data: fetched once, whole, unmixed, whatever the site does and wherever it was stopped."""

import asyncio
import random
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from scrapers.kaggle.data import DownloadProgress, read_record
from state.errors import DataChanged, DownloadFailed, NoRoom, NotEntered, UsageError
from tests.file_server import FileServer
from tests.scrapers.kaggle.data_site import FILES, NOISE, SLUG, DataSite, zipped


@pytest.fixture
def site() -> Iterator[DataSite]:
    with FileServer() as server:
        site = DataSite(server)
        site.serve(FILES)
        yield site


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


async def fetch(site: DataSite, folder: Path, sample: str | None = None) -> dict[str, bytes]:
    async with site.data(folder, sample=sample) as data:
        return content(await data.fetch())


async def test_the_data_lies_there_read_only_with_a_record_and_nothing_else(site: DataSite, tmp_path: Path) -> None:
    assert await fetch(site, tmp_path) == FILES
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "data", "data.json"]
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "data").rglob("*") if path.is_file()} == {0o444}
    record = read_record(tmp_path / "data.json")
    assert {name: size for name, (size, _) in record.files.items()} == {name: len(data) for name, data in FILES.items()}
    assert record.archive_bytes == len(site.server.files["data.zip"])


async def test_it_is_never_downloaded_twice(site: DataSite, tmp_path: Path) -> None:
    await fetch(site, tmp_path)
    assert await fetch(site, tmp_path) == FILES
    site.listed = {"other.csv": 1}
    assert await fetch(site, tmp_path) == FILES
    assert site.asked == ["ListDataFiles", "DownloadDataFiles"]
    assert len(site.server.ranges) == 1


async def test_what_is_here_serves_while_the_site_is_away(site: DataSite, tmp_path: Path) -> None:
    await fetch(site, tmp_path)
    for site.status in (403, 500):
        assert await fetch(site, tmp_path) == FILES


async def test_the_progress_is_shown_in_lines(site: DataSite, tmp_path: Path) -> None:
    reported: list[DownloadProgress] = []
    async with site.data(tmp_path, progress=reported.append) as data:
        await data.fetch()
    assert [one.activity for one in reported] == sorted(one.activity for one in reported)
    for activity, total in (
        ("downloading", len(site.server.files["data.zip"])),
        ("unpacking", sum(map(len, FILES.values()))),
    ):
        assert [one.bytes for one in reported if one.activity == activity][-1] == total
    assert str(DownloadProgress(SLUG, "downloading", 12_340_000, 49_360_000)) == (
        "house-pricing: downloading data, 12.3 of 49.4 MB (25%)"
    )
    assert str(DownloadProgress(SLUG, "downloading", 12_340_000, None)) == "house-pricing: downloading data, 12.3 MB"


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
async def test_a_connection_that_breaks_and_stalls_is_gone_on_from(site: DataSite, tmp_path: Path, method: int) -> None:
    site.serve(FILES, zipped(FILES, method))
    site.server.cut_after = [200_000]
    site.server.statuses = [0, 403, 503]
    assert await fetch(site, tmp_path) == FILES
    assert site.server.ranges[0] == 0
    assert site.server.ranges[-1] > 0
    assert site.asked.count("DownloadDataFiles") == 2, "an address that was no longer good was asked for again"


async def test_a_stalled_download_is_cancelled_at_once_and_goes_on_later(site: DataSite, tmp_path: Path) -> None:
    site.server.stall_after = [200_000]
    came = asyncio.Event()
    async with site.data(tmp_path, progress=lambda one: came.set()) as data:
        task = asyncio.create_task(data.fetch())
        await came.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert not (tmp_path / "data").exists()
    assert await fetch(site, tmp_path) == FILES
    assert site.server.ranges[1] > 0


async def test_a_cancelled_unpacking_ends_soon_and_is_done_again_from_the_zip(site: DataSite, tmp_path: Path) -> None:
    loop, unpacking = asyncio.get_running_loop(), asyncio.Event()

    def notice(progress: DownloadProgress) -> None:
        if progress.activity == "unpacking":
            loop.call_soon_threadsafe(unpacking.set)

    files = FILES | {f"more/{number}.bin": NOISE for number in range(60)}
    site.serve(files, zipped(files, zipfile.ZIP_STORED))
    async with site.data(tmp_path, progress=notice) as data:
        task = asyncio.create_task(data.fetch())
        await unpacking.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert not (tmp_path / "data.json").exists()
    assert (tmp_path / "data.zip").exists()
    assert await fetch(site, tmp_path) == files
    assert len(site.server.ranges) == 1


@pytest.mark.parametrize("left", ["zip", "zip and half unpacked", "unpacked without a record", "record and zip"])
async def test_wherever_it_was_killed_it_goes_on_without_another_download(site, tmp_path, left) -> None:
    await fetch(site, tmp_path)
    (tmp_path / "data.zip").write_bytes(site.server.files["data.zip"])
    if left != "record and zip":
        (tmp_path / "data.json").unlink()
    if left == "zip and half unpacked":
        (tmp_path / "data").rename(tmp_path / "unpacking")
        (tmp_path / "unpacking" / "train.csv").unlink()
    elif left == "zip":
        (tmp_path / "data").rename(tmp_path.parent / "away")
    assert await fetch(site, tmp_path) == FILES
    assert len(site.server.ranges) == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "data", "data.json"]


async def test_data_that_changes_on_the_site_meanwhile_is_not_mixed(site: DataSite, tmp_path: Path) -> None:
    site.server.cut_after, site.server.statuses = [200_000], [0, *[503] * 5]
    with pytest.raises(DownloadFailed, match=r"in 5 attempts"):
        await fetch(site, tmp_path)
    assert (tmp_path / ".data.zip.part").stat().st_size > 100_000
    other = FILES | {"train.csv": b"id,size,price\n1,2,4\n", "new.csv": b"a\n"}
    site.serve(other, etag='"two"')
    assert await fetch(site, tmp_path) == other


async def test_a_part_is_gone_on_with_although_the_list_differs_meanwhile(site: DataSite, tmp_path: Path) -> None:
    site.server.cut_after, site.server.statuses = [200_000], [0, *[503] * 5]
    with pytest.raises(DownloadFailed, match=r"in 5 attempts"):
        await fetch(site, tmp_path)
    site.listed = {"train.csv": 21}
    assert await fetch(site, tmp_path) == FILES
    assert site.server.ranges[-1] > 100_000


async def test_a_file_that_was_changed_here_is_reported(site: DataSite, tmp_path: Path) -> None:
    await fetch(site, tmp_path)
    path = tmp_path / "data" / "train.csv"
    path.chmod(0o644)
    path.write_bytes(b"id\n")
    with pytest.raises(DataChanged, match=r"train\.csv has changed since the download: move .* elsewhere"):
        await fetch(site, tmp_path)


async def test_a_folder_of_unknown_origin_is_left_alone(site: DataSite, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "mine.csv").write_text("a\n")
    with pytest.raises(DataChanged, match=r"are of unknown origin"):
        await fetch(site, tmp_path)
    assert (tmp_path / "data" / "mine.csv").exists()


async def test_the_zip_decides_and_what_the_list_says_otherwise_is_a_warning(site: DataSite, tmp_path: Path) -> None:
    site.listed = {**site.listed, "train.csv": 12, "more.csv": 3}
    del site.listed["test.csv"]
    warnings: list[str] = []
    async with site.data(tmp_path, warn=warnings.append) as data:
        assert content(await data.fetch()) == FILES
    assert warnings == [
        "the data zip differs from Kaggle's file list: more.csv is in the list but not in the zip; "
        "train.csv has 12 bytes in the list but 20 in the zip"
    ]


async def test_without_a_list_the_data_comes_all_the_same(site: DataSite, tmp_path: Path) -> None:
    site.listed = {}
    assert await fetch(site, tmp_path) == FILES


async def test_a_list_of_bare_names_fits_a_zip_with_folders(site: DataSite, tmp_path: Path) -> None:
    site.listed = {name.rsplit("/", 1)[-1]: size for name, size in site.listed.items()}
    assert await fetch(site, tmp_path) == FILES


@pytest.mark.parametrize("damage", ["flipped", "cut", "none"])
async def test_a_damaged_zip_is_refused_and_fetched_anew(site: DataSite, tmp_path: Path, damage: str) -> None:
    good = zipped(FILES, zipfile.ZIP_STORED)
    place = good.index(NOISE) + 1000
    bad = {"flipped": good[:place] + b"!!!" + good[place + 3 :], "cut": good[:-30], "none": b"<html>sorry</html>"}[
        damage
    ]
    site.serve(FILES, bad)
    with pytest.raises(DownloadFailed, match=r"cannot be unpacked: Bad CRC-32|is not a readable zip"):
        await fetch(site, tmp_path)
    assert not (tmp_path / "data").exists()
    site.serve(FILES, good, etag='"two"')
    assert await fetch(site, tmp_path) == FILES


async def test_a_full_disk_is_reported_before_anything_comes(site: DataSite, tmp_path: Path) -> None:
    async with site.data(tmp_path, spare=10**15) as data:
        with pytest.raises(DownloadFailed, match=r"more bytes are needed and 1,000,\d+,\d+,\d+,\d+ must stay free"):
            await data.fetch()
    assert not (tmp_path / ".data.zip.part").exists()


async def test_a_disk_too_full_for_unpacking_keeps_the_zip(site: DataSite, tmp_path: Path) -> None:
    site.listed = {}  # so that nobody knows before how large it becomes
    async with site.data(tmp_path) as data:
        data.progress = lambda one: setattr(data, "spare", 10**15)
        with pytest.raises(NoRoom, match=r"only .* free"):
            await data.fetch()
    assert await fetch(site, tmp_path) == FILES
    assert len(site.server.ranges) == 1


async def test_a_competition_that_was_not_entered_is_reported(site: DataSite, tmp_path: Path) -> None:
    site.status = 403
    with pytest.raises(NotEntered, match=r"accept its rules on the website"):
        await fetch(site, tmp_path)


async def test_two_at_once_do_not_meet(site: DataSite, tmp_path: Path) -> None:
    site.server.stall_after = [1_000]
    came = asyncio.Event()
    async with site.data(tmp_path, progress=lambda one: came.set()) as first, site.data(tmp_path) as second:
        task = asyncio.create_task(first.fetch())
        await came.wait()
        with pytest.raises(DownloadFailed, match=r"is being downloaded by another process"):
            await second.fetch()
        assert content(await task) == FILES


async def test_a_folder_that_cannot_be_written_is_reported(site: DataSite, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DownloadFailed, match=r"cannot be written to .*file: (File exists|Not a directory)"):
        await fetch(site, tmp_path / "file")


async def test_a_sample_of_another_name_is_there_under_the_usual_one(site: DataSite, tmp_path: Path) -> None:
    sample = FILES["sample_submission.csv"]
    files = {name: data for name, data in FILES.items() if name != "sample_submission.csv"} | {
        "gender_submission.csv": sample
    }
    site.serve(files)
    assert await fetch(site, tmp_path) == files | {"sample_submission.csv": sample}
    assert (tmp_path / "data" / "sample_submission.csv").stat().st_mode & 0o777 == 0o444
    record = read_record(tmp_path / "data.json")
    assert record.sample == "gender_submission.csv"
    assert await fetch(site, tmp_path) == files | {"sample_submission.csv": sample}


async def test_the_owner_chooses_among_several_samples_and_may_choose_again(site: DataSite, tmp_path: Path) -> None:
    files = {"a_sample_submission.csv": b"id,x\n1,0\n", "b_sample_submission.csv": b"id,x\n2,0\n"}
    site.serve(files)
    assert await fetch(site, tmp_path) == files
    for name, data in files.items():
        assert (await fetch(site, tmp_path, name))["sample_submission.csv"] == data
    with pytest.raises(UsageError, match=r"'c.csv' in bot.toml is not in the data of house-pricing"):
        await fetch(site, tmp_path, "c.csv")


async def test_tables_in_zips_of_their_own_are_unpacked_and_other_zips_kept(site: DataSite, tmp_path: Path) -> None:
    images = zipped({"train/1.jpg": b"1", "train/2.jpg": b"2"})
    inner = {
        "train.csv.zip": zipped({"train.csv": FILES["train.csv"], "__MACOSX/._train.csv": b"?"}),
        "train.zip": images,
    }
    files = inner | {"sampleSubmission.csv.zip": zipped({"sampleSubmission.csv": b"id,price\n7,0\n"})}
    site.serve(files)
    assert await fetch(site, tmp_path) == {
        "train.csv": FILES["train.csv"],
        "train.zip": images,
        "sampleSubmission.csv": b"id,price\n7,0\n",
        "sample_submission.csv": b"id,price\n7,0\n",
    }


@pytest.mark.integration
@pytest.mark.parametrize("seed", range(3))
def test_a_process_that_is_killed_again_and_again_gets_there_and_mixes_nothing(site, tmp_path, seed) -> None:
    rng = random.Random(seed)
    files = FILES | {f"more/{number}.bin": rng.randbytes(400_000) for number in range(8)}
    site.serve(files, zipped(files, zipfile.ZIP_STORED))
    site.server.pause = 0.02
    command = [sys.executable, "-m", "tests.scrapers.kaggle.data_site", site.server.url("v1"), str(tmp_path)]
    kills = 0
    while not (tmp_path / "data.json").exists():
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            for _ in range(rng.randint(1, 25) if kills < 25 else 1_000_000):
                if not process.stdout.readline():
                    break
            kills += process.poll() is None
            process.kill()
    starts = site.server.ranges
    print(f"{kills} kills, {len(starts)} downloads begun, {starts.count(0)} of them from the beginning")
    assert kills >= 1
    assert starts.count(0) <= 2, "what was there was gone on from"
    assert asyncio.run(fetch(site, tmp_path)) == files
