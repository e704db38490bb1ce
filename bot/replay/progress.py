"""The progress of runs: on a terminal a table that is kept up to date and a line for each run under way, else plain lines."""

import sys
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.execution.stopwatch import Stopwatch
from bot.replay.run import Show
from bot.replay.run_queue import Failed, Job, RunOutcome
from bot.report.result import RunResult
from bot.report.words import NONE, duration, percent, score

QUIET = 60.0
"""Seconds without a line after which one is printed on a pipe, so that a log shows that the run goes on."""
MAX_LINES = 8
"""Runs that are shown at work: a terminal has room for no more."""
_BAR = 40
"""Characters."""
_COLUMNS = ("", "competition", "agent", "seed", "state", "score", "teams beaten", "time")
_OTHER_LINES = 8
"""Of a terminal: the table's frame, and what stands below it."""


class ProgressLine:
    """What one run is doing, how far it is, how long it may yet take, and what it has spent."""

    def __init__(self, console: Console, title: str) -> None:
        self._console = console
        self._title = title
        self._doing = "starting"
        self._run: tuple[RunContext, Stopwatch] | None = None
        self._printed = time.monotonic()

    def say(self, activity: str) -> None:
        """Show what is being done now: on a terminal in the line, else in a new one."""
        self._doing = activity
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
        print_line(self._console, f"{self._title}: {self._doing}{self._figures()}")

    def __rich__(self) -> Group:
        line = Text(f"{self._title}: {self._doing}{self._figures(timed=False)}", overflow="ellipsis", no_wrap=True)
        if self._run is None:
            return Group(line)
        context, stopwatch = self._run
        seconds, limit = stopwatch.wall(), context.budget.seconds
        bar = Table.grid(padding=(0, 1))
        bar.add_row(
            ProgressBar(total=limit, completed=min(seconds, limit), width=_BAR),
            Text(f"{duration(seconds)} of {duration(limit)}, at most {duration(max(0.0, limit - seconds))} left"),
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


class Progress(ABC):
    """Shows runs: on a terminal a summary, and a line for each run under way."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._lines: dict[str, ProgressLine] = {}
        """Of the runs under way, by their titles."""

    @abstractmethod
    def summary(self) -> Sequence[RenderableType]:
        """Return what stands above the lines."""

    def shown(self, *, transient: bool = False) -> AbstractContextManager[object]:
        """Keep the summary and the lines on the terminal while this lasts, if there is one."""
        if not self._console.is_terminal:
            return nullcontext()
        # A program that reads stdout gets its lines there, and not among those on stderr.
        redirect = sys.stdout.isatty()
        return Live(self, console=self._console, refresh_per_second=2, transient=transient, redirect_stdout=redirect)

    @contextmanager
    def line(self, title: str) -> Iterator[ProgressLine]:
        """Have a line for a run while it is under way."""
        line = self._lines[title] = ProgressLine(self._console, title)
        try:
            yield line
        finally:
            del self._lines[title]

    def __rich__(self) -> Group:
        lines = list(self._lines.values())
        more_line = [Text(f"and {len(lines) - MAX_LINES} more")] if len(lines) > MAX_LINES else []
        return Group(*self.summary(), *lines[:MAX_LINES], *more_line)


class ReplayProgress(Progress):
    """The progress of replays, one after another: a table if there are several."""

    def __init__(self, console: Console, jobs: Sequence[Job | RunOutcome]) -> None:
        super().__init__(console)
        self._jobs = jobs
        self._outcomes: list[RunOutcome] = []

    @contextmanager
    def started(self, job: Job) -> Iterator[Show]:
        """Show a run's progress; a pipe gets a line for each step."""
        count = f"[{len(self._outcomes) + 1}/{len(self._jobs)}] " if len(self._jobs) > 1 else ""
        with (
            self.line(f"{count}{job.run.settings.agent} on {job.run.snapshot.card.slug}") as line,
            nullcontext() if self._console.is_terminal else line.going_on(),
        ):
            yield Show(line.say, line.attach)

    def ended(self, outcome: RunOutcome) -> None:
        """Add what came of the next run."""
        self._outcomes.append(outcome)

    def summary(self) -> Sequence[RenderableType]:
        """Return a row for each run, as many as there is room for around the present one."""
        if len(self._jobs) == 1:
            return ()
        table = Table(*_COLUMNS)
        for column in table.columns[5:]:
            column.justify = "right"
        room = max(3, self._console.height - _OTHER_LINES)
        first = max(0, min(len(self._outcomes) - room // 2, len(self._jobs) - room))
        for number, job in list(enumerate(self._jobs, 1))[first : first + room]:
            table.add_row(*map(Text, (str(number), *self._row(number - 1, job))))
        return table, Text(f"{len(self._outcomes)} of {len(self._jobs)} runs have ended")

    def _row(self, place: int, job: Job | RunOutcome) -> tuple[str, ...]:
        job_or_outcome = self._outcomes[place] if place < len(self._outcomes) else job
        if isinstance(job_or_outcome, RunOutcome):
            return _result_row(job_or_outcome.result)
        settings = job_or_outcome.run.settings
        state = "running" if self._lines and place == len(self._outcomes) else "waits"
        return (job_or_outcome.run.snapshot.card.slug, settings.agent, str(settings.seed), state, NONE, NONE, NONE)


def _result_row(result: RunResult | Failed) -> tuple[str, ...]:
    cells = (result.competition_id, result.agent, str(result.seed), result.status)
    if isinstance(result, Failed):
        return (*cells, NONE, NONE, NONE)
    beaten = percent(result.win_rate) if result.valid_submission else NONE
    return (*cells, score(result.score), beaten, duration(result.wall_seconds))


def print_line(console: Console, text: str) -> None:
    """Print a line as it is, however long, and whatever brackets are in it."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)
