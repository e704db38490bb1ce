"""The live view of `bot run`: the competitions by its database, and the last lines of its log."""

import io
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.segment import SegmentLines
from rich.table import Table
from rich.text import Text

from bot.cli.live_view import print_line
from bot.cli.status_lines import COLUMNS, daemon_lines, row, work_lines
from bot.configuration import Settings
from bot.status.accounts import Allowance
from bot.status.status import status_of
from bot.web.token import address_of, read_token
from scrapers.kaggle.polling.schedule import Schedule
from state.clock import SystemClock
from state.errors import BotError
from state.polling import watermarks
from state.store import Store

_REFRESHES = 0.5
"""A second."""
_MIN_LINES = 3
"""Of the log, shown however much there is above them."""
_KEPT_LINES = 20
"""Of the log, printed when the view ends: they say why it ended."""


class LogLines(io.StringIO):
    """The end of a log, written to it as to a terminal."""

    def __init__(self) -> None:
        """Start without a line."""
        super().__init__()
        self.lines: deque[str] = deque(maxlen=_KEPT_LINES)

    def isatty(self) -> bool:
        """Return that a person reads it."""
        return True

    def write(self, text: str) -> int:
        """Add lines."""
        self.lines.extend(text.splitlines())
        return len(text)


class DaemonView:
    """What a daemon does, waits for, has spent and does next."""

    def __init__(self, database: Path, settings: Settings, log: LogLines) -> None:
        """Show a daemon, which creates the database when it starts."""
        self._database, self._settings, self._log = database, settings, log
        web, self._page = settings.web, "`bot web`"
        if web.enabled:  # on a line of its own, which a terminal of 80 columns does not break
            self._page = f"on the web:\n{address_of(web.listen, web.port, read_token(settings.daemon.folder))}"

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        hint = f"Ctrl-C stops the bot, `bot run` resumes it; more: `bot status` or {self._page}"
        parts: list[RenderableType] = [Text(hint, style="dim")]
        try:
            with Store.open_to_read(self._database, SystemClock()) as store:
                parts += self._competitions(store)
        except BotError as error:  # it is being made, or cannot be read at the moment
            parts.append(Text(f"cannot show the state: {error}" if self._database.exists() else "starting"))
        lines = console.render_lines(Group(*parts), options, pad=False)[: options.max_height - _MIN_LINES - 1]
        yield SegmentLines(lines, new_lines=True)
        yield Text("last events", style="bold")
        # Of the date and time, the time is enough.
        log = [f"{line[11:19]} {line.partition(' ')[2]}" if "T" in line[:11] else line for line in self._log.lines]
        suffix = f" competition={next(iter(slugs))}" if len(slugs := self._settings.competitions) == 1 else ""
        for line in log[len(lines) + 1 - options.max_height :]:
            yield Text(line.removesuffix(suffix), no_wrap=True, overflow="ellipsis")

    def _competitions(self, store: Store) -> Iterator[RenderableType]:
        settings = self._settings
        status = status_of(store, Allowance(settings.budget, settings.competitions))
        now = status.daemon.now
        for line in daemon_lines(status.daemon, status.competitions):
            yield Text(line, style="bold yellow" if line.startswith("  NEEDS YOU") else "")
        table = Table(*COLUMNS, box=None, padding=(0, 1, 0, 0))
        for competition in status.competitions:
            table.add_row(*map(Text, row(competition)))
        yield table
        for competition in sorted(status.competitions, key=lambda competition: not competition.doing):
            slug = competition.competition
            with store.read() as session:
                read = {**watermarks(session, ""), **watermarks(session, slug)}
            yield Text(slug, style="bold")
            yield from map(Text, work_lines(competition, now, Schedule(settings.polling, read).wait(now)))


@contextmanager
def daemon_view(database: Path, settings: Settings, log: LogLines, console: Console) -> Iterator[None]:
    """Show a daemon on a terminal while this lasts, and then the end of its log."""
    view = DaemonView(database, settings, log)
    try:
        with Live(view, console=console, refresh_per_second=_REFRESHES, transient=True, redirect_stdout=False):
            yield
    finally:
        for line in log.lines:
            print_line(console, line)
