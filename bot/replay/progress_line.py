"""The progress line: what a run is doing, what it has spent and what is left."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.text import Text

from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.execution.stopwatch import Stopwatch
from bot.replay.run import Show


class ProgressLine:
    """One line on a terminal that is kept up to date; without a terminal, a plain line for each step."""

    def __init__(self, console: Console, title: str) -> None:
        self._console = console
        self._title = title
        self._doing = "starting"
        self._run: tuple[RunContext, Stopwatch] | None = None

    def say(self, what: str) -> None:
        """Show what is being done now."""
        self._doing = what
        if not self._console.is_terminal:
            self._console.print(
                f"{self._title}: {what}{self._figures()}", markup=False, highlight=False, soft_wrap=True
            )

    def attach(self, context: RunContext, stopwatch: Stopwatch) -> None:
        """Show this run's figures from now on."""
        self._run = (context, stopwatch)

    def __rich__(self) -> Text:
        return Text(f"{self._title}: {self._doing}{self._figures()}", overflow="ellipsis", no_wrap=True)

    def _figures(self) -> str:
        if self._run is None:
            return ""
        context, stopwatch = self._run
        best = load_tree(context).best()
        score = "" if best is None or best.score is None else f" | best {best.score:.5g}"
        totals = context.asker.totals
        cost = "" if not totals.cost_usd else f" | ${totals.cost_usd:.2f}"
        return f"{score} | {stopwatch.wall():.0f} of {context.budget.seconds:.0f} s{cost}"


@contextmanager
def show_progress(console: Console, title: str) -> Iterator[Show]:
    """Show a run's progress on the console (stderr)."""
    line = ProgressLine(console, title)
    show = Show(line.say, line.attach)
    if not console.is_terminal:
        yield show
        return
    with Live(line, console=console, refresh_per_second=2, transient=True):
        yield show
