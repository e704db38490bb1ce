"""Private data sets of this user: files that notebooks of ours find on Kaggle."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

from scrapers.kaggle.client import AnswerT, KaggleClient, Method
from scrapers.kaggle.paging import all_pages
from scrapers.kaggle.submissions import UploadTarget
from scrapers.kaggle.wire import ApiResponse, Items, PageOfItems, Text, Wire, lenient_enum
from state.errors import NotEntered, NotFound

_SERVICE = "datasets.DatasetApiService"
_LICENSE = "other"
"""No open licence: they are private, and made of a competition's data."""


class DataSetStatus(Enum):
    """How far Kaggle has got with a data set's newest version; the numbers are Kaggle's."""

    UNKNOWN = -1
    NOT_YET_PERSISTED = 0
    BLOBS_RECEIVED = 1
    BLOBS_DECOMPRESSED = 2
    BLOBS_COPIED_TO_SDS = 3
    INDIVIDUAL_BLOBS_COMPRESSED = 4
    READY = 5
    FAILED = 6
    DELETED = 7
    REPROCESSING = 8

    @property
    def failed(self) -> bool:
        """Whether it will never be ready."""
        return self in (DataSetStatus.FAILED, DataSetStatus.DELETED)


class StatusOfDataSet(ApiResponse):
    """The status of a data set."""

    status: Annotated[DataSetStatus, lenient_enum(DataSetStatus)] = DataSetStatus.NOT_YET_PERSISTED


class DataSetVersion(ApiResponse):
    """Kaggle's answer to a data set, or to a new version of one: it is being made, and its status says when it is there."""

    ref: Text = ""
    """owner/slug"""
    url: Text = ""
    status: Text = ""


class DataSet(Wire):
    """A data set as lists show it."""

    ref: Text = ""
    is_private: bool = False


class OwnDataSets(PageOfItems):
    """A page of data sets."""

    datasets: Annotated[tuple[DataSet, ...], Items] = ()


class _EmptyResponse(ApiResponse):
    """An answer that says nothing unless it is an error."""


@dataclass(frozen=True)
class DataSets:
    """This user's data sets; errors as of `KaggleClient`.

    What changes something is tried once: after SiteUnavailable it may have been done, and is looked up by its status. Files
    lie side by side, as these calls know no folders; Kaggle unpacks archives, such as a `.zip`.
    """

    client: KaggleClient

    async def status(self, ref: str) -> DataSetStatus | None:
        """Return the status of a data set, `owner/slug`; None: there is none, or it is another user's."""
        try:
            return (await self._call("GetDatasetStatus", _by_ref(ref), StatusOfDataSet, ref)).status
        except (NotEntered, NotFound):  # Kaggle's "permission denied" is also its answer for what does not exist
            return None

    async def create(self, ref: str, title: str, files: Mapping[str, Path]) -> DataSetVersion:
        """Upload files, and make a private data set `owner/slug` of them.

        The slug (6 to 50 lower-case letters, digits and dashes) is made of the title; KaggleError is raised for one that
        is in use.
        """
        owner, slug = ref.split("/")
        body = {
            "ownerSlug": owner,
            "slug": slug,
            "title": title,
            "licenseName": _LICENSE,
            "isPrivate": True,
            "files": await self._uploaded(files),
        }
        return await self._call("CreateDataset", body, DataSetVersion, ref, reads=False)

    def own_data_sets(self) -> AsyncIterator[DataSet]:
        """Yield this user's data sets, private ones too."""

        async def ask(place: dict[str, Any]) -> OwnDataSets:
            body = {"group": "DATASET_SELECTION_GROUP_MY", "sortBy": "DATASET_SORT_BY_UPDATED", **place}
            return await self._call("ListDatasets", body, OwnDataSets, "")

        return all_pages(ask, lambda page: page.datasets, lambda dataset: dataset.ref)

    async def remove(self, ref: str) -> None:
        """Remove a data set with all its versions."""
        await self._call("DeleteDataset", _by_ref(ref), _EmptyResponse, ref, reads=False)

    async def _uploaded(self, files: Mapping[str, Path]) -> list[dict[str, str]]:
        """Upload files, and return what names them in a data set; Kaggle forgets those that no data set is made of."""
        tokens = []
        for name, path in files.items():
            facts = path.stat()
            body = {
                "type": "DATASET",
                "name": name,
                "contentLength": facts.st_size,
                "lastModifiedEpochSeconds": int(facts.st_mtime),
            }
            method = Method("blobs.BlobApiService", "StartBlobUpload", "datasets")
            blob = await self.client.call(method, body, UploadTarget, subject=name)
            await self.client.upload(blob.create_url, path)
            tokens.append({"token": blob.token})
        return tokens

    async def _call(
        self, name: str, body: Mapping[str, Any], answer: type[AnswerT], subject: str, *, reads: bool = True
    ) -> AnswerT:
        method = Method(_SERVICE, name, "datasets", reads, gives_reason=not reads)
        return await self.client.call(method, body, answer, subject=subject)


def _by_ref(ref: str) -> dict[str, str]:
    owner, _, slug = ref.partition("/")
    return {"ownerSlug": owner, "datasetSlug": slug}
