"""The user's data sets: made of uploaded files, and ready after a while."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from bot.simulator.site.identity import wire_id
from bot.simulator.site.rendering import slugified
from bot.simulator.site.site import Site
from bot.simulator.site.wire import Answer, Call, Json, denied, list_answer, wire_time

_ADDRESS = "https://www.kaggle.com/datasets/"
_LENGTHS = range(6, 51)
"""Of titles and slugs."""


@dataclass(frozen=True)
class _DataSet:
    title: str
    private: bool
    license: str
    folder: Path
    created_at: datetime
    ready_at: datetime
    failed: bool

    def status(self, now: datetime) -> str:
        """Return how far the site has got with it."""
        if self.failed:
            return "FAILED" if now >= self.ready_at else "BLOBS_RECEIVED"
        steps = ("NOT_YET_PERSISTED", "BLOBS_RECEIVED")
        half = self.created_at + (self.ready_at - self.created_at) / 2
        return "READY" if now >= self.ready_at else steps[now >= half]


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
        elif ref in self._sets or any(s.title == title for s in self._sets.values()):
            error = f'The requested title "{title}" is already in use by a dataset. Please choose another title.'
        elif not call.list_of("files"):
            error = "At least one file must be specified"
        if error:
            return {"status": "error", "error": error}
        folder = self._store([str(f.get("token")) for f in call.list_of("files") if isinstance(f, dict)], call.now)
        self._sets[ref] = _DataSet(
            title=title,
            private=call.flag("isPrivate"),
            license=call.text("licenseName"),
            folder=folder,
            created_at=call.now,
            ready_at=call.now + timedelta(seconds=self._rng.uniform(*self._site.settings.dataset_seconds)),
            failed=self._site.faults.since("datasets-fail", call.now) is not None,
        )
        return {"ref": ref, "url": f"{_ADDRESS}{ref}", "status": "ok"}

    def status(self, call: Call) -> Answer:
        """GetDatasetStatus: 403 for what does not exist."""
        return {"status": self._sets[self._requested(call)].status(call.now)}

    def list(self, call: Call) -> Answer:
        """ListDatasets: the user's own, the last changed first; nobody else's are here."""
        group = str(call.body.get("group") or "").rpartition("GROUP_")[2]
        is_mine = group.startswith("MY") or call.text("user") == self._site.settings.user_name
        sets = sorted(self._sets.items(), key=lambda item: item[1].created_at, reverse=True) if is_mine else []
        page, token = call.page([self._as_json(*item) for item in sets])
        return list_answer("datasets", page, token)

    def delete(self, call: Call) -> Answer:
        """DeleteDataset: runs that have begun keep it."""
        del self._sets[self._requested(call)]
        return {}

    def folder(self, ref: str, now: datetime) -> Path | None:
        """Return the files of a data set that is ready; None: there is none."""
        data_set = self._sets.get(ref)
        return data_set.folder if data_set and data_set.status(now) == "READY" else None

    def _store(self, tokens: Sequence[str], now: datetime) -> Path:
        uploads = [self._site.uploads.finished(token, now) for token in tokens]
        folder = self._site.storage.folder / f"data-set-{self._rng.getrandbits(64):016x}"
        folder.mkdir()
        folder.chmod(0o755)
        for upload in uploads:
            (folder / upload.file_name).write_bytes(upload.content)
            (folder / upload.file_name).chmod(0o644)
        return folder

    def _requested(self, call: Call) -> str:
        ref = f"{call.text('ownerSlug')}/{call.text('datasetSlug')}"
        if ref not in self._sets:
            raise denied("datasets.get")
        return ref

    def _as_json(self, ref: str, data_set: _DataSet) -> Json:
        return {
            "id": wire_id("dataset", ref),
            "ref": ref,
            "title": data_set.title,
            "url": f"{_ADDRESS}{ref}",
            "ownerRef": ref.partition("/")[0],
            "ownerName": self._site.settings.display_name,
            "isPrivate": data_set.private,
            "licenseName": data_set.license,
            "totalBytes": sum(path.stat().st_size for path in data_set.folder.iterdir()),
            "lastUpdated": wire_time(data_set.created_at),
            "currentVersionNumber": 1,
        }
