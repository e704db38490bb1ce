"""The ASGI application: one handler for all remote procedure calls, and one for uploads and downloads; and pages to look on."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from email.utils import format_datetime
from functools import partial
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import Message, Receive, Scope, Send

from bot.simulator.site.auth import authenticate, introspect_token, unauthenticated
from bot.simulator.site.board import score_text
from bot.simulator.site.competition import SimulatedCompetition
from bot.simulator.site.competition_methods import CompetitionMethods
from bot.simulator.site.competition_pages import metric_words
from bot.simulator.site.datasets import DataSetMethods
from bot.simulator.site.faulty_answers import Act, faulty_answer
from bot.simulator.site.forum_methods import ForumMethods
from bot.simulator.site.kernel_methods import KernelMethods
from bot.simulator.site.kernel_runs import KernelRuns
from bot.simulator.site.rendering import rendered, share_of
from bot.simulator.site.search import SimulatedSearch
from bot.simulator.site.site import Site
from bot.simulator.site.submission_methods import SubmissionMethods
from bot.simulator.site.wire import Answer, ApiError, Binary, Call, Redirect, error_body, finished
from state.clock import FastClock

Method = Callable[[Call], Answer]

OPEN = frozenset({"security.OAuthService/IntrospectToken"})
"""What may be asked without credentials."""


def methods(site: Site) -> Mapping[str, Method]:
    """Return all methods of a site by `package.Service/Method`."""
    competing, submitting, discussions = CompetitionMethods(site), SubmissionMethods(site), ForumMethods(site)
    notebooks, data_sets = KernelMethods(site), DataSetMethods(site)
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


_TOP = 20
"""Teams and submissions that a page shows."""
# Titles and tags come from elsewhere: the browser neither runs anything nor asks the network.
_PAGE = """<!doctype html>
<meta charset="utf-8"><meta http-equiv="refresh" content="2"><link rel="icon" href="data:,">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; base-uri 'none'; form-action 'none'">
<title>Rehearsal</title>
"""
_RPC = re.compile(r"/(?:api/)?v1/([A-Za-z.]+/[A-Za-z]+)")
_ABSOLUTE = re.compile(r"https?://[^/]*")
_LARGEST_BODY = 32 << 20


class App:
    """Answers requests to the site; also those with an absolute target, as a proxy's client sends them."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._methods = methods(site)
        self._refusals = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; every answer carries the site's own time."""
        if scope["type"] != "http":
            return
        now = self._site.clock.now()
        request = Request({**scope, "path": _ABSOLUTE.sub("", scope["path"], count=1) or "/"}, receive)
        try:
            response = await self._respond(request, now)
        except ApiError as error:
            response = self._refusal(error)
        except ClientDisconnect:
            return
        await response(request.scope, receive, _stamped(send, now))

    async def _respond(self, request: Request, now: datetime) -> Response:
        page = self._own_page(request.scope["path"], now) if request.method == "GET" else None
        if page is not None:
            return page
        routed = self._routed(request, now)
        if routed is None:
            return HTMLResponse("<!doctype html><title>Kaggle</title><h1>404</h1>", 404)
        method, act = routed
        self._site.requests[method] += 1
        fault = self._site.faults.draw(method, now)
        if fault is None:
            return await act()
        turn = self._site.requests[method]
        return await faulty_answer(fault, act, request, self._site.faults, now, turn)

    def _own_page(self, path: str, now: datetime) -> Response | None:
        """Return a page of the stand-in's own: it needs no credentials, is not counted and has no faults."""
        clock = self._site.clock
        if path == "/":
            return HTMLResponse(index_page(self._site, now))
        if path == "/clock" and isinstance(clock, FastClock):
            return JSONResponse({"start": clock.start.isoformat(), "speed": clock.speed, "began": clock.began})
        slug, _, page = path.removeprefix("/competitions/").partition("/")
        competition = next((c for c in self._site.competitions if c.slug == slug), None)
        if competition is None or not path.startswith("/competitions/"):
            return None
        text = competition.pages.content.get(page.rpartition("/")[2])
        return HTMLResponse(competition_page(competition, now) if text is None else _PAGE + rendered(text))

    def _routed(self, request: Request, now: datetime) -> tuple[str, Act] | None:
        """Return a request's method, by the name that counts and faults use, and the function that carries it out."""
        path, method = request.scope["path"], request.method
        call = _RPC.fullmatch(path)
        if call and method == "POST":
            return call[1].rpartition("/")[2], partial(self._call, call[1], request, now)
        if path.startswith("/upload/") and method == "PUT":
            return "PUT upload", partial(self._upload, path.removeprefix("/upload/"), request, now)
        if path.startswith("/storage/") and method in ("GET", "HEAD"):
            return "GET storage", partial(self._download, path.removeprefix("/storage/"), request, now)
        return None

    async def _call(self, name: str, request: Request, now: datetime) -> Response:
        if self._site.faults.since("token-expired", now):
            self._site.faults.note(name.rpartition("/")[2], "token-expired", now)
            raise unauthenticated()
        authorization = request.headers.get("authorization")
        if authorization is not None or name not in OPEN:
            authenticate(authorization, self._site.settings)
        method = self._methods.get(name)
        if method is None:
            raise ApiError(404, "Not found")
        answer = method(Call(await _body(request), now, _base_url(request)))
        if isinstance(answer, Redirect) and self._site.settings.downloads == "address":
            return JSONResponse({"url": answer.url})
        if isinstance(answer, Redirect):
            return RedirectResponse(answer.url, 302)
        if isinstance(answer, Binary):
            return Response(answer.content, media_type=answer.media_type, headers=dict(answer.headers))
        return JSONResponse(finished(answer, unknown_fields=self._site.settings.unknown_fields))

    async def _upload(self, place: str, request: Request, now: datetime) -> Response:
        upload = self._site.uploads.find(place, now)
        if upload is None:
            return PlainTextResponse("Not found", 404)
        part = request.headers.get("content-range", "")
        if not part:
            upload.content.clear()
        if not part or part.startswith(f"bytes {len(upload.content)}-"):
            async for chunk in request.stream():
                upload.add(chunk)
        if upload.complete:
            return PlainTextResponse("", 200)
        if not part:
            raise ApiError(400, "Fewer bytes than announced")
        arrived = {"range": f"bytes=0-{len(upload.content) - 1}"} if upload.content else {}
        return PlainTextResponse("", 308, arrived)

    async def _download(self, place: str, request: Request, now: datetime) -> Response:
        signature = request.query_params.get("X-Goog-Signature", "")
        path, headers = await run_in_threadpool(self._site.storage.open, place, signature, now)
        return FileResponse(path, headers=headers, media_type="application/octet-stream")

    def _refusal(self, error: ApiError) -> Response:
        """Return a refusal in one of Kaggle's two shapes, as configured or drawn by seed."""
        self._refusals += 1
        shape = self._site.settings.error_shape
        is_nested = share_of(self._site.settings.seed, "shape", self._refusals) < 0.5
        nested = error.status == 401 or shape == "nested" or (shape == "mixed" and is_nested)
        return JSONResponse(error_body(error, nested=nested), error.status)


