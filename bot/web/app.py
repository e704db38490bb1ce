"""The page's addresses: pages, the streams of their changes, files of runs, and what the owner does."""

import asyncio
import re
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from markupsafe import escape
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route

from bot.report import templates as report_templates
from bot.web.form_actions import FormActions
from bot.web.guard import Keys, html, is_same, read_form, refuse
from bot.web.rendering import Page, Part, document
from bot.web.sources import Version
from bot.web.views import Place, Views
from state.errors import BotError, UsageError

MAX_PAGES = 64
"""Pages that are kept."""
SHOW_CACHED_SECONDS = 60.0
"""Seconds for which a page is shown as it was last read; its stream brings it up to date within a second."""
REREAD_SECONDS = 15.0
"""Seconds after which a page is read again even if nothing was written: it says how long ago things were."""


@dataclass
class _CachedPage:
    lock: threading.Lock = field(default_factory=threading.Lock)
    page: Page | None = None
    version: Version = ()
    read_at: float = -SHOW_CACHED_SECONDS
    """By the process's clock."""


class PageCache:
    """Keeps pages by address; of several threads that want the same page only one reads it."""

    def __init__(self) -> None:
        self._pages: dict[str, _CachedPage] = {}
        self._lock = threading.Lock()

    def last(self, address: str, read: Callable[[], Page], version: Callable[[], Version]) -> Page:
        """Return a page as it was a moment ago, or as it is now if nobody has looked at it for a while."""
        cached = self._cached(address)
        if cached.page is not None and time.monotonic() - cached.read_at < SHOW_CACHED_SECONDS:
            return cached.page
        return self.now(address, read, version)

    def now(self, address: str, read: Callable[[], Page], version: Callable[[], Version]) -> Page:
        """Return a page as it is now; an unchanged one is not read again."""
        cached, current_version = self._cached(address), version()
        with cached.lock:
            is_old = time.monotonic() - cached.read_at >= REREAD_SECONDS
            if cached.page is None or cached.version != current_version or is_old:
                cached.page, cached.version, cached.read_at = read(), current_version, time.monotonic()
            return cached.page

    def clear(self) -> None:
        """Forget all pages, so that the owner sees the effect of a form at once."""
        with self._lock:
            self._pages.clear()

    def _cached(self, address: str) -> _CachedPage:
        with self._lock:
            cached = self._pages[address] = self._pages.pop(address, _CachedPage())
            while len(self._pages) > MAX_PAGES:
                del self._pages[next(iter(self._pages))]
        return cached


