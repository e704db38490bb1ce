"""The live view of runs: on a terminal their status, kept up to date; on a pipe, and with --plain, a log."""

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import UTC, datetime

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bot.budgets.kinds import Kind
from bot.execution.folder import RunFolder
from bot.models.quoting import clean
from bot.report.words import duration, money, score
from bot.status.runs import RunStatus, run_status
from state.words import plural

Say = Callable[[str], None]
MAX_RUNS = 8
"""Runs that are shown: a terminal has room for no more."""
_QUIET = 60.0
"""Seconds without a line after which a log gets one on the current work."""
_LAST_LINES = 4
_SPARKS = "▁▂▃▄▅▆▇█"
_BAR, _SPARKLINE = 40, 30
"""Characters."""


def print_line(console: Console, text: str) -> None:
    """Print a line as it is, however long, and whatever brackets are in it."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def sparkline(bests: Sequence[tuple[float, float]], until: float, width: int = _SPARKLINE) -> str:
    """Return the best score over time, from 0 to `until`, in one line; it rises as the score gets better."""
    if not bests:
        return ""
    first, last = bests[0][1], bests[-1][1]
    line = ""
    for place in range(width):
        scores = [score for seconds, score in bests if seconds <= until * (place + 1) / width]
        share = (scores[-1] - first) / (last - first) if scores and last != first else 0.0
        line += _SPARKS[round(share * (len(_SPARKS) - 1))] if scores else " "
    return line


def _fields(rows: Sequence[tuple[str, RenderableType, str]]) -> Table:
    """Return lines of a label, a text that is cut to the terminal, and a note at the right."""
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(no_wrap=True, style="bold")
    table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    table.add_column(no_wrap=True, justify="right", style="dim")
    for label, text, note in rows:
        cell = Text(" ".join(clean(text).split())) if isinstance(text, str) else text
        table.add_row(Text(label), cell, Text(note))
    return table


class RunView:
    """One run in progress."""

    def __init__(self, title: str, folder: RunFolder, log: Say | None) -> None:
        """Show a run; `log`, if there is one, gets each line."""
        self.title, self._folder, self._log = title, folder, log
        self._lines: deque[tuple[datetime, str]] = deque(maxlen=_LAST_LINES)
        self._status = RunStatus(str(folder.path), folder.path.name, "not started")
        self._said = time.monotonic()

    def say(self, line: str) -> None:
        """Show a line of the run."""
        self._said = time.monotonic()
        self._lines.append((datetime.now().astimezone(), line))
        if self._log is not None:
            status, figures = self._read(), ""
            if status.budget:
                wall, cost = status.budget[Kind.WALL_SECONDS], status.budget[Kind.MONEY].spent
                best = "" if status.best_score is None else f" | best {status.best_score:.5g}"
                figures = f"{best} | {wall.spent:.0f} of {wall.cap or 0:.0f} s{f' | ${cost:.2f}' if cost else ''}"
            self._log(f"{self.title}: {line}{figures}")

    @contextmanager
    def never_silent(self, quiet: float = _QUIET) -> Iterator[None]:
        """Show a line on the current work whenever there was none for `quiet` seconds."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(max(0.0, self._said + quiet - time.monotonic())):
                if time.monotonic() - self._said >= quiet:
                    status, now = self._read(), datetime.now(UTC)
                    doing = (f"{work.sentence}, for {_age(work.since, now)}" for work in status.doing)
                    self.say("; ".join(doing) or status.phase or (self._lines[-1][1] if self._lines else "starting"))

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _read(self) -> RunStatus:
        """Return the run's status, and the last one where its database cannot be read at the moment."""
        if (status := run_status(self._folder, datetime.now(UTC))).status != "unreadable":
            self._status = status
        return self._status

    def brief(self) -> RenderableType:
        """Return two lines, for one run among several."""
        status = self._read()
        last = self._lines[-1][1] if self._lines else status.phase or "starting"
        best = "" if status.best_score is None else f" | best {score(status.best_score)}"
        line = Text(f"{self.title}: {last}{best}", overflow="ellipsis", no_wrap=True)
        return Group(line, _fields([_time(status)])) if status.budget else line

    def panel(self) -> Panel:
        """Return the full status of the run, for one alone."""
        lines = [(f"{time:%H:%M:%S}", line, "") for time, line in self._lines]
        hint = f"Ctrl-C stops the run cleanly; `bot resume {self._folder.path.parent}` continues it"
        return run_panel(self._read(), datetime.now(UTC), self.title, lines, hint)


