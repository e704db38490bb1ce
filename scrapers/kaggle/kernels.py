"""Kaggle's kernels: lists of those of a competition, and a version's source."""

from dataclasses import dataclass
from typing import Annotated, Any

from scrapers.kaggle.client import KaggleClient, Method
from scrapers.kaggle.wire import ApiResponse, Int, Items, Mixed, PageOfItems, Text, Time, Wire

_SERVICE = "kernels.KernelsApiService"
_PAGE_SIZE = 100


class Kernel(Wire):
    """A kernel as lists show it: its current version, without a score, a tier or a creation time."""

    id: Int = 0
    ref: Text = ""
    """owner/slug"""
    title: Text = ""
    author: Text = ""
    """The display name, not the user name."""
    last_run_time: Time = None
    """Of the current version."""
    language: Mixed = ""
    kernel_type: Mixed = ""
    is_private: bool | None = None
    dataset_data_sources: Annotated[tuple[str, ...], Items] = ()
    total_votes: Int = 0
    current_version_number: Int | None = None


class KernelPage(PageOfItems):
    """Up to a hundred kernels."""

    kernels: Annotated[tuple[Kernel, ...], Items] = ()


class KernelBlob(Wire):
    """A version's source: a notebook's JSON, or a script's text."""

    source: Text = ""
    language: Mixed = ""
    kernel_type: Mixed = ""


class KernelSource(ApiResponse):
    """One version of a kernel with its source."""

    metadata: Kernel | None = None
    blob: KernelBlob | None = None


class OutputFile(Wire):
    """A file written by a kernel's run, under a name that its author chose."""

    url: Text = ""
    """Signed, and good for a while."""
    file_name: Text = ""


class OutputPage(PageOfItems):
    """What a run has written."""

    files: Annotated[tuple[OutputFile, ...], Items] = ()
    log: Text = ""


@dataclass(frozen=True)
class Kernels:
    """Reads kernels; errors as of `KaggleClient`."""

    client: KaggleClient

    async def list_page(self, slug: str, page: int = 1, token: str = "") -> KernelPage:
        """Return a page of a competition's kernels, the last run first, by number (from 1) or, if one was given, by token."""
        body = {
            "competition": slug,
            "group": "EVERYONE",
            "sortBy": "DATE_RUN",
            "pageSize": _PAGE_SIZE,
            **({"pageToken": token} if token else {"page": page}),
        }
        return await self.client.call(Method(_SERVICE, "ListKernels", "kernels"), body, KernelPage, subject=slug)

    async def source(self, ref: str, version: int | None = None) -> KernelSource:
        """Return a version's source, the current one's without a number; NotFound is raised where there is none."""
        method = Method(_SERVICE, "GetKernel", "kernels")
        return await self.client.call(method, named_version(ref, version), KernelSource, subject=ref)

    async def outputs(self, ref: str, version: int | None = None, token: str = "") -> OutputPage:
        """Return a page of the files that a version's run has written, the current one's without a number."""
        body = named_version(ref, version) | {"pageSize": _PAGE_SIZE, **({"pageToken": token} if token else {})}
        # A family of its own: an answer that is too large (it holds what the run printed) must not keep lists from being read.
        method = Method(_SERVICE, "ListKernelSessionOutput", "outputs")
        return await self.client.call(method, body, OutputPage, subject=ref)


def named_version(ref: str, version: int | None) -> dict[str, Any]:
    """Return the fields by which requests name a version, or the current one without a number."""
    owner, _, slug = ref.partition("/")
    return {"userName": owner, "kernelSlug": slug, "versionLabel": None if version is None else f"v{version}"}