PAUSE = 0.2
"""Seconds between two checks whether something was written."""
PAUSE_FACTOR = 2.0
"""Between two readings of a page, as a multiple of the processor's time that one took: looking costs a third of a core."""
MOST_STREAMS = 24
"""Open pages; browsers that ask for more are asked to come back."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_HEARTBEAT = b": \n\n"
_STATIC = Path(__file__).parent / "static"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_AN_HOUR = {"Cache-Control": "private, max-age=3600"}
_FILES = {"report.html": "text/html", "submission.csv": "text/csv"}
_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; "
# A report is no page of this origin: nothing in it, whoever wrote it, could act as one.
_REPORT_POLICY += "sandbox allow-downloads allow-popups allow-popups-to-escape-sandbox"

PageReader = tuple[Callable[[], Page], Callable[[], Version]]
"""What reads a page, and its version, which differs once something that it shows was written."""


class Application:
    """Answers what the guard lets pass."""

    def __init__(self, views: Views, actions: FormActions, keys: Keys) -> None:
        self._views, self._actions, self._keys = views, actions, keys
        self._streams, self._cache = 0, PageCache()
        routes = [Route("/static/{name}", self._static), Route("/act/{name}", self._act, methods=["POST"])]
        routes.append(Route("/run/{name}/file/{file}", self._file))
        pages: dict[str, Callable[[Request], PageReader]] = {
            "/": lambda _: (views.home, views.version),
            "/system": lambda _: (views.system, views.version),
        }
        page_views: tuple[tuple[Place, Callable[[str], Page]], ...]
        page_views = (("competition", views.competition), ("run", views.run))
        for place, view in page_views:
            version = partial(views.version, place)
            pages[f"/{place}/{{name}}"] = partial(_view_of_name, view, version)
            pages[f"/{place}/{{name}}/node/{{id:int}}"] = partial(_view_of_name, partial(views.node, place), version)
            pages[f"/{place}/{{name}}/lab/{{id:int}}"] = partial(_view_of_name, partial(views.lab, place), version)
        for path, find in pages.items():
            routes.append(Route(path, partial(self._page, find)))
            routes.append(Route(f"/stream{path}", partial(self._stream, find)))
        handlers = dict.fromkeys((HTTPException, BotError, Exception), _failed)
        self.starlette = Starlette(routes=routes, exception_handlers=handlers)

    async def _page(self, find: Callable[[Request], PageReader], request: Request) -> Response:
        address = request.url.path
        page = await run_in_threadpool(self._cache.last, address, *find(request))
        return html(document(page, f"/stream{address}"))

    async def _stream(self, find: Callable[[Request], PageReader], request: Request) -> Response:
        if self._streams >= MOST_STREAMS:
            return refuse(503, "Too many pages are open.")
        read, version = find(request)
        read_page = partial(self._cache.now, request.url.path.removeprefix("/stream"), read, version)
        return StreamingResponse(self._events(read_page, version), media_type="text/event-stream")

    async def _events(self, read: Callable[[], Page], version: Callable[[], Version]) -> AsyncIterator[bytes]:
        self._streams += 1
        try:
            async for event in changes(read, version):
                yield event
        finally:
            self._streams -= 1

    async def _static(self, request: Request) -> Response:
        name = Path(request.path_params["name"])
        file = _STATIC / name.name
        if name.suffix not in _TYPES or not file.is_file():
            raise HTTPException(404)
        text = file.read_text(encoding="utf-8")
        if name.suffix == ".css":
            # The colours, the tree and the tables are those of the reports.
            text = report_templates.style() + text
        return Response(text, media_type=_TYPES[name.suffix], headers=_AN_HOUR)

    async def _file(self, request: Request) -> Response:
        folder = await run_in_threadpool(self._views.sources.run, request.path_params["name"])
        name = request.path_params["file"]
        if name not in _FILES or not (folder.path / name).is_file():
            raise HTTPException(404)
        return FileResponse(
            folder.path / name, media_type=_FILES[name], headers={"Content-Security-Policy": _REPORT_POLICY}
        )

    async def _act(self, request: Request) -> Response:
        form = await read_form(request)
        if form is None:
            return refuse(413, "Bad request: the form is not from this page, is too large, or was sent too slowly.")
        if not is_same(form.get("csrf", ""), self._keys.csrf):
            return refuse(403, "This form has expired: reload the page.")
        try:
            await run_in_threadpool(self._actions.act, request.path_params["name"], form)
        except UsageError as error:
            return refuse(400, str(error), _back(form))
        self._cache.clear()
        return RedirectResponse(_back(form), status_code=303)


def _view_of_name(read: Callable[..., Page], version: Callable[[str], Version], request: Request) -> PageReader:
    """Return what reads the page of a name, or of the name and a number."""
    return partial(read, *request.path_params.values()), partial(version, request.path_params["name"])


def _back(form: Mapping[str, str]) -> str:
    """Return the page that a form was on; never an address elsewhere."""
    back = form.get("back", "/")
    return back if back.startswith("/competition/") and "\\" not in back else "/"


async def _failed(request: Request, error: Exception) -> Response:
    if isinstance(error, HTTPException):
        sentence = "Method not allowed" if error.status_code == 405 else "No such page"
        return refuse(error.status_code, f"{sentence}: {request.url.path}", "/")
    if isinstance(error, BotError):
        return refuse(404 if isinstance(error, UsageError) else 503, str(error), "/")
    # The page's log holds the traceback.
    return refuse(500, f"Internal error: {type(error).__name__}. The bot itself is not affected.", "/")


async def changes(read: Callable[[], Page], version: Callable[[], Version]) -> AsyncIterator[bytes]:
    """Yield the events of a page: first all parts, then those that change; a comment where none does.

    Both the page and its version, which differs once something was written, are read in a thread.
    """
    sent_digests: dict[str, str] = {}
    while True:
        last_version, parts, read_seconds = await asyncio.to_thread(_read_parts, read, version)
        changed = [part for part in parts if sent_digests.get(part.id) != part.digest]
        sent_digests |= {part.id: part.digest for part in changed}
        yield event(changed) if changed else _HEARTBEAT
        await asyncio.sleep(PAUSE_FACTOR * read_seconds)
        for _ in range(round(REREAD_SECONDS / PAUSE)):
            if await asyncio.to_thread(_version, version) != last_version:
                break
            await asyncio.sleep(PAUSE)


def _read_parts(read: Callable[[], Page], version: Callable[[], Version]) -> tuple[Version | None, list[Part], float]:
    """Return a page's version, its parts and its state (if it cannot be read now, only why), and the seconds it took."""
    version_read, started_at = _version(version), time.thread_time()
    try:
        parts = [*read().parts, Part("state", "connected")]
    except BotError as error:
        parts = [Part("state", str(escape(f"cannot be read: {error}")))]
    return version_read, parts, time.thread_time() - started_at


def _version(version: Callable[[], Version]) -> Version | None:
    try:
        return version()
    except BotError:
        return None


def event(parts: Sequence[Part]) -> bytes:
    """Return one event that puts parts in their places."""
    # Every line of a text becomes a line of data, whichever way it ends: no text can begin a field of its own.
    markup = "\n".join(
        f'<hx-partial hx-target="#{part.id}" hx-swap="innerMorph">{part.markup}</hx-partial>' for part in parts
    )
    return "".join(f"data: {line}\n" for line in _LINE_END.split(markup)).encode(errors="replace") + b"\n"
