"""Retrieval as AutoMind has it (arXiv 2506.10974, section 3.1.2): label the task, search within each label, re-rank by their order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from bot.knowledge.base import KnowledgeBase, Shown
from bot.knowledge.entry import Entry, Kind
from bot.knowledge.labels import labels_in
from bot.knowledge.prompts import LabelTask
from bot.knowledge.similarity import Similarity
from bot.models import Item
from bot.models.ask import Asker
from bot.models.quoting import quoted
from state.clock import Clock
from state.errors import ModelRefused
from state.steps import Steps
from state.store import Store

PAPERS: tuple[Kind, ...] = ("paper",)
TRICKS: tuple[Kind, ...] = ("trick", "lesson")
_PER_LABEL = 3
"""Entries that one label brings."""
_MOST = 5
"""Entries that one prompt is given."""
_DESCRIPTION, _PREVIEW = 4_000, 1_500
"""Characters of a task's description and of the preview of its data: its beginning says what the task is."""


@dataclass(frozen=True)
class Task:
    """What is known of a task when entries are looked for."""

    competition: str
    """The last part of its address."""
    title: str
    description: str
    metric: str
    preview: str = ""

    @property
    def query(self) -> str:
        """The text that entries are compared with."""
        return f"{self.title}\n{self.metric}\n{self.description[:_DESCRIPTION]}"


@dataclass(frozen=True)
class Found:
    """Entries for a prompt, the most fitting first."""

    entries: tuple[Entry, ...] = ()

    @property
    def items(self) -> tuple[Item, ...]:
        """What a prompt that shows them has to name."""
        return tuple(Item(entry.item, entry.known_at) for entry in self.entries)

    @property
    def text(self) -> str:
        """The entries as a prompt shows them, quoted; empty if there are none."""
        return "\n\n".join(map(entry_text, self.entries))


def entry_text(entry: Entry) -> str:
    """Return an entry as a prompt shows it."""
    facts = () if entry.paper is None else entry.paper.model_dump().items()
    about = [f"{name.replace('_', ' ')}: {value}" for name, value in facts if value]
    text = "\n".join((entry.title, *about, entry.claim, f"Support: {entry.support}. {entry.evidence}"))
    return quoted(text, entry.item, kind=entry.kind, at=entry.known_at.strftime("%Y-%m-%d"))


class Retriever:
    """Finds entries for one run; each search is a step, so that a resumed run is shown the same."""

    def __init__(
        self,
        task: Task,
        base: KnowledgeBase,
        similarity: Similarity,
        asker: Asker,
        steps: Steps,
        store: Store,
        run_id: str,
        clock: Clock,
        shown: Shown = "clock",
    ) -> None:
        self._task = task
        self._base = base
        self._similarity = similarity
        self._asker = asker
        self._steps = steps
        self._store = store
        self._run_id = run_id
        self._clock = clock
        self._shown = shown

    async def papers(self, node: int, about: str = "") -> Found:
        """Return papers for a node that is a draft; raises as `Asker.ask`.

        Args:
            node: the node's number, by which the search is repeated when the run is resumed.
            about: what they are wanted for, beside the task.
        """
        return await self._search("papers", PAPERS, node, about)

    async def tricks(self, node: int, about: str = "") -> Found:
        """Return tricks, and lessons of own runs, for a node that improves another one; raises as `Asker.ask`.

        Args:
            node: the node's number.
            about: what is to be improved, such as its plan.
        """
        return await self._search("tricks", TRICKS, node, about)

    async def _search(self, name: str, kinds: Sequence[Kind], node: int, about: str) -> Found:
        async def search() -> dict[str, Any]:
            as_of = None if self._shown == "all" else self._clock.as_of()
            visible = self._base.visible(self._task.competition, as_of) if self._shown != "none" else []
            visible = [entry for entry in visible if entry.kind in kinds]
            if not visible:
                return {"entries": []}
            found = await ranked(visible, await self.labels(), f"{about}\n{self._task.query}", self._similarity)
            return {"entries": [entry.model_dump(mode="json") for entry in found]}

        done = await self._steps.once(f"knowledge: {name}", search, node=node)
        return Found(tuple(Entry.model_validate(one) for one in done["entries"]))

    async def labels(self) -> Sequence[str]:
        """Return the task's labels, the most important first, asked for once in a run; raises as `Asker.ask`."""
        task = self._task
        prompt = LabelTask(task.title, task.description[:_DESCRIPTION], task.metric, task.preview[:_PREVIEW])
        try:
            answer = await self._asker.ask(prompt, role="retriever", name="knowledge: labels")
        except ModelRefused:
            return labels_in(task.query)
        return answer.labels


async def ranked(
    entries: Sequence[Entry], wanted: Sequence[str], query: str, similarity: Similarity, most: int = _MOST
) -> list[Entry]:
    """Return the entries that fit best: within each label by similarity, those of earlier labels first.

    A label that no entry has brings what its top category has; without any such entry similarity alone decides.
    """
    scores = await similarity.scores(query, [entry.searched for entry in entries])
    by_score = [entry for _, entry in sorted(zip(scores, entries, strict=True), key=lambda pair: (-pair[0], pair[1].id))]
    chosen: dict[str, Entry] = {}
    for label in wanted:
        within = [entry for entry in by_score if label in entry.labels and entry.id not in chosen]
        chosen |= {entry.id: entry for entry in within[:_PER_LABEL]}
    return list((chosen or {entry.id: entry for entry in by_score}).values())[:most]
