"""A competition's data: fetched once as one zip, checked, unpacked as a snapshot's `data/`, never mixed with another's."""

import asyncio
import fcntl
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from scrapers.http.download import SPARE_BYTES, Download, Pin, pin_of
from scrapers.kaggle.client import KaggleClient
from scrapers.kaggle.competitions import Competitions
from scrapers.kaggle.samples import SAMPLE, find_samples
from scrapers.snapshots.fields import UtcTime
from scrapers.snapshots.files import DATA
from scrapers.snapshots.unpacking import ZipExtractor, members_of
from state.closed_model import ClosedModel
from state.errors import DataChanged, DownloadFailed, NoRoom, SiteUnavailable, UnknownAnswer, UsageError
from state.files import write_whole


class DataRecord(ClosedModel):
    """Written when all data is there, and so the sign of completeness."""

    competition: str
    fetched_at: UtcTime
    archive_bytes: int
    archive_sha256: str
    files: dict[str, tuple[int, str]]
    """Size in bytes and SHA-256 of each downloaded file, by path relative to the folder."""
    sample: str | None = None
    """The file of which the sample submission is a copy; None: there is none, or it had the standard name."""

    def damaged(self, folder: Path) -> str | None:
        """Return a file whose size has changed since it was fetched; None if there is none."""
        for name, (size, _) in self.files.items():
            try:
                if (folder / name).lstat().st_size != size:
                    return name
            except OSError:
                return name
        return None


def read_record(path: Path) -> DataRecord | None:
    """Read a record; None if there is no readable one."""
    try:
        return DataRecord.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return None


_MOST_LISTED = 2_000
"""Most files of the list that are read: every 200 of them are a request."""
_LIMIT = 3


@dataclass(frozen=True)
class DownloadProgress:
    """The progress of fetching data."""

    competition: str
    activity: Literal["downloading", "unpacking"]
    bytes: int
    """So far."""
    total: int | None

    def __str__(self) -> str:
        total = f" of {self.total / 1e6:,.1f} MB ({100 * self.bytes // max(1, self.total)}%)" if self.total else " MB"
        return f"{self.competition}: {self.activity} data, {self.bytes / 1e6:,.1f}{total}"


