"""Extraction of an untrusted zip: nothing leaves its folder, nothing exceeds its declared size, checksums are verified."""

import errno
import hashlib
import shutil
import stat
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from scrapers.http.download import SPARE_BYTES, Pin
from scrapers.snapshots.archives import BROKEN, excess, is_archive, is_litter
from scrapers.snapshots.files import escapes
from scrapers.snapshots.tables import is_table
from state.errors import DownloadFailed, NoRoom

_CHUNK = 1 << 20
_MOST_MEMBERS = 3_000_000
_DEEPEST = 40
"""Folders within one another."""
_MAX_NAMES = 3
_OF_NAMES = (None, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.EILSEQ)
"""File system errors caused by names in a zip: two names that coincide here, a file that is also a folder."""


@dataclass
class ZipExtractor:
    """Unpacks one zip into an empty folder; call `run` in a thread; it ends soon after `stopped` returns True."""

    name: str
    """The zip's name in errors."""
    archive: Path
    folder: Path
    progress: Callable[[int, int], None] = lambda count, total: None
    """Receives the number of bytes unpacked so far, and the total."""
    stopped: Callable[[], bool] = lambda: False
    spare: int = SPARE_BYTES
    """Bytes that must stay free on the disk."""
    files: dict[str, Pin] = field(default_factory=dict, init=False)
    """The unpacked files, by path relative to the folder."""
    _unpacked_bytes: int = field(default=0, init=False)
    _total_bytes: int = field(default=0, init=False)

    def run(self) -> dict[str, Pin]:
        """Unpack all members, read-only, and return their identities.

        A zip within the zip stays as it is, unless it holds nothing but one table: then the table replaces it.

        Raises:
            DownloadFailed: a member is damaged, encrypted, not a plain file, outside of the folder or a duplicate; or they
                are too many or too large. Files unpacked so far are of no use.
            NoRoom: they, or the table of an inner zip, do not fit on the disk.
            OSError: it cannot be written.
        """
        try:
            with zipfile.ZipFile(self.archive) as archive:
                members = self._checked(archive)
                self._total_bytes = sum(member.file_size for member in members)
                self._ask_for_room(self._total_bytes)
                for member in members:
                    self._member(archive, member, PurePosixPath(member.filename))
        except BROKEN as error:
            if isinstance(error, OSError) and error.errno not in _OF_NAMES:
                raise  # the disk's failure, not the zip's
            raise DownloadFailed(f"{self.name} cannot be unpacked: {error}") from error
        for inner in [path for path in self.files if is_archive(Path(path))]:
            self._replace_by_table(inner)
        return self.files

    def _checked(self, archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
        members = archive.infolist()
        if len(members) > _MOST_MEMBERS:
            raise DownloadFailed(f"{self.name} has {len(members):,} members; at most {_MOST_MEMBERS:,} are allowed")
        if too_large := excess(members, self.archive.stat().st_size):
            raise DownloadFailed(f"{self.name} {too_large}")
        if wrong := list(_wrong(members)):
            extra = f", and {len(wrong) - _MAX_NAMES:,} more" if len(wrong) > _MAX_NAMES else ""
            raise DownloadFailed(f"{self.name} contains {', '.join(wrong[:_MAX_NAMES])}{extra}: nothing was unpacked")
        return [member for member in members if not is_litter(member.filename)]

    def _ask_for_room(self, size: int) -> None:
        free = shutil.disk_usage(self.folder).free
        if size + self.spare > free:
            raise NoRoom(
                f"{self.name} unpacks to {size:,} bytes and {self.spare:,} must stay free, but {self.folder.parent} has "
                f"only {free:,} free"
            )

    def _member(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: PurePosixPath) -> None:
        target = self.folder / path
        if member.is_dir():
            target.mkdir(parents=True, exist_ok=True)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        digest, size = hashlib.sha256(), 0
        # "x": if the file system treats two names as one, the second must not replace the first.
        with archive.open(member) as source, target.open("xb") as file:
            while chunk := source.read(_CHUNK):
                if self.stopped():
                    raise DownloadFailed(f"{self.name} was not fully unpacked: the download was cancelled")
                size += len(chunk)
                digest.update(chunk)
                file.write(chunk)
                self._unpacked_bytes += len(chunk)
                self.progress(self._unpacked_bytes, self._total_bytes)
        if size != member.file_size:
            raise DownloadFailed(f"{self.name}: {path} has {size:,} bytes, not the declared {member.file_size:,}")
        target.chmod(0o444)
        self.files[str(path)] = Pin(size, digest.hexdigest())

    def _replace_by_table(self, inner: str) -> None:
        path = self.folder / inner
        try:
            with zipfile.ZipFile(path) as archive:
                members = [
                    member for member in archive.infolist() if not member.is_dir() and not is_litter(member.filename)
                ]
                names = [PurePosixPath(member.filename).name for member in members]
                if (
                    len(members) != 1
                    or not is_table(names[0])
                    or names[0].lower().endswith(".gz")
                    or list(_wrong(members))
                    or excess(members, path.stat().st_size)
                ):
                    return
                place = PurePosixPath(inner).parent / names[0]
                if str(place) in self.files:
                    return
                self._ask_for_room(members[0].file_size)
                self._member(archive, members[0], place)
        except BROKEN as error:
            if isinstance(error, OSError) and error.errno not in _OF_NAMES:
                raise
            return  # its reader will report the fault
        path.unlink()
        del self.files[inner]


def members_of(archive: Path) -> dict[str, int]:
    """Return the sizes in bytes of a zip's files, by name. Raises DownloadFailed if it is not a zip."""
    try:
        with zipfile.ZipFile(archive) as zip_file:
            return {member.filename: member.file_size for member in zip_file.infolist() if not member.is_dir()}
    except BROKEN as error:
        raise DownloadFailed(f"{archive.name} is not a readable zip: {error}") from error


def _wrong(members: Sequence[zipfile.ZipInfo]) -> Iterator[str]:
    paths: set[str] = set()
    for member in members:
        name, mode = member.filename, member.external_attr >> 16
        path = PurePosixPath(name)
        if escapes(name) or "\\" in name or (name[1:2] == ":" and name[0].isalpha()):
            yield f"{name[:200]!r}, which points outside its folder"
        elif any(ord(character) < 32 or ord(character) == 127 for character in name):
            yield f"{name[:200]!r}, which has control characters in its name"
        elif len(path.parts) > _DEEPEST:
            yield f"{name[:200]!r}, which is nested too deeply"
        elif stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
            yield f"{name[:200]!r}, which is not a regular file"
        elif str(path) in paths:
            yield f"{name[:200]!r} twice"
        paths.add(str(path))
