"""A search in which scripts cost nothing: the agents' real policies, with skill and durations drawn from stored runs.

It asks a policy as `bot.engine.search` does: whenever work has ended and a slot is free, with nodes in flight in the tree. A
lab is worked on as stored ones were: script after script from the best so far, until it had its looks or its time. A gap is as
in `tests.bench.stored_draws`: 1 is the safe baseline's, 0 is out of reach. Scores are seen with an error, as stored comparisons
have it, so that the best that is seen is not the best that there is.
"""

import heapq
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from bot.coder.lab.settings import LabSettings
from bot.engine.strategy import Action, Policy, Remaining
from bot.engine.tree import BASELINE, NodeView, Tree
from tests.bench.stored_draws import Draw, Draws


@dataclass(frozen=True)
class Found:
    """A script with a score: when it came, the gap that it showed, and the true one."""

    at: float
    seen: float
    true: float


@dataclass
class Simulation:
    """One run."""

    policy: Policy
    draws: Draws
    slots: int
    seconds: float
    seed: int
    noisy: bool = True
    """Whether scores have an error; without one, selecting costs nothing."""
    found: list[Found] = field(default_factory=list)
    busy: float = 0.0
    """Seconds of slots in which something was worked on."""

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)
        self._settings = LabSettings()
        self._nodes = {BASELINE: NodeView(BASELINE, "draft", "valid", score=1.0, lower_is_better=True, baseline=True)}
        self._true = {BASELINE: 1.0}
        self._count = BASELINE
        self.found.append(Found(0.0, 1.0, 1.0))

    def run(self) -> None:
        """Work through the run's time."""
        events: list[tuple[float, int, Iterator[float]]] = []
        now, turn, free = 0.0, 0, self.slots
        while True:
            if free:
                left = Remaining(None, None, self.seconds - now, self.seconds)
                for action in self.policy.next_actions(self._tree(), left, free, self._rng):
                    free, turn = free - 1, turn + 1
                    heapq.heappush(events, (now, turn, self._work(action, now)))
            if not events or events[0][0] >= self.seconds:
                return
            now, _, work = heapq.heappop(events)
            until = next(work, None)
            if until is None:
                free += 1
                continue
            turn += 1
            self.busy += min(until, self.seconds) - now
            heapq.heappush(events, (until, turn, work))

    def _tree(self) -> Tree:
        return Tree(tuple(self._nodes.values()))

    def _work(self, action: Action, now: float) -> Iterator[float]:
        """Carry out an action; yields when each of its scripts will have its score."""
        first = self._begin(action)
        length = self._settings.seconds(self.seconds, self.seconds - now) if action.kind == "lab" else self.seconds
        end, looks = now + length, self._settings.looks if action.kind == "lab" else 1
        before: int | None = min(action.parents, key=lambda one: self._nodes[one].score or 0.0, default=None)
        if before is not None and not self._nodes[before].valid:
            before = None
        for look in range(looks):
            draw = self._draw(before)
            if look and now + draw.seconds > end:
                return
            number = first if look == 0 else self._begin(replace(action, kind="improve", parents=(before or BASELINE,)))
            now += draw.seconds
            yield now
            if self._end(number, before, draw, now):
                shown, best = self._nodes[number], self._nodes.get(before or 0)
                before = number if best is None or shown.fitness > best.fitness else before

    def _draw(self, before: int | None) -> Draw:
        if before is not None:
            return self.draws.from_near(self._true[before], self._rng)
        # A first script was compared with the baseline, which says little of how well two good ones can be told apart.
        first, later = self._rng.choice(self.draws.first), self._rng.choice(self.draws.later)
        return replace(first, error=later.error)

    def _begin(self, action: Action) -> int:
        self._count += 1
        kind = "draft" if action.kind == "lab" else action.kind
        self._nodes[self._count] = NodeView(
            self._count, kind, "running", action.parents, lower_is_better=True, draft_id=action.draft_id
        )
        return self._count

    def _end(self, number: int, before: int | None, draw: Draw, now: float) -> bool:
        """End a script's node; return whether it has a score."""
        node = self._nodes[number]
        if self._rng.random() < self.draws.failed:
            self._nodes[number] = replace(node, state="buggy", seconds=draw.seconds)
            return False
        true = draw.ratio * (1.0 if before is None else self._true[before])
        seen = true + self._rng.gauss(0.0, draw.error) * self.noisy
        families = draw.families if before is None else self._nodes[before].families
        self._true[number] = true
        self._nodes[number] = replace(
            node, state="valid", score=seen, seconds=draw.seconds, gain_error=draw.error * self.noisy, families=families
        )
        self.found.append(Found(now, seen, true))
        return True
