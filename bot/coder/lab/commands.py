"""The engine's side of the command `lab`, for one lab."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field

from bot.coder.lab.calls import Board, Done, Ideas, LabAnswer, LabCall, Log, Note, Score, Status, Wait
from bot.coder.lab.cards import best_shown, blend_line, board, hint_line
from bot.coder.lab.hints import compared_with, trim_shelf
from bot.coder.lab.leases import LabLease
from bot.coder.lab.looks import Looks, NoLook
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.engine.scripts import best_seconds
from bot.evaluation.answers.board import thresholds
from bot.models import Item
from state.errors import BudgetExceeded, InfrastructureFailure, InvalidSubmission
from state.labs import add_hint, add_note, keep_report, lab
from state.words import plural

_MOST_HINTS, _MOST_NOTES = 200, 20
_NOISE_SECONDS = 1.0
"""For the draws of one experiment's standard error."""


@dataclass
class Commands:
    """Answers one lab's calls."""

    context: RunContext
    number: int
    looks: Looks
    left: Callable[[], float]
    """Returns the seconds that the lab has left."""
    turns_left: Callable[[], str]
    """Returns how many replies or requests are left, with that word."""
    lease: LabLease
    ideas: Callable[[], Sequence[tuple[str, Item]]]
    """Returns the pool's ideas for this draft, as of the clock, a line each."""
    bring_home: Callable[[], Awaitable[None]]
    """Has work/ be here as it is in the lab."""
    shown: list[Item] = field(default_factory=list)
    """Ideas that were shown since the last observation."""
    turn: int = 0
    done: bool = False
    """Whether the coder has ended its work."""
    news: list[str] = field(default_factory=list)
    """Answers for the next observation, as no client waited for them."""
    _asked_again: bool = False
    _running: set[asyncio.Task[None]] = field(default_factory=set)

    async def __call__(self, call: LabCall) -> LabAnswer:
        """Answer a call; every failure is a sentence for the coder."""
        try:
            return LabAnswer(0, await self._answered(call))
        except (NoLook, InvalidSubmission, BudgetExceeded) as error:
            return LabAnswer(1, str(error))
        except InfrastructureFailure as error:
            return LabAnswer(1, f"the engine failed, which says nothing of your file: {error}")

    async def _answered(self, call: LabCall) -> str:
        arguments = call.arguments
        if isinstance(arguments, Status):
            return self.status()
        if isinstance(arguments, Board):
            return "\n".join(board(self.context, self.number, arguments.all, with_kernels=True))
        if isinstance(arguments, Ideas):
            ideas = self.ideas()
            self.shown += [item for _, item in ideas]
            return "\n".join(text for text, _ in ideas) or "there are no ideas yet"
        if isinstance(arguments, Score):
            return await self._score(call.script or "", call.infer, arguments)
        if isinstance(arguments, Wait):
            await self.settle()
            return "\n".join(self.take_news()) or "nothing is being scored"
        if isinstance(arguments, Log):
            return await self._log(call, arguments)
        if isinstance(arguments, Note):
            return self._note(arguments.text)
        return self._done(arguments)

    def status(self) -> str:
        """Return what is left of time, looks and replies, and the best score."""
        context = self.context
        best = load_tree(context).best()
        kept = context.budget.kept_in_words(best_seconds(context, load_tree(context)))
        lines = [
            f"{self.left():.0f} s of this lab left" + (f"; {kept}" if kept else ""),
            *([self.looks.progress] if self.looks.progress else []),
            f"{plural(max(0, self.looks.allowed - 1 - self.looks.used), 'look')} left, and one for the end",
            f"{self.turns_left()} left",
        ]
        if best is not None:
            lines.append(f"best of the run: {best_shown(context, best)} ({context.card.metric.direction})")
        if (blend := context.blend) is not None:
            lines.append(blend_line(blend))
        if board := context.executor.settings.board():
            at = asdict(thresholds(board))
            lines.append(
                f"public leaderboard, {len(board)} teams, on rows of the test set: "
                + ", ".join(f"{name} {score:.6g}" for name, score in at.items())
            )
        return "\n".join([*lines, *(f"left: {one}" for one in context.left[1:])])

    async def _score(self, script: str, infer: str | None, arguments: Score) -> str:
        if infer is not None and not self.context.takes_notebooks:
            raise NoLook("this competition takes files, not notebooks: score the script without --infer")
        if not arguments.background:
            return await self._run(script, infer, arguments.note)
        if len(self._running) >= self.looks.allowed:
            raise NoLook(f"{len(self._running)} scripts wait to be scored already, which is the most that may")

        async def score() -> None:
            try:
                answer = await self._run(script, infer, arguments.note)
            except (NoLook, BudgetExceeded, InfrastructureFailure) as error:
                answer = str(error)
            self.news.append(answer)

        task = asyncio.create_task(score())
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return (
            "it runs beside what else you run, on the same cores; its score will stand under what you see next, and `lab wait` "
            "waits for it"
        )

    async def _run(self, script: str, infer: str | None, note: str) -> str:
        async with self.lease.hold() as lease:
            await self.bring_home()
            own = lease if self.lease.shared_with_scores else None
            return await self.looks.score(script, note, own, infer=infer)

    async def _log(self, call: LabCall, arguments: Log) -> str:
        if call.file is None:
            raise InvalidSubmission("no file was sent")
        context = self.context
        row = lab(context.store, context.run_id, self.number)
        if row is not None and len(row.hints) >= _MOST_HINTS:
            raise InvalidSubmission(f"{_MOST_HINTS} experiments were logged, which is the most a lab keeps")
        other = compared_with(context, self.number, arguments.against)
        file = None if other is None else other[1]["file"]
        found = await context.executor.score_folds(call.file, file, _NOISE_SECONDS)
        hint = {
            "name": arguments.name,
            "score": found.score,
            "error": found.noise.score_error,
            "note": arguments.note,
            "turn": self.turn,
            "file": found.file,
            "against": other and f"{other[1]['name']!r} of lab {other[0]}",
            "gain": found.noise.gain,
            "gain_error": found.noise.gain_error,
        }
        # Nothing is waited for from the answer to here: the shelf holds no file yet that another call has not recorded.
        with context.store.write() as tx:
            add_hint(tx, context.run_id, self.number, hint)
        trim_shelf(context)
        return hint_line(self.number, hint)

    def _note(self, text: str) -> str:
        context = self.context
        row = lab(context.store, context.run_id, self.number)
        if row is not None and len(row.notes) >= _MOST_NOTES:
            raise InvalidSubmission(f"{_MOST_NOTES} notes were left, which is the most a lab keeps")
        with context.store.write() as tx:
            add_note(tx, context.run_id, self.number, text)
        return "noted"

    def _done(self, report: Done) -> str:
        if not self._asked_again and not any(load_tree(self.context)[node].valid for node in self.looks.nodes):
            self._asked_again = True
            raise NoLook(
                "no script of this lab has a score yet, and nothing would come of it; to end it all the same, say it again"
            )
        with self.context.store.write() as tx:
            keep_report(tx, self.context.run_id, self.number, {k: v for k, v in asdict(report).items() if v})
        self.done = True
        return "this lab ends after this command; time that is left goes to another lab, or ends the run"

    async def settle(self) -> None:
        """Wait until no script is scored in the background."""
        while self._running:
            await asyncio.wait(set(self._running))

    async def cancel(self) -> None:
        """Cancel scores in the background as the run stops; a resumed run finishes them."""
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def take_news(self) -> list[str]:
        """Return the news since the last call."""
        news = list(self.news)
        self.news.clear()
        return news

    def take_shown(self) -> list[Item]:
        """Return the ideas that were shown since the last call."""
        shown, self.shown = self.shown, []
        return shown
