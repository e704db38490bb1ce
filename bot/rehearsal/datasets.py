"""The user's data sets: made of uploaded files, and ready after a while."""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from bot.rehearsal.identity import wire_id
from bot.rehearsal.rendering import slugified
from bot.rehearsal.site import Site
from bot.rehearsal.wire import Answer, Call, Json, denied, listed, wire_time

_LENGTHS = range(6, 51)
"""Of titles and slugs."""


@dataclass(frozen=True)
class _Version:
    folder: Path
    at: datetime
    ready_at: datetime
    failed: bool

    def status(self, now: datetime) -> str:
        """Return how far the site has got with it."""
        if self.failed:
            return "FAILED" if now >= self.ready_at else "BLOBS_RECEIVED"
        steps = ("NOT_YET_PERSISTED", "BLOBS_RECEIVED")
        half = self.at + (self.ready_at - self.at) / 2
        return "READY" if now >= self.ready_at else steps[now >= half]


@dataclass(frozen=True)
class _DataSet:
    title: str
    private: bool
    license: str
    versions: list[_Version]


class DataSetMethods:
    """Answers about data sets; only the user's own exist here."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._sets: dict[str, _DataSet] = {}
        self._rng = random.Random(f"{site.settings.seed}/data sets")  # noqa: S311 - nothing secret

    def start_upload(self, call: Call) -> Answer:
        """StartBlobUpload: a token, and the address to PUT a file to."""
        upload, place = self._site.uploads.start(call.text("name"), call.number("contentLength") or 0, call.now)
        return {"token": upload.token, "createUrl": f"{call.base_url}/upload/{place}"}

    def create(self, call: Call) -> Answer:
        """CreateDataset: what is wrong comes as `error` with status 200, such as a title that is in use."""
        owner, slug, title = call.text("ownerSlug"), call.text("slug"), call.text("title")
        if owner and owner != self._site.settings.user_name:
            raise denied("datasets.create")
        ref = f"{self._site.settings.user_name}/{slug or slugified(title)}"
        error = None
        if len(title) not in _LENGTHS or len(ref.partition("/")[2]) not in _LENGTHS:
            error = "The title and the slug must be between 6 and 50 characters"
        elif ref in self._sets or any(one.title == title for one in self._sets.values()):
            error = f'The requested title "{title}" is already in use by a dataset. Please choose another title.'
        elif not call.many("files"):
            error = "At least one file must be specified"
        if error:
            return {"status": "error", "error": error}
        made = _DataSet(title, call.flag("isPrivate"), call.text("licenseName"), [])
        made.versions.append(self._version(call, call))
        self._sets[ref] = made
        return self._made(ref)

    def create_version(self, call: Call) -> Answer:
        """CreateDatasetVersion: the new files alone."""
        ref, found = self._named(call)
        body = call.inner("body")
        if not body.many("files"):
            return {"status": "error", "error": "At least one file must be specified"}
        version = self._version(body, call)
        if body.flag("deleteOldVersions"):
            found.versions.clear()
        found.versions.append(version)
        return self._made(ref)

    def status(self, call: Call) -> Answer:
        """GetDatasetStatus: of the newest version; 403 for what does not exist."""
        _, found = self._named(call)
        return {"status": found.versions[-1].status(call.now)}

    def get(self, call: Call) -> Answer:
        """GetDataset: a data set's facts."""
        ref, found = self._named(call)
        return self._shown(ref, found)

    def list(self, call: Call) -> Answer:
        """ListDatasets: the user's own, the last changed first; nobody else's are here."""
        group = str(call.body.get("group") or "").rpartition("GROUP_")[2]
        mine = group.startswith("MY") or call.text("user") == self._site.settings.user_name
        found = sorted(self._sets.items(), key=lambda one: one[1].versions[-1].at, reverse=True) if mine else []
        page, token = call.page([self._shown(*one) for one in found])
        return listed("datasets", page, token)

    def delete(self, call: Call) -> Answer:
        """DeleteDataset: with all its versions; runs that have begun keep it."""
        ref, _ = self._named(call)
        del self._sets[ref]
        return {}

    def folder(self, ref: str, now: datetime) -> Path | None:
        """Return the files of a data set's newest version that is ready; None: there is none."""
        found = self._sets.get(ref)
        ready = [one for one in found.versions if one.status(now) == "READY"] if found else []
        return ready[-1].folder if ready else None

    def _version(self, files: Call, call: Call) -> _Version:
        """Return a version of the files that a request names, with the request's time."""
        uploads = [self._site.uploads.finished(str(one.get("token")), call.now) for one in _objects(files, "files")]
        folder = self._site.storage.folder / f"data-set-{self._rng.getrandbits(64):016x}"
        folder.mkdir()
        folder.chmod(0o755)
        for upload in uploads:
            (folder / upload.file_name).write_bytes(upload.content)
            (folder / upload.file_name).chmod(0o644)
        ready = call.now + timedelta(seconds=self._rng.uniform(*self._site.settings.dataset_seconds))
        failed = self._site.faults.since("datasets-fail", call.now) is not None
        return _Version(folder, call.now, ready, failed)

    def _named(self, call: Call) -> tuple[str, _DataSet]:
        ref = f"{call.text('ownerSlug')}/{call.text('datasetSlug')}"
        if ref not in self._sets:
            raise denied("datasets.get")
        return ref, self._sets[ref]

    def _made(self, ref: str) -> Json:
        return {"ref": ref, "url": f"https://www.kaggle.com/datasets/{ref}", "status": "ok"}

    def _shown(self, ref: str, found: _DataSet) -> Json:
        size = sum(path.stat().st_size for path in found.versions[-1].folder.iterdir())
        return {
            "id": wire_id("dataset", ref),
            "ref": ref,
            "title": found.title,
            "url": f"https://www.kaggle.com/datasets/{ref}",
            "ownerRef": ref.partition("/")[0],
            "ownerName": self._site.settings.display_name,
            "isPrivate": found.private,
            "licenseName": found.license,
            "totalBytes": size,
            "lastUpdated": wire_time(found.versions[-1].at),
            "currentVersionNumber": len(found.versions),
        }


def _objects(call: Call, name: str) -> list[Mapping[str, Any]]:
    return [one for one in call.many(name) if isinstance(one, dict)]
