"""Changes of the idea pool: what a model proposes, within bounds, so that no answer can empty or rewrite it."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from bot.community.ideas.evidence import IdeaEvidence, heirs_of
from bot.community.ideas.prompts import MOST_ADDED, IdeasAnswer, Merge, ProposedIdea, Split
from bot.community.ideas.similarity import Repetitions
from state.knowledge import add_idea, close_idea
from state.store import Transaction
from state.tables import Idea

_CLOSED_SHARE = 0.25
"""Share of the pool that one answer may close."""


class PoolChanges:
    """The changes that one answer makes, in one transaction.

    An idea that a draft used or a report measured keeps its number and text, by which drafts and reports name it: others can
    be merged into it, and it can be retired only if it was measured without a gain.
    """

    def __init__(
        self, tx: Transaction, run_id: str, pool: Sequence[IdeaEvidence], known_at: datetime, repetitions: Repetitions
    ) -> None:
        """Start with all ideas, closed ones too, and the latest time of what the prompt showed."""
        self._tx, self._run_id, self._known_at, self._repetitions = tx, run_id, known_at, repetitions
        self._pool = {evidence.idea.id: evidence for evidence in pool}
        self._heirs = heirs_of([evidence.idea for evidence in pool])
        self._live = {number for number, evidence in self._pool.items() if evidence.live}
        self._texts = {number: evidence.idea.text for number, evidence in self._pool.items()}
        self._known_times = {number: evidence.idea.known_at for number, evidence in self._pool.items()}
        self._sources = {number: {*evidence.sources} for number, evidence in self._pool.items()}
        self._may_close = max(1, int(_CLOSED_SHARE * len(self._live)))
        self.refused: list[str] = []
        """Refused changes, and why."""

    def apply(self, answer: IdeasAnswer, times: Mapping[str, datetime]) -> None:
        """Make the changes; `times` has those of the sources."""
        for proposed in answer.add[:MOST_ADDED]:
            source_times = [times[source] for source in proposed.sources]
            # An idea that names no source may come from anything in the prompt.
            self._add(proposed, max(source_times, default=self._known_at))
        for credit in answer.credit:
            if self._was_live(credit.idea):
                self._credit(credit.idea, credit.sources, max(times[source] for source in credit.sources))
        for merge in answer.merge:
            self._merge(merge)
        for split in answer.split:
            self._split(split)
        for retire in answer.retire:
            is_fixed = self._was_live(retire.idea) and self._is_fixed(retire.idea)
            if not self._was_live(retire.idea) or (is_fixed and not self._pool[retire.idea].has_no_gain):
                self.refused.append(f"cannot retire idea {retire.idea}: it is closed, or a draft has used it")
            elif self._allows(1, f"cannot retire idea {retire.idea}"):
                self._close(retire.idea, "retired", retire.why, self._known_at)

    def _add(self, proposed: ProposedIdea, known_at: datetime) -> None:
        original = self._repetitions.original(proposed.text, self._texts)
        if original is None:
            self._keep(proposed.text, proposed.sources, proposed.path, known_at)
            return
        original_idea = self._heirs.get(original, original)
        if original_idea not in self._live:
            self.refused.append(f"{proposed.text[:80]}: the same as idea {original_idea}, which is closed")
        else:
            self._credit(original_idea, proposed.sources, known_at, proposed.text)

    def _credit(self, number: int, sources: Sequence[str], known_at: datetime, text: str = "") -> None:
        """Let new sources count for an idea from when they were known: as a row of their own, which is merged into it."""
        if new := {*sources} - self._sources[number]:
            self._sources[number] |= new
            kept_number = self._keep(text or self._texts[number], sources, "", known_at)
            later = max(known_at, self._known_times[number])
            self._close(kept_number, "merged", f"the same as idea {number}", later, (number,))

    def _merge(self, merge: Merge) -> None:
        numbers = [number for number in dict.fromkeys(merge.ideas) if self._was_live(number)]
        fixed = [number for number in numbers if self._is_fixed(number)]
        free = [number for number in numbers if number not in fixed]
        if len(numbers) < 2 or not free or not self._allows(len(free), f"cannot merge ideas {numbers}"):
            return
        sources = dict.fromkeys(source for number in free for source in sorted(self._sources[number]))
        path = self._pool[free[0]].idea.path
        heir = fixed[0] if fixed else self._keep(merge.text, tuple(sources), path, self._known_at)
        for number in free:
            self._close(number, "merged", merge.why or f"the same as idea {heir}", self._known_at, (heir,))

    def _split(self, split: Split) -> None:
        if not self._was_live(split.idea) or self._is_fixed(split.idea):
            self.refused.append(f"cannot split idea {split.idea}: it is closed, or a draft has used it")
        elif self._allows(1, f"cannot split idea {split.idea}"):
            path, sources = self._pool[split.idea].idea.path, sorted({*self._sources[split.idea], *split.sources})
            parts = [self._keep(text, sources, path, self._known_at) for text in split.texts]
            self._close(split.idea, "split", split.why, self._known_at, parts)

    def _was_live(self, number: int) -> bool:
        """Return whether the pool had it, and it is still offered."""
        return number in self._pool and number in self._live

    def _is_fixed(self, number: int) -> bool:
        evidence = self._pool[number]
        return bool(evidence.times_used or evidence.gains)

    def _allows(self, count: int, action: str) -> bool:
        if count > self._may_close:
            self.refused.append(f"{action}: one answer may close at most a quarter of the pool")
            return False
        self._may_close -= count
        return True

    def _keep(self, text: str, sources: Sequence[str], path: str, known_at: datetime) -> int:
        row: Idea = add_idea(self._tx, self._run_id, text=text, sources=sources, path=path, known_at=known_at)
        self._live.add(row.id)
        self._texts[row.id], self._sources[row.id], self._known_times[row.id] = text, {*sources}, known_at
        return row.id

    def _close(
        self,
        number: int,
        state: Literal["merged", "split", "retired"],
        reason: str,
        known_at: datetime,
        successors: Sequence[int] = (),
    ) -> None:
        self._live.discard(number)
        if state == "merged":
            self._heirs[number] = successors[0]
        close_idea(self._tx, self._run_id, number, state, reason=reason, known_at=known_at, successors=successors)
