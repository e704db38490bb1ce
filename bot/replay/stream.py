"""Pace `stream`: a replay's clock moves with the budget, and new posts are taken in as in a live run."""

import asyncio

from bot.agents.comind.settings import RoundsSettings
from bot.community.news import NewsLook, looks, take_in_news
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.engine.pacing import SearchPacing
from bot.engine.scripts import best_seconds
from bot.engine.tree import Tree
from state.clock import StreamClock
from state.clock_advances import ClockAdvance, add_clock_advance, clock_advances
from state.errors import BotError
from state.words import iso

_ARRIVED = 0.9
"""Share of the budget by which the clock reaches the cutoff at the latest."""
_STEP_SHARE, _MIN_STEP_SECONDS = 0.02, 5.0
"""Share of the run's time, and least seconds, between two moves beside a lab."""


def clock_progress(started: float, total: float, round_size: int) -> float:
    """Return how far the clock has moved from its start to the cutoff, 0 to 1.

    It arrives while there is time for the rest of a round and one more, so that the last posts can still be used; if the
    budget is too small for that, half-way. What is spent and the whole budget are in nodes, or in multiples of a node's
    time.
    """
    arrival = max(1.0, min(_ARRIVED * total, max(total / 2, total - (round_size + 1))))
    return min(1.0, max(0.0, started / arrival))


class Stream(SearchPacing):
    """Pacing of a replay whose clock moves: before a decision, so that a script has one time throughout, and beside labs."""

    def __init__(self, context: RunContext, clock: StreamClock, slots: int, *, reads: bool, labs: bool = False) -> None:
        """Resume a run where an earlier start of the bot left it, its clock at its start.

        `slots` nodes are worked on at a time; `reads`: the agent uses posts; `labs`: it works in labs, which go on
        for long, and to which news come meanwhile.
        """
        self._context = context
        self._clock = clock
        self._slots = slots
        self._labs = labs
        self._reads = reads and context.community_at is not None
        self._moves: dict[int, ClockAdvance] = {}
        self._ingested_moves: set[int] = set()
        """Moves after which this start of the bot has read new posts."""
        self._renewed: int | None = None
        self._unused = False
        """Whether posts were read for which no round was opened."""
        with context.store.read() as session:
            moves = clock_advances(session, context.run_id)
        looks_of_run = looks(context)
        for move in moves:
            clock.move(move.as_of)
            self._moves[move.number] = move
            if move.number in looks_of_run:
                self._note_news(move, looks_of_run[move.number])

    def renewed_after(self) -> int | None:
        """Return the last node that was started before the latest posts worth another round."""
        return self._renewed

    async def changed(self) -> None:
        """Return when the clock has moved beside a lab and what is new was read; without labs never."""
        context = self._context
        if not self._labs or self._clock.as_of() >= self._clock.cutoff:
            await asyncio.Event().wait()
        await asyncio.sleep(max(_MIN_STEP_SECONDS, _STEP_SHARE * context.budget.seconds))
        number = max(context.decisions.count, 1 + max(self._moves, default=-1))
        if not self._move(number, load_tree(context)) or not self._reads:
            return
        try:
            self._note_news(self._moves[number], await take_in_news(context, number))
            self._ingested_moves.add(number)
        except BotError as error:  # the next move reads what this one did not
            context.say(f"cannot read new posts: {error}")

    async def before_decision(self, number: int, tree: Tree) -> None:
        """Move the clock as far as the budget is spent, and take in new posts; raises what `Asker.ask` raises."""
        if number not in self._moves and not self._move(number, tree):
            return
        if self._reads and number not in self._ingested_moves:
            self._note_news(self._moves[number], await take_in_news(self._context, number))
            self._ingested_moves.add(number)

    def _move(self, number: int, tree: Tree) -> bool:
        """Move the clock, if it has not arrived; the move is recorded before anything later can be known."""
        context, target = self._context, self._clock.time_at(self._progress(tree))
        if target <= self._clock.as_of():
            return False
        node = max((node_view.id for node_view in tree.all), default=0) + 1
        with context.store.write() as tx:
            move = add_clock_advance(tx, context.run_id, number, target, node)
        self._clock.move(move.as_of)
        self._moves[number] = move
        context.say(f"the clock is now at {iso(move.as_of)}")
        return True

    def _progress(self, tree: Tree) -> float:
        context, budget = self._context, self._context.budget
        size = context.settings_of(RoundsSettings).drafts_per_round
        if budget.steps is not None:
            return clock_progress(len(tree.nodes), budget.steps, size)
        node_seconds = [node.seconds for node in tree.nodes if node.state != "running"]
        seconds_per_node = max(1.0, sum(node_seconds) / max(1, len(node_seconds))) / self._slots
        usable = budget.seconds - budget.reserve - budget.reserved_seconds(best_seconds(context, tree))
        return clock_progress(budget.elapsed.wall() / seconds_per_node, usable / seconds_per_node, size)

    def _note_news(self, move: ClockAdvance, look: NewsLook) -> None:
        """Open a new round for strong posts, and at the cutoff for all posts without a round."""
        self._unused = self._unused or bool(look.posts)
        if look.strong or (self._unused and move.as_of == self._clock.cutoff):
            self._renewed, self._unused = move.node - 1, False
