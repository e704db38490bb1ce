"""The methods that list and show kernels."""

from datetime import datetime

from bot.simulator.site.forum_methods import heat
from bot.simulator.site.identity import wire_id
from bot.simulator.site.kernels import Version
from bot.simulator.site.site import Site
from bot.simulator.site.wire import Answer, ApiError, Call, Json, denied, list_answer, wire_time

_ORDERS = (
    *("HOTNESS", "COMMENT_COUNT", "DATE_CREATED", "DATE_RUN", "RELEVANCE"),
    *("SCORE_ASCENDING", "SCORE_DESCENDING", "VIEW_COUNT", "VOTE_COUNT"),
)


class KernelMethods:
    """Answers about kernels; only the current version of each is listed, older ones are found by `vN`."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._kernels = site.kernels
        self._settings = site.settings

    def list_kernels(self, call: Call) -> Answer:
        """ListKernels: filters, the latest run or the most votes or what is hot first, at most 100 a page."""
        competition = call.text("competition")
        if competition:
            self._site.competition(competition)
        order = call.enum("sortBy", "", _ORDERS)
        matching = [version for version in self._kernels.current(call.now) if self._wanted(version, call)]
        page, token = call.page(self._sorted(matching, order, call.now))
        return list_answer("kernels", [self.metadata(version, call.now) for version in page], token)

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
        """Return the version that a request names; 403 for an unknown kernel, 404 for an unknown version."""
        ref = f"{call.text('userName')}/{call.text('kernelSlug')}"
        versions = [v for v in self._kernels.versions(ref, call.now) if self._readable(v)]
        if not versions:
            raise denied("kernels.get")
        label = call.text("versionLabel")
        if not label:
            return versions[-1]
        labelled = next((version for version in versions if f"v{version.number}" == label), None)
        if labelled is None:
            raise ApiError(404, "Not found")
        return labelled

    def metadata(self, version: Version, now: datetime) -> Json:
        """Return the metadata of a version."""
        return {
            "id": wire_id("kernel", version.ref),
            "ref": version.ref,
            "title": version.title,
            "author": version.author,
            "slug": version.slug,
            "lastRunTime": wire_time(version.run_at),
            "language": version.language,
            "kernelType": version.kernel_type,
            "isPrivate": version.private,
            "enableGpu": version.gpu,
            "enableInternet": version.internet,
            "datasetDataSources": list(version.dataset_sources),
            "kernelDataSources": list(version.kernel_sources),
            "competitionDataSources": list(version.competition_sources),
            "modelDataSources": list(version.model_sources),
            "totalVotes": self._kernels.votes(version, now),
            "currentVersionNumber": version.number,
            "dockerImage": version.image,
            "machineShape": version.machine,
        }

    def _readable(self, version: Version) -> bool:
        return not version.private or version.owner == self._settings.user_name

    def _wanted(self, version: Version, call: Call) -> bool:
        user, search = call.text("user"), call.text("search").lower()
        own_only = call.body.get("group") in ("PROFILE", 1)
        competition = call.text("competition")
        return (
            self._readable(version)
            and (not own_only or version.owner == self._settings.user_name)
            and (not user or version.owner == user)
            and (not competition or competition.rsplit("/", 1)[-1] in version.competition_sources)
            and call.text("language") in ("", "all", version.language)
            and call.text("kernelType") in ("", "all", version.kernel_type)
            and call.text("outputType") in ("", "all", "data")
            and (not search or search in version.title.lower())
        )

    def _sorted(self, versions: list[Version], order: str, now: datetime) -> list[Version]:
        """Sort kernels; `versions` is ordered by run time, and ties go to the newest."""
        newest = list(reversed(versions))
        if order == "DATE_RUN":
            return newest
        if order == "VOTE_COUNT":
            return sorted(newest, key=lambda v: self._kernels.votes(v, now), reverse=True)
        return sorted(newest, key=lambda v: heat(self._kernels.votes(v, now), v.run_at, now), reverse=True)
