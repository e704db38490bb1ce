"""The table of methods: which part of the site answers which remote procedure call."""

from collections.abc import Callable, Mapping
from functools import partial

from bot.rehearsal.auth import introspect_token
from bot.rehearsal.site import Site
from bot.rehearsal.wire import Answer, Call

Method = Callable[[Call], Answer]

OPEN = frozenset({"security.OAuthService/IntrospectToken"})
"""What may be asked without credentials."""


def methods(site: Site) -> Mapping[str, Method]:
    """Return all methods of a site by `package.Service/Method`."""
    competing, submitting = site.competing, site.submitting
    services: dict[str, dict[str, Method]] = {
        "competitions.CompetitionApiService": {
            "ListCompetitions": competing.list_competitions,
            "GetCompetition": competing.get_competition,
            "ListCompetitionPages": competing.list_pages,
            "ListDataFiles": competing.list_files,
            "DownloadDataFiles": competing.download_files,
            "DownloadDataFile": competing.download_file,
            "GetLeaderboard": competing.get_leaderboard,
            "DownloadLeaderboard": competing.download_leaderboard,
            "StartSubmissionUpload": submitting.start_upload,
            "CreateSubmission": submitting.create,
            "ListSubmissions": submitting.list_submissions,
            "GetSubmission": submitting.get,
            "GetSubmissionLimits": submitting.limits,
            "ListCompetitionTopics": site.discussions.list_competition_topics,
            "ListTopicMessages": site.discussions.list_topic_messages,
        },
        "discussions.DiscussionApiService": {"GetTopic": site.discussions.get_topic},
        "kernels.KernelsApiService": {
            "ListKernels": site.notebooks.list_kernels,
            "GetKernel": site.notebooks.get_kernel,
            "GetKernelSessionStatus": site.sessions.status,
            "ListKernelSessionOutput": site.sessions.output,
        },
        "search.SearchApiService": {"ListEntities": site.search.list_entities},
        "security.OAuthService": {"IntrospectToken": partial(introspect_token, settings=site.settings)},
    }
    return {f"{service}/{name}": method for service, table in services.items() for name, method in table.items()}