def run_panel(
    status: RunStatus, now: datetime, title: str, lines: Sequence[tuple[str, RenderableType, str]] = (), hint: str = ""
) -> Panel:
    """Return the status of a run for people, with more lines below it."""
    rows: list[tuple[str, RenderableType, str]] = []
    if status.budget:
        wall, limit = status.budget[Kind.WALL_SECONDS].spent, "" if status.steps is None else f" of {status.steps}"
        rate = f"{plural(status.nodes, 'experiment')}{limit}, {status.nodes / max(wall, 1.0) * 60:.1f}/min"
        rows += [
            _time(status),
            ("best score", f"{score(status.best_score)}  {sparkline(status.best_over_time, wall)}", rate),
        ]
        rows += [(work.subject, work.activity, _age(work.since, now)) for work in status.doing]
        calls, cost = status.budget[Kind.CALLS].spent, status.budget[Kind.MONEY]
        cap = "" if cost.cap is None else f" of {money(cost.cap)}"
        unpriced = f" + {plural(status.unpriced_calls, 'unpriced call')}" if status.unpriced_calls else ""
        tokens = f"{plural(round(calls), 'model call')}, {status.budget[Kind.TOKENS].spent:,.0f} tokens"
        rows.append(("spent", tokens, f"{money(cost.spent)}{cap}{unpriced}"))
    if status.note or not rows:
        rows.append((status.status, status.note or "", ""))
    return Panel(_fields([*rows, *lines]), title=Text(title), subtitle=Text(hint) if hint else None, border_style="dim")


def _age(since: str, now: datetime) -> str:
    return duration(max(0.0, (now - datetime.fromisoformat(since)).total_seconds()))


def _time(status: RunStatus) -> tuple[str, RenderableType, str]:
    wall = status.budget[Kind.WALL_SECONDS]
    cap = wall.cap or wall.spent
    bar = ProgressBar(total=cap, completed=min(wall.spent, cap), width=_BAR)
    return status.phase or status.status, bar, f"{duration(wall.spent)} of {duration(cap)}"


class LiveRuns:
    """Shows the runs in progress."""

    def __init__(
        self, console: Console, *, plain: bool = False, summary: Callable[[], Sequence[RenderableType]] = tuple
    ) -> None:
        """Start without a run; `summary` returns what is shown above the runs."""
        self._console, self._summary = console, summary
        self.live = console.is_terminal and not plain
        """Whether it is kept up to date on a terminal; else there is a log."""
        self.runs: list[RunView] = []

    def display(self, *, transient: bool = False) -> AbstractContextManager[object]:
        """Keep the view on the terminal while this lasts."""
        if not self.live:
            return nullcontext()
        # A program that reads stdout gets its lines there, and not among those on stderr.
        redirect = sys.stdout.isatty()
        return Live(self, console=self._console, refresh_per_second=1, transient=transient, redirect_stdout=redirect)

    @contextmanager
    def run(self, title: str, folder: RunFolder, *, logged: bool = True) -> Iterator[Say]:
        """Show a run while this lasts; yield what takes its lines, which are printed in a log if they are `logged`."""
        is_logged = logged and not self.live
        view = RunView(title, folder, (lambda line: print_line(self._console, line)) if is_logged else None)
        self.runs.append(view)
        try:
            with view.never_silent() if is_logged else nullcontext():
                yield view.say
        finally:
            self.runs.remove(view)

    def __rich__(self) -> Group:
        runs, summary = list(self.runs), self._summary()
        views = [runs[0].panel()] if len(runs) == 1 else [run.brief() for run in runs[:MAX_RUNS]]
        overflow = [Text(f"and {len(runs) - MAX_RUNS} more")] if len(runs) > MAX_RUNS else []
        return Group(*summary, *views, *overflow)
