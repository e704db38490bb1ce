"""Services that Apprise can send to (Slack, mail and many more), each in its own thread and with a time limit."""

import asyncio
import logging
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import Context, ContextVar
from typing import TYPE_CHECKING

from pydantic import SecretStr

from bot.notify import Notice, Receipt
from bot.notify.addresses import find_address, masked
from bot.notify.settings import NotifySection
from bot.notify.wording import escaped
from state.errors import NotificationFailed, UsageError

if TYPE_CHECKING:
    from apprise import NotifyBase

_SHARE = 0.4
"""Share of an attempt's time for connecting and for each answer, so that a silent service is noticed before it is over."""
_LOGGERS = (
    "apprise",
    "urllib3.connection",
    "urllib3.connectionpool",
    "urllib3.util.retry",
    "requests",
    "charset_normalizer",
)
"""Loggers that would write an address, or its path, into a log at some level."""
_warned: ContextVar[list[str] | None] = ContextVar("warned", default=None)


def open_services(
    settings: NotifySection, environment: Mapping[str, str] | None = None
) -> "dict[str, AppriseNotifier]":
    """Return the configured services by name.

    Raises:
        UsageError: an address is missing, or Apprise cannot use it.
    """
    return {
        name: AppriseNotifier(name, find_address(name, environment), seconds=settings.seconds)
        for name in settings.services
    }


class AppriseNotifier:
    """Sends to one service; its address never appears in any text it returns, logs or raises."""

    def __init__(self, name: str, address: SecretStr, *, seconds: float = 60.0) -> None:
        """Check the address; nothing is sent.

        Args:
            name: under which the address is kept.
            address: as Apprise writes it, or a Slack web hook as Slack gives it.
            seconds: longest time of one attempt.

        Raises:
            UsageError: Apprise cannot use the address.
        """
        self.name = name
        self._address = address
        self._seconds = seconds
        self._thread: threading.Thread | None = None
        plugin = self._plugin()
        self.shown = masked(address, plugin.url(privacy=True))  # type: ignore[no-untyped-call]
        """The address with its secrets masked."""

    def __repr__(self) -> str:
        """Show the masked address only."""
        return f"AppriseNotifier({self.name}, {self.shown})"

    async def send(self, event: Notice) -> Receipt:
        """Send one notice.

        Raises:
            NotificationFailed: it may not have arrived; it is sent again later.
        """
        if self._thread is not None and self._thread.is_alive():
            raise NotificationFailed("an earlier attempt, which did not end in time, still goes on")
        try:
            async with asyncio.timeout(self._seconds):
                outcome = await self._in_a_thread(event)
        except TimeoutError:
            raise NotificationFailed(f"no answer within {self._seconds:g} s") from None
        if outcome is not None:
            raise NotificationFailed(outcome)
        return Receipt()

    async def _in_a_thread(self, event: Notice) -> str | None:
        """Send it in a thread, where blocking does no harm; returns what went wrong, or None.

        It is a daemon thread, which an exit does not wait for: a service may hold it for longer than anybody waits.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[str | None] = loop.create_future()

        def finish(outcome: str | None) -> None:
            if not done.done():
                done.set_result(outcome)

        def work() -> None:
            outcome: str | None = "Apprise failed"
            try:
                outcome = self._send(event)
            finally:
                # The loop may be over long before the service lets go.
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(finish, outcome)

        # A context of its own: what it silences is silenced nowhere else.
        self._thread = threading.Thread(target=Context().run, args=(work,), name=f"notify-{self.name}", daemon=True)
        self._thread.start()
        return await done

    def _send(self, event: Notice) -> str | None:
        from apprise import Apprise, NotifyFormat, NotifyType, OverflowMode

        plugin = self._plugin()
        # Otherwise Apprise would wait for 4 s, whatever is configured.
        plugin.socket_connect_timeout = plugin.socket_read_timeout = self._seconds * _SHARE
        # Otherwise a message that is too long for the service would be refused every time.
        plugin.overflow_mode = OverflowMode.SPLIT
        markdown = bool(event.markdown) and plugin.resolve_format(NotifyFormat.MARKDOWN) == NotifyFormat.MARKDOWN
        key = f"[{event.key}]"
        with silenced() as warned:
            apprise = Apprise(asset=plugin.asset)
            apprise.add(plugin)
            sent = apprise.notify(
                title=event.title,
                body=f"{event.markdown}\n\n{escaped(key)}" if markdown else f"{event.body}\n\n{key}",
                notify_type=NotifyType.WARNING if event.urgent else NotifyType.INFO,
                body_format=NotifyFormat.MARKDOWN if markdown else NotifyFormat.TEXT,
            )
        return None if sent else _reason(warned)

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
                f"{self.name} holds an address that Apprise cannot use: appriseit.com lists how each is written"
            )
        return plugin


def _reason(warned: list[str]) -> str:
    """Describe a failure in our words; of Apprise's, which may hold parts of an address, only a status is used."""
    text = " ".join(warned)
    if found := re.search(r"\berror=([1-5]\d\d)\b", text):
        return f"the service answered {found[1]}"
    if "onnection error" in text:
        return "the service could not be reached, or broke off"
    return "the service did not take it"


@contextmanager
def silenced() -> Iterator[list[str]]:
    """Keep the loggers silent in this context, and yield the list of their warnings.

    The warnings may hold secrets: look up a status in them, never show them.
    """
    for name in _LOGGERS:
        # Adding a filter a second time does nothing.
        logging.getLogger(name).addFilter(_FILTER)
    found: list[str] = []
    token = _warned.set(found)
    try:
        yield found
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
