"""The methods that list and show kernels."""

from collections.abc import Callable
from datetime import datetime

from bot.rehearsal.identity import wire_id
from bot.rehearsal.kernels import Kernels, Version
from bot.rehearsal.wire import Answer, Call, Json, Refused, denied, listed, wire_time


class Notebooks:
    """Answers about kernels; of each only the current version is listed, older ones are found by `vN`.

    Kernels come as the bot asks for them, the last run first, whatever order or filter a request names.
    """

    def __init__(self, kernels: Kernels, check: Callable[[str], object]) -> None:
        """Make the answers.

        Args:
            kernels: all of the site.
            check: raises the 403 for a competition that is not the site's.
        """
        self._kernels = kernels
        self._check = check

    def list_kernels(self, call: Call) -> Answer:
        """ListKernels: of a competition or of all, the last run first, at most 100 a page."""
        competition = call.text("competition")
        if competition:
            self._check(competition)
        found = [version for version in reversed(self._kernels.current(call.now)) if competition in ("", version.home)]
        page, token = call.page(found)
        return listed("kernels", [self.metadata(version, call.now) for version in page], token)

    def get_kernel(self, call: Call) -> Answer:
        """GetKernel: metadata and source of the current version, or of `versionLabel`, which is `vN`."""
        version = self.find(call)
        blob = {
            "source": version.source or None,
            "language": version.language,
            "kernelType": version.kernel_type,
            "slug": version.slug,
        }
        return {"metadata": self.metadata(version, call.now), "blob": blob}

    def find(self, call: Call) -> Version:
        """Return the version that a request names: 403 for a kernel, 404 for a version that is not there."""
        ref = f"{call.text('userName')}/{call.text('kernelSlug')}"
        versions = self._kernels.versions(ref, call.now)
        if not versions:
            raise denied("kernels.get")
        label = call.text("versionLabel")
        if not label:
            return versions[-1]
        named = next((version for version in versions if f"v{version.number}" == label), None)
        if named is None:
            raise Refused(404, "Not found")
        return named

    def metadata(self, version: Version, now: datetime) -> Json:
        """Return the metadata of a version."""
        return {
            "id": wire_id("kernel", version.ref),
            "ref": version.ref,
            "title": version.title,
            "author": version.author,
            "slug": version.slug,
            "lastRunTime": wire_time(version.at),
            "language": version.language,
            "kernelType": version.kernel_type,
            "isPrivate": False,
            "enableGpu": False,
            "enableInternet": False,
            "datasetDataSources": list(version.dataset_sources),
            "competitionDataSources": [version.home],
            "totalVotes": self._kernels.votes(version, now),
            "currentVersionNumber": version.number,
        }
