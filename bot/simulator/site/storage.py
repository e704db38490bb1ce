"""Files to download by signed address: competitions' data, one by one or as one zip, and outputs of kernels."""

import hashlib
import secrets
import shutil
import tempfile
import threading
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from functools import cached_property
from pathlib import Path
from urllib.parse import quote

from bot.simulator.site.uploads import LINK_LIFE
from bot.simulator.site.wire import ApiError
from scrapers.snapshots.files import walk


@dataclass(frozen=True)
class SimulatedDataFiles:
    """The files of one competition."""

    slug: str
    folder: Path
    """The snapshot's `data/`."""
    made_at: datetime
    """`Last-Modified` of all files."""

    @cached_property
    def sizes(self) -> dict[str, int]:
        """Size in bytes by the path below the folder, in order."""
        files = {path.relative_to(self.folder).as_posix(): path for path in walk(self.folder) if path.is_file()}
        return {name: files[name].stat().st_size for name in sorted(files)}


class Storage:
    """The files behind signed addresses: only competitions' `data/` and what was added."""

    def __init__(self, data: Sequence[SimulatedDataFiles]) -> None:
        """Prepare the storage; nothing is written before it is asked for."""
        self._data = {d.slug: d for d in data}
        self._links: dict[str, tuple[str, datetime]] = {}
        """The place that each signature is for, and until when it is valid."""
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._added: dict[str, tuple[Path, datetime]] = {}
        self._making, self._zipping = threading.Lock(), threading.Lock()  # apart, as zipping takes long

    def close(self) -> None:
        """Remove what was written."""
        if self._scratch is not None:
            self._scratch.cleanup()

    @property
    def folder(self) -> Path:
        """Where files are written, which is made when it is first asked for."""
        with self._making:
            if self._scratch is None:
                self._scratch = tempfile.TemporaryDirectory(prefix="rehearsal-")
        return Path(self._scratch.name)

    def link(self, place: str, base_url: str, now: datetime) -> str:
        """Return the signed address of a place: `archive/<slug>.zip`, `data/<slug>/<file>`, or one that was added."""
        signature = secrets.token_hex(32)
        self._links[signature] = place, now + LINK_LIFE
        return f"{base_url}/storage/{quote(place)}?X-Goog-Signature={signature}"

    def add(self, place: str, content: bytes, made_at: datetime) -> None:
        """Store a file at a place outside of `data/` and `archive/`."""
        path = self._scratched(place)
        path.write_bytes(content)
        self._added[place] = path, made_at

    def open(self, place: str, signature: str, now: datetime) -> tuple[Path, dict[str, str]]:
        """Return the file at a signed address, and its headers; the zip of all data is made at the first request.

        Raises ApiError: 403 for a bad signature or an expired address, 404 if there is no such file.
        """
        signed, expires = self._links.get(signature, ("", now))
        if signed != place or now > expires:
            raise ApiError(403, "The signature does not match, or the URL has expired")
        file = self._find(place)
        if file is None:
            raise ApiError(404, "Not found")
        path, made_at = file
        size = path.stat().st_size
        etag = hashlib.sha256(f"{place}/{size}".encode()).hexdigest()[:32]
        return path, {"etag": f'"{etag}"', "last-modified": format_datetime(made_at, usegmt=True)}

    def _find(self, place: str) -> tuple[Path, datetime] | None:
        area, _, path_in_area = place.partition("/")
        if area == "archive":
            zipped = self._data.get(path_in_area.removesuffix(".zip"))
            return (self._zip(zipped), zipped.made_at) if zipped and path_in_area.endswith(".zip") else None
        if area == "data":
            slug, _, name = path_in_area.partition("/")
            data = self._data.get(slug)
            return (data.folder / name, data.made_at) if data and name in data.sizes else None
        return self._added.get(place)

    def _scratched(self, place: str) -> Path:
        return self.folder / hashlib.sha256(place.encode()).hexdigest()

    def _zip(self, data: SimulatedDataFiles) -> Path:
        with self._zipping:
            path = self._scratched(f"archive/{data.slug}.zip")
            if not path.exists():
                scratch = path.with_suffix(".part")
                with zipfile.ZipFile(scratch, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                    for name in data.sizes:
                        entry = zipfile.ZipInfo(name, data.made_at.timetuple()[:6])
                        entry.compress_type = zipfile.ZIP_DEFLATED
                        with (data.folder / name).open("rb") as source, archive.open(entry, "w") as target:
                            shutil.copyfileobj(source, target)
                scratch.replace(path)
            return path
