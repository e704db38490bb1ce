"""Services that Apprise can send to (Slack, mail and many more), each in its own thread and with a time limit."""

import asyncio
import logging
import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import Context, ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from bot.notify.settings import NotifySection
from bot.notify.wording import neutral
from state.errors import NotificationFailed, UsageError
from state.tables import Letter

if TYPE_CHECKING:
    from apprise import NotifyBase

_LONGEST = 4_096
"""Characters of an address."""
_SHARE = 0.4
"""Share of an attempt's time for connecting and for each answer, so that a silent service is noticed before it is over."""
_URLLIB3 = ("urllib3.connection", "urllib3.connectionpool", "urllib3.util.retry")
_LOGGERS = ("apprise", *_URLLIB3, "requests", "charset_normalizer")
"""Loggers that would write an address, or its path, into a log at some level."""
_warned: ContextVar[list[str] | None] = ContextVar("warned", default=None)


def open_services(
    settings: NotifySection, environment: Mapping[str, str] | None = None
) -> "dict[str, AppriseNotifier]":
    """Return the configured services by name. Raises UsageError: an address is missing, or Apprise cannot use it."""
    return {
        name: AppriseNotifier(name, find_address(name, environment), seconds=settings.seconds)
        for name in settings.services
    }


def find_address(name: str, environment: Mapping[str, str] | None = None) -> SecretStr:
    """Return the address that is kept under a name: systemd's credential, else the variable, else the file in NAME_FILE.

    Raises UsageError: there is none, or it is not an address; the message never quotes it.
    """
    variables = os.environ if environment is None else environment
    for text, source in _places(variables, name):
        text = text.strip()
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\x00-\x1f\x7f]+", text) or len(text) > _LONGEST:
            raise UsageError(f"{source} must contain one address, such as slack://TOKEN/TOKEN/TOKEN or mailtos://…")
        return SecretStr(text)
    raise UsageError(
        f"[notify] services lists {name}, but no systemd credential or environment variable has that name, "
        f"and {name}_FILE is not set"
    )


def _places(variables: Mapping[str, str], name: str) -> Iterator[tuple[str, str]]:
    if folder := variables.get("CREDENTIALS_DIRECTORY"):
        for file in (name, name.lower()):
            if text := _read(Path(folder) / file, f"the systemd credential {file}"):
                yield text, f"the systemd credential {file}"
    if text := variables.get(name, "").strip():
        yield text, f"the variable {name}"
    if path := variables.get(f"{name}_FILE", "").strip():
        if not Path(path).is_file():
            raise UsageError(f"{name}_FILE names a file that does not exist")
        yield _read(Path(path), f"the file named by {name}_FILE"), f"the file named by {name}_FILE"


def _read(path: Path, source: str) -> str:
    """Return a file's text, empty if there is no file."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{source} cannot be read ({type(error).__name__})") from None


class AppriseNotifier:
    """Sends to one service; its address never appears in any text it returns, logs or raises."""

    def __init__(self, name: str, address: SecretStr, *, seconds: float = 60.0) -> None:
        """Check the address; nothing is sent.

        The address is as Apprise writes it, or a Slack web hook; `seconds` is the longest time of one attempt.

        Raises:
            UsageError: Apprise cannot use the address.
        """
        self.name = name
        self._address = address
        self._seconds = seconds
        self._thread: threading.Thread | None = None
        self.service = str(self._plugin().service_name)
        """What it is, such as Slack or E-Mail."""

    async def send(self, letter: Letter) -> None:
        """Send one letter. Raises NotificationFailed: it may not have arrived; it is sent again later."""
        if self._thread is not None and self._thread.is_alive():
            raise NotificationFailed("an earlier attempt timed out and is still running")
        try:
            async with asyncio.timeout(self._seconds):
                error = await self._in_a_thread(letter)
        except TimeoutError:
            raise NotificationFailed(f"no answer within {self._seconds:g} s") from None
        if error is not None:
            raise NotificationFailed(error)

    async def _in_a_thread(self, letter: Letter) -> str | None:
        """Send it in a thread, where blocking does no harm; returns what went wrong, or None.

        It is a daemon thread, which an exit does not wait for: a service may hold it for longer than anybody waits.
        """
        loop = asyncio.get_running_loop()
        result: asyncio.Future[str | None] = loop.create_future()

        def finish(outcome: str | None) -> None:
            if not result.done():
                result.set_result(outcome)

        def work() -> None:
            outcome: str | None = "Apprise failed"
            try:
                outcome = self._send(letter)
            finally:
                # The loop may be over long before the service lets go.
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(finish, outcome)

        # A context of its own: what it silences is silenced nowhere else.
        self._thread = threading.Thread(target=Context().run, args=(work,), name=f"notify-{self.name}", daemon=True)
        self._thread.start()
        return await result

    def _send(self, letter: Letter) -> str | None:
        from apprise import Apprise, NotifyFormat, NotifyType, OverflowMode

        plugin = self._plugin()
        # Otherwise Apprise would wait for 4 s, whatever is configured.
        plugin.socket_connect_timeout = plugin.socket_read_timeout = self._seconds * _SHARE
        # Otherwise a message that is too long for the service would be refused every time.
        plugin.overflow_mode = OverflowMode.SPLIT
        with silenced() as warned:
            apprise = Apprise(asset=plugin.asset)
            apprise.add(plugin)
            is_sent = apprise.notify(
                title=letter.title,
                body=f"{letter.body}\n\n[{letter.kind}{neutral(letter.key.removeprefix(letter.kind))}]",
                notify_type=NotifyType.WARNING if letter.urgent else NotifyType.INFO,
                body_format=NotifyFormat.TEXT,
            )
        if is_sent:
            return None
        # Apprise's words may hold parts of an address: of them only a status is used.
        text = " ".join(warned)
        if status_match := re.search(r"\berror=([1-5]\d\d)\b", text):
            return f"the service answered {status_match[1]}"
        if "onnection error" in text:
            return "the service could not be reached, or closed the connection"
        return "the service rejected the message"

    def _plugin(self) -> "NotifyBase":
        """Make a new plugin: one that is used again keeps state of its last attempt, and delays the next."""
        from apprise import Apprise, AppriseAsset

        # Without a time limit of its own, Apprise stays in this thread.
        asset = AppriseAsset(
            app_id="Kaggle bot",
            app_desc="Kaggle bot",
            app_url="",
            image_url_mask="",
            image_url_logo="",
            async_mode=False,
            service_timeout=0,
        )
        with silenced():
            plugin = Apprise.instantiate(self._address.get_secret_value(), asset=asset)
        if plugin is None:
            raise UsageError(
                f"{self.name} contains an address that Apprise cannot use: see appriseit.com for the format of each service"
            )
        return plugin


@contextmanager
def silenced() -> Iterator[list[str]]:
    """Keep the loggers silent in this context, and yield the list of their warnings.

    The warnings may hold secrets: look up a status in them, never show them.
    """
    for name in _LOGGERS:
        # Adding a filter a second time does nothing.
        logging.getLogger(name).addFilter(_FILTER)
    caught_warnings: list[str] = []
    token = _warned.set(caught_warnings)
    try:
        yield caught_warnings
    finally:
        _warned.reset(token)


class _Filter(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        """Let nothing through that is logged inside `silenced`."""
        warned = _warned.get()
        if warned is None:
            return True
        if record.levelno >= logging.WARNING:
            warned.append(record.getMessage())
        return False


_FILTER = _Filter()
