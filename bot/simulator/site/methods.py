"""The table of methods: the function that answers each remote procedure call."""

from collections.abc import Callable, Mapping
from functools import partial

from bot.simulator.site.auth import introspect_token
from bot.simulator.site.competition_methods import CompetitionMethods
from bot.simulator.site.datasets import DataSetMethods
from bot.simulator.site.forum_methods import ForumMethods
from bot.simulator.site.kernel_methods import KernelMethods
from bot.simulator.site.kernel_runs import KernelRuns
from bot.simulator.site.search import SimulatedSearch
from bot.simulator.site.site import Site
from bot.simulator.site.submission_methods import SubmissionMethods
from bot.simulator.site.wire import Answer, Call

Method = Callable[[Call], Answer]

OPEN = frozenset({"security.OAuthService/IntrospectToken"})
"""What may be asked without credentials."""


def methods(site: Site) -> Mapping[str, Method]:
    """Return all methods of a site by `package.Service/Method`."""
    competing, submitting, discussions, notebooks = (
        CompetitionMethods(site),
        SubmissionMethods(site),
        ForumMethods(site),
        KernelMethods(site),
    )
    data_sets = DataSetMethods(site)
    sessions = KernelRuns(site, notebooks, submitting, data_sets)
    services: dict[str, dict[str, Method]] = {
        "competitions.CompetitionApiService": {
            "ListCompetitions": competing.list_competitions,
            "GetCompetition": competing.get_competition,
            "ListCompetitionPages": competing.list_pages,
            "ListDataFiles": competing.list_files,
            "GetCompetitionDataFilesSummary": competing.summarise_files,
            "DownloadDataFiles": competing.download_files,
            "DownloadDataFile": competing.download_file,
            "GetLeaderboard": competing.get_leaderboard,
            "DownloadLeaderboard": competing.download_leaderboard,
            "StartSubmissionUpload": submitting.start_upload,
            "CreateSubmission": submitting.create,
            "CreateCodeSubmission": sessions.create_code_submission,
            "ListSubmissions": submitting.list_submissions,
            "GetSubmission": submitting.get,
            "GetSubmissionLimits": submitting.limits,
            "ListCompetitionTopics": discussions.list_competition_topics,
            "ListTopicMessages": discussions.list_topic_messages,
        },
        "discussions.DiscussionApiService": {
            "GetTopic": discussions.get_topic,
            "ListComments": discussions.list_comments,
        },
        "kernels.KernelsApiService": {
            "ListKernels": notebooks.list_kernels,
            "GetKernel": notebooks.get_kernel,
            "GetKernelSessionStatus": sessions.status,
            "ListKernelSessionOutput": sessions.output,
            "SaveKernel": sessions.save_kernel,
            "CancelKernelSession": sessions.cancel,
            "GetAcceleratorQuotaStatistics": sessions.accelerator_quota,
        },
        "blobs.BlobApiService": {"StartBlobUpload": data_sets.start_upload},
        "datasets.DatasetApiService": {
            "CreateDataset": data_sets.create,
            "GetDatasetStatus": data_sets.status,
            "ListDatasets": data_sets.list,
            "DeleteDataset": data_sets.delete,
        },
        "search.SearchApiService": {"ListEntities": SimulatedSearch(site).list_entities},
        "security.OAuthService": {"IntrospectToken": partial(introspect_token, settings=site.settings)},
    }
    return {f"{service}/{name}": method for service, table in services.items() for name, method in table.items()}
