"""The progress of one run: what it is doing, how far it is, how long it may yet take, and what it has spent."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.execution.stopwatch import Stopwatch
from bot.replay.run import Show
from bot.report.words import duration

QUIET = 60.0
"""Seconds without a line after which one is printed on a pipe, so that a log shows that the run goes on."""
_BAR = 40
"""Characters."""


class ProgressLine:
    """A line and a bar on a terminal that are kept up to date; without a terminal, a plain line for each step."""

    def __init__(self, console: Console, title: str) -> None:
        self._console = console
        self._title = title
        self._doing = "starting"
        self._run: tuple[RunContext, Stopwatch] | None = None
        self._printed = time.monotonic()

    def say(self, what: str) -> None:
        """Show what is being done now."""
        self._doing = what
        if not self._console.is_terminal:
            self._print()

    def attach(self, context: RunContext, stopwatch: Stopwatch) -> None:
        """Show this run's figures from now on."""
        self._run = (context, stopwatch)

    @contextmanager
    def going_on(self, quiet: float = QUIET) -> Iterator[None]:
        """Print the line again whenever nothing was printed for `quiet` seconds; for pipes."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(max(0.0, self._printed + quiet - time.monotonic())):
                if time.monotonic() - self._printed >= quiet:
                    self._print()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _print(self) -> None:
        self._printed = time.monotonic()
        self._console.print(
            f"{self._title}: {self._doing}{self._figures()}", markup=False, highlight=False, soft_wrap=True
        )

    def __rich__(self) -> Group:
        line = Text(f"{self._title}: {self._doing}{self._figures(timed=False)}", overflow="ellipsis", no_wrap=True)
        if self._run is None:
            return Group(line)
        context, stopwatch = self._run
        spent, limit = stopwatch.wall(), context.budget.seconds
        bar = Table.grid(padding=(0, 1))
        bar.add_row(
            ProgressBar(total=limit, completed=min(spent, limit), width=_BAR),
            Text(f"{duration(spent)} of {duration(limit)}, at most {duration(max(0.0, limit - spent))} left"),
        )
        return Group(line, bar)

    def _figures(self, *, timed: bool = True) -> str:
        if self._run is None:
            return ""
        context, stopwatch = self._run
        best = load_tree(context).best()
        score = "" if best is None or best.score is None else f" | best {best.score:.5g}"
        totals = context.asker.totals
        cost = "" if not totals.cost_usd else f" | ${totals.cost_usd:.2f}"
        wall = f" | {stopwatch.wall():.0f} of {context.budget.seconds:.0f} s" if timed else ""
        return f"{score}{wall}{cost}"


@contextmanager
def show_progress(console: Console, title: str) -> Iterator[Show]:
    """Show a run's progress on the console (stderr)."""
    line = ProgressLine(console, title)
    shown = (
        Live(line, console=console, refresh_per_second=2, transient=True) if console.is_terminal else line.going_on()
    )
    with shown:
        yield Show(line.say, line.attach)
