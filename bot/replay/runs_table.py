"""The progress of several replays: on a terminal a table that fills as they end, with the one that is under way below it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from bot.replay.progress_line import ProgressLine, show_progress
from bot.replay.run import Show
from bot.replay.several import Failed, Job, Outcome
from bot.report.result import RunResult
from bot.report.words import NONE, duration, percent, score

_COLUMNS = ("", "competition", "agent", "seed", "state", "score", "teams beaten", "time")
_OTHER_LINES = 8
"""Of a terminal: the table's frame, and what stands below it."""


class RunsTable:
    """What has come of several runs so far, and what is done now; of one run, and without a terminal, only the latter."""

    def __init__(self, console: Console, jobs: Sequence[Job | Outcome]) -> None:
        self._console, self._jobs = console, jobs
        self._outcomes: list[Outcome] = []
        self._now: ProgressLine | None = None
        self._is_shown = console.is_terminal and len(jobs) > 1

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Keep the table on the terminal while this lasts."""
        if not self._is_shown:
            yield
            return
        with Live(self, console=self._console, refresh_per_second=2, transient=True):
            yield

    @contextmanager
    def started(self, job: Job) -> Iterator[Show]:
        """Show a run's progress."""
        count = f"[{len(self._outcomes) + 1}/{len(self._jobs)}] " if len(self._jobs) > 1 else ""
        title = f"{count}{job.run.settings.agent} on {job.run.snapshot.card.slug}"
        if not self._is_shown:
            with show_progress(self._console, title) as show:
                yield show
            return
        self._now = ProgressLine(self._console, title)
        try:
            yield Show(self._now.say, self._now.attach)
        finally:
            self._now = None

    def ended(self, outcome: Outcome) -> None:
        """Add what came of the next run."""
        self._outcomes.append(outcome)

    def __rich__(self) -> Group:
        table = Table(*_COLUMNS)
        for column in table.columns[5:]:
            column.justify = "right"
        most = max(3, self._console.height - _OTHER_LINES)
        first = max(0, min(len(self._outcomes) - most // 2, len(self._jobs) - most))
        for number, job in list(enumerate(self._jobs, 1))[first : first + most]:
            table.add_row(*map(Text, (str(number), *self._row(number - 1, job))))
        done = Text(f"{len(self._outcomes)} of {len(self._jobs)} runs have ended")
        return Group(table, done, *((self._now,) if self._now else ()))

    def _row(self, place: int, job: Job | Outcome) -> tuple[str, ...]:
        if place < len(self._outcomes):
            return _ended(self._outcomes[place].result)
        if isinstance(job, Outcome):
            return _ended(job.result)
        settings = job.run.settings
        state = "running" if self._now is not None and place == len(self._outcomes) else "waits"
        return (job.run.snapshot.card.slug, settings.agent, str(settings.seed), state, NONE, NONE, NONE)


def _ended(result: RunResult | Failed) -> tuple[str, ...]:
    of = (result.competition_id, result.agent, str(result.seed), result.status)
    if isinstance(result, Failed):
        return (*of, NONE, NONE, NONE)
    beaten = percent(result.win_rate) if result.valid_submission else NONE
    return (*of, score(result.score), beaten, duration(result.wall_seconds))
