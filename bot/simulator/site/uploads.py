"""Uploads: a token and an address for each file, and the bytes that arrive there."""

import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.simulator.site.wire import ApiError

LINK_LIFE = timedelta(days=7)
"""By the site's clock, for which an address to upload to or to download from is valid."""
_MAX_BYTES = 1 << 30
"""Of one file."""


@dataclass
class PendingUpload:
    """One upload: what was announced, and what has arrived."""

    token: str
    """Names the whole file in CreateSubmission."""
    file_name: str
    length: int
    expires: datetime
    content: bytearray = field(default_factory=bytearray)

    @property
    def complete(self) -> bool:
        """Whether all that was announced has arrived."""
        return len(self.content) == self.length

    def add(self, chunk: bytes) -> None:
        """Add bytes that have arrived. Raises ApiError: more bytes than were announced."""
        if len(self.content) + len(chunk) > self.length:
            raise ApiError(400, "More bytes than announced")
        self.content += chunk


class Uploads:
    """All uploads of the site; one that nobody finishes expires."""

    def __init__(self) -> None:
        self._by_place: dict[str, PendingUpload] = {}
        self._by_token: dict[str, PendingUpload] = {}

    def start(self, file_name: str, length: int, now: datetime) -> tuple[PendingUpload, str]:
        """Announce a file; return its upload, and the last part of the address to PUT it to."""
        if not file_name or "/" in file_name or "\\" in file_name or "\0" in file_name or file_name in (".", ".."):
            raise ApiError(400, "Invalid file name")
        if not 0 <= length <= _MAX_BYTES:
            raise ApiError(400, f"Invalid content length; the maximum is {_MAX_BYTES} bytes")
        upload = PendingUpload(secrets.token_urlsafe(48), file_name, length, now + LINK_LIFE)
        place = secrets.token_urlsafe(24)
        self._by_place[place] = self._by_token[upload.token] = upload
        return upload, place

    def find(self, place: str, now: datetime) -> PendingUpload | None:
        """Return the upload at an address; None if there is none, or it has expired."""
        upload = self._by_place.get(place)
        return upload if upload is not None and now < upload.expires else None

    def finished(self, token: str, now: datetime) -> PendingUpload:
        """Return the upload that a token names; refused unless it is complete."""
        upload = self._by_token.get(token)
        if upload is None or now >= upload.expires:
            raise ApiError(400, "Invalid upload token")
        if not upload.complete:
            raise ApiError(400, "The upload has not been completed")
        return upload