async def _body(request: Request) -> dict[str, Any]:
    content = bytearray()
    async for chunk in request.stream():
        content += chunk
        if len(content) > _LARGEST_BODY:
            raise ApiError(400, "Request payload is too large")
    try:
        body = json.loads(content or b"{}")
    except ValueError as error:
        raise ApiError(400, "Invalid JSON payload received") from error
    if not isinstance(body, dict):
        raise ApiError(400, "Invalid JSON payload received")
    return body


def _base_url(request: Request) -> str:
    """Return the site's own address: where it listens, whatever name the client uses."""
    host, port = request.scope.get("server") or ("127.0.0.1", None)
    return f"http://{host}" + (f":{port}" if port else "")


def _stamped(send: Send, now: datetime) -> Send:
    async def stamped(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["date"] = format_datetime(now, usegmt=True)
            headers["x-kaggle-apiversion"] = "2.2.4"  # a newer version makes the package warn on stdout
        await send(message)

    return stamped


def index_page(site: Site, now: datetime) -> str:
    """Return the page of all competitions as HTML."""
    lines = [f"- [{c.card.title}](/competitions/{c.slug}): {_state(c, now)}" for c in site.competitions]
    counts = f"{sum(site.requests.values())} requests, {len(site.faults.injected)} faults injected"
    return _PAGE + rendered("\n".join([f"# {now:%Y-%m-%d %H:%M} UTC", "", counts, "", *lines]))


def competition_page(competition: SimulatedCompetition, now: datetime) -> str:
    """Return the page of one competition as HTML; private scores are shown once it is over."""
    card, over = competition.card, competition.over(now)
    teams = competition.standings(now, private=over)
    places = [
        (
            rank,
            f"**{team.name}**" if team.id == competition.team_id else team.name,
            team.private if over else team.public,
        )
        for rank, team in enumerate(teams, 1)
        if rank <= _TOP or team.id == competition.team_id
    ]
    rows = [
        (f"{s.submitted_at:%m-%d %H:%M}", s.tag, s.status, score_text(s.public_score), s.error or "")
        for s in reversed(competition.desk.all(now)[-_TOP:])
    ]
    return _PAGE + rendered(
        f"# {card.title}\n\n{now:%Y-%m-%d %H:%M} UTC, {_state(competition, now)}\n\n"
        f"{metric_words(card)}, {'lower' if card.lower_is_better else 'higher'} is better\n\n"
        f"## {'Private' if over else 'Public'} leaderboard, {len(teams)} teams\n\n"
        f"{_table(('Rank', 'Team', 'Score'), ((rank, name, score_text(score)) for rank, name, score in places))}\n\n"
        f"## Submissions\n\n{_table(('Submitted at', 'Description', 'Status', 'Public score', 'Error'), rows)}\n\n"
        f"{competition.pages.content['rules']}"
    )


def _state(competition: SimulatedCompetition, now: datetime) -> str:
    end_words = f"{'ended' if competition.over(now) else 'ends'} {competition.deadline(now):%Y-%m-%d %H:%M}"
    return f"{end_words}, {len(competition.desk.all(now))} submissions"


def _table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    lines = [header, ("---" for _ in header), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', '&#124;') for cell in line)} |" for line in lines)