@dataclass
class CompetitionData:
    """The data of one competition in a folder of its own.

    `data/` is what agents may read, `data.json` beside it the record that it is complete. Work in progress is beside
    them: `.data.zip.part` (see `Download`), then `data.zip`, then `unpacking/`.
    """

    client: KaggleClient
    slug: str
    folder: Path
    sample: str | None = None
    """The sample submission by the owner's choice; None: it is recognized by its name."""
    progress: Callable[[DownloadProgress], None] = lambda progress: None
    """May be called from another thread."""
    warn: Callable[[str], None] = lambda sentence: None
    """Receives what the site's list says otherwise than the zip, which decides: the list is known to be incomplete."""
    spare: int = SPARE_BYTES
    """Bytes that must stay free on the disk."""

    def __post_init__(self) -> None:
        self._record = self.folder / "data.json"
        self._zip = self.folder / "data.zip"
        self._unpacking = self.folder / "unpacking"
        self._competitions = Competitions(self.client)

    @property
    def data(self) -> Path:
        """The folder with the files."""
        return self.folder / DATA

    @property
    def is_begun(self) -> bool:
        """Whether all or some of it is here."""
        return any(path.exists() for path in (self._record, self._zip, self._zip.with_name(f".{self._zip.name}.part")))

    async def fetch(self) -> Path:
        """Return the folder with the files, read-only; missing data is fetched, present data never again.

        The sample submission is there as `sample_submission.csv`, as a copy if the hosts use another name; it is missing
        if that is uncertain (see `find_samples`). The call may be cancelled or killed at any point; a later one continues.

        Raises:
            DownloadFailed: it could not be fetched, is not as expected, or does not fit on the disk.
            DataChanged: it has changed here since it was fetched.
            UsageError: the sample submission that the owner names does not exist.
            Also, if nothing is here yet, the errors of `KaggleClient`.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with self._locked():
                record = read_record(self._record)
                if record is None:
                    record = await self._fetch()
                elif damaged := await asyncio.to_thread(record.damaged, self.data):
                    raise DataChanged(
                        f"{self.data / damaged} has changed since the download: move {self.folder} elsewhere to download it again"
                    )
                self._zip.unlink(missing_ok=True)
                self._place_sample(record)
        except OSError as error:
            raise DownloadFailed(
                f"the data of {self.slug} cannot be written to {self.folder}: {error.strerror or error}"
            ) from error
        return self.data

    async def _fetch(self) -> DataRecord:
        self._clear_partial()
        sizes = await self._listed_sizes()
        pin = await self._download(sizes)
        try:
            self._compare(sizes)
            files = await self._unpack()
        except NoRoom:
            raise  # the zip is kept until there is
        except DownloadFailed:
            self._zip.unlink()  # it would fail again
            raise
        self._unpacking.rename(self.data)
        record = DataRecord(
            competition=self.slug,
            fetched_at=self.client.clock.now(),
            archive_bytes=pin.bytes,
            archive_sha256=pin.sha256,
            files={name: (file.bytes, file.sha256) for name, file in files.items()},
        )
        write_whole(self._record, record.model_dump_json(indent=1))
        return record

    async def _listed_sizes(self) -> dict[str, int]:
        """Return the sizes in bytes that the site lists, by name; empty if it lists nothing now."""
        sizes: dict[str, int] = {}
        try:
            async for file in self._competitions.files(self.slug):
                sizes[file.name or file.ref] = file.total_bytes
                if len(sizes) == _MOST_LISTED:
                    break
        except (SiteUnavailable, UnknownAnswer) as error:
            self.warn(f"cannot read Kaggle's file list: {error}")
        return sizes

    def _clear_partial(self) -> None:
        """Remove what an earlier attempt left half done, but for the zip and its part: a download continues there."""
        if self.data.exists() and not self._zip.exists():
            raise DataChanged(
                f"the files in {self.data} are of unknown origin: move them elsewhere to download the data of {self.slug}"
            )
        for folder in (self._unpacking, self.data):  # without a record neither is known to be whole
            if folder.exists():
                shutil.rmtree(folder)

    async def _download(self, sizes: dict[str, int]) -> Pin:
        if self._zip.exists():
            return await asyncio.to_thread(pin_of, self._zip)

        def progress(received: int, total: int | None) -> None:
            self.progress(DownloadProgress(self.slug, "downloading", received, total))

        name, address = f"the data of {self.slug}", partial(self._competitions.data_address, self.slug)
        spare, sleep = self.spare + sum(sizes.values()), self.client.clock.sleep
        return await Download(name, address, self._zip, self.client.stream, None, progress, spare, sleep).run()

    def _compare(self, sizes: dict[str, int]) -> None:
        """Warn of files that the site lists otherwise than the zip holds them. Raises DownloadFailed if it is not a zip."""
        members = members_of(self._zip)
        by_last_part: dict[str, list[str]] = {}
        for name in members:
            by_last_part.setdefault(name.rsplit("/", 1)[-1], []).append(name)
        differences = []
        for name, size in sorted(sizes.items()):
            places = by_last_part.get(name, [])
            place = name if name in members else (places[0] if len(places) == 1 else None)
            if place is None:
                differences.append(f"{name} is in the list but not in the zip")
            elif members[place] != size:
                differences.append(f"{name} has {size:,} bytes in the list but {members[place]:,} in the zip")
        if differences:
            and_more = f"; and {len(differences) - _LIMIT} more" if len(differences) > _LIMIT else ""
            self.warn(f"the data zip differs from Kaggle's file list: {'; '.join(differences[:_LIMIT])}{and_more}")

    async def _unpack(self) -> dict[str, Pin]:
        stop = threading.Event()

        def progress(unpacked_bytes: int, total: int) -> None:
            self.progress(DownloadProgress(self.slug, "unpacking", unpacked_bytes, total))

        self._unpacking.mkdir()
        work = ZipExtractor(
            f"the data zip of {self.slug}", self._zip, self._unpacking, progress, stop.is_set, self.spare
        )
        task = asyncio.create_task(asyncio.to_thread(work.run))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            stop.set()
            await asyncio.wait([task])  # it looks after every piece, and holds the folder until then
            task.exception()
            raise

    def _place_sample(self, record: DataRecord) -> None:
        if SAMPLE in record.files and self.sample in (None, SAMPLE):
            return
        if self.sample is not None and self.sample not in record.files:
            raise UsageError(f"the sample submission {self.sample!r} in bot.toml is not in the data of {self.slug}")
        samples = (self.sample,) if self.sample else find_samples(record.files)
        if len(samples) != 1 or (record.sample == samples[0] and (self.data / SAMPLE).exists()):
            return
        if SAMPLE in record.files:
            raise UsageError(
                f"bot.toml names {self.sample!r} as the sample submission of {self.slug}, but its data already has a {SAMPLE}"
            )
        part = self.folder / ".sample.part"
        shutil.copyfile(self.data / samples[0], part)
        part.chmod(0o444)
        part.replace(self.data / SAMPLE)
        write_whole(self._record, record.model_copy(update={"sample": samples[0]}).model_dump_json(indent=1))

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (self.folder / ".lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DownloadFailed(f"the data of {self.slug} is being downloaded by another process") from None
            yield
