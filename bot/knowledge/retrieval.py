"""Retrieval as AutoMind has it (arXiv 2506.10974, 3.1.2): label the task, search within each label, keep the order of labels."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.knowledge.base import KnowledgeBase
from bot.knowledge.entry import Entry, EntryKind
from bot.knowledge.labels import labels_in
from bot.knowledge.prompts import LabelTask
from bot.knowledge.settings import KnowledgeMode
from bot.knowledge.similarity import TextSimilarity
from bot.models import Item
from bot.models.ask import Asker
from bot.models.quoting import quoted
from state.clock import Clock
from state.errors import ModelRefused
from state.steps import Key, StepKind, Steps
from state.store import Transaction
from state.words import iso

KNOWLEDGE_SHOWN = "knowledge.shown"
"""Type of the event of a search: what it found, and since when that is known."""
PAPERS: tuple[EntryKind, ...] = ("paper",)
TRICKS: tuple[EntryKind, ...] = ("trick", "lesson")
_MAX_ENTRIES = 5
"""Entries that one prompt is given."""
_MOST_IN_LAB = 12
_POOL = 25
"""The best-fitting entries, of which each search of a run shows others."""
_YEARLY = 1.1
"""Factor of an entry's similarity for each year by which it is younger: methods are superseded."""
_DESCRIPTION, _PREVIEW = 4_000, 1_500
"""Characters of a task's description and of the preview of its data: its beginning says what the task is."""


@dataclass(frozen=True)
class TaskQuery:
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
class RetrievedEntries:
    """Entries for a prompt, the most fitting first."""

    entries: tuple[Entry, ...] = ()

    @property
    def items(self) -> tuple[Item, ...]:
        """What a prompt that shows them has to name."""
        return tuple(Item(entry.item, entry.known_at) for entry in self.entries)

    @property
    def text(self) -> str:
        """The entries as a prompt shows them, quoted; empty if there are none."""
        return "\n\n".join(
            quoted(entry_text(entry), entry.item, kind=entry.kind, at=entry.known_at.strftime("%Y-%m-%d"))
            for entry in self.entries
        )


_RETRIEVAL = StepKind("knowledge", RetrievedEntries)


def entry_text(entry: Entry) -> str:
    """Return an entry as a coder reads it: its title, a paper's fields, its claim, and what supports it."""
    facts = () if entry.paper is None else entry.paper.model_dump().items()
    facts_text = [f"{name.replace('_', ' ')}: {value}" for name, value in facts if value]
    return "\n".join((entry.title, *facts_text, entry.claim, f"Support: {entry.support}. {entry.evidence}"))


@dataclass(frozen=True)
class Retriever:
    """Finds entries for one run; each search is a step, so that a resumed run is shown the same."""

    task: TaskQuery
    base: KnowledgeBase
    similarity: TextSimilarity
    asker: Asker
    steps: Steps
    run_id: str
    clock: Clock
    say: Callable[[str], None]
    mode: KnowledgeMode = "clock"
    """Which entries a search may show: none later than the clock, unless all are."""

    async def papers(self, node: int, topic: str = "") -> RetrievedEntries:
        """Return papers for a node that is a draft; raises as `Asker.ask`."""
        return await self._search("papers", PAPERS, node, topic, _MAX_ENTRIES)

    async def tricks(self, node: int, topic: str = "") -> RetrievedEntries:
        """Return tricks, and lessons of own runs, for a node that improves what it is about; raises as `Asker.ask`."""
        return await self._search("tricks", TRICKS, node, topic, _MAX_ENTRIES)

    async def for_lab(self, node: int, topic: str = "") -> RetrievedEntries:
        """Return a dozen entries of all kinds for a lab, named by its first node; it picks, so rules label the task."""
        return await self._search("entries", (*TRICKS, *PAPERS), node, topic, _MOST_IN_LAB, by_rules=True)

    async def _search(
        self,
        name: str,
        kinds: Sequence[EntryKind],
        node: int,
        topic: str,
        limit: int,
        *,
        by_rules: bool = False,
    ) -> RetrievedEntries:
        """Return, of what fits best and is not on other kinds of data alone, what such searches showed least."""

        async def search() -> RetrievedEntries:
            as_of = None if self.mode == "all" else self.clock.as_of()
            visible = [e for e in self.base.visible(self.task.competition, as_of) if e.kind in kinds]
            query = f"{topic}\n{self.task.query}"
            by_words = f"{self.task.query}\n{self.task.preview[:_PREVIEW]}"
            labels = labels_in(by_words) if by_rules or not visible else await self._labels()
            data = _data(labels)
            suitable = [
                e for e in visible if not data or not (kinds_of_data := _data(e.labels)) or kinds_of_data & data
            ]
            searches = self.steps.all(_RETRIEVAL, part=name).values()
            if not searches and not any(_data(entry.labels) for entry in suitable):
                self.say(f"the knowledge base has no {name} on this kind of task yet")
            times_shown = Counter(entry.id for search in searches for entry in search.entries)
            pool = await rank_entries(suitable, labels, query, self.similarity, _POOL)
            entries = list[Entry]()
            for times in sorted({times_shown[entry.id] for entry in pool}):
                level = [entry for entry in pool if times_shown[entry.id] == times]
                if len(entries) < limit:
                    entries += await rank_entries(level, labels, query, self.similarity, limit - len(entries))
            return RetrievedEntries(tuple(entries))

        def save(tx: Transaction, result: RetrievedEntries) -> None:
            facts = [
                {"id": entry.item, "known_at": iso(entry.known_at), "competitions": list(entry.competitions)}
                for entry in result.entries
            ]
            if facts:
                tx.record(KNOWLEDGE_SHOWN, run_id=self.run_id, node=node, search=name, entries=facts)

        return await self.steps.once(_RETRIEVAL, search, Key(node, name), save=save)

    async def _labels(self) -> Sequence[str]:
        """Return the task's labels, the most important first, asked for once in a run."""
        task = self.task
        prompt = LabelTask(task.title, task.description[:_DESCRIPTION], task.metric, task.preview[:_PREVIEW])
        try:
            answer = await self.asker.ask(prompt, role="retriever", name="knowledge: labels")
        except ModelRefused:
            return labels_in(task.query)
        return answer.labels


async def rank_entries(
    entries: Sequence[Entry],
    task_labels: Sequence[str],
    query: str,
    similarity: TextSimilarity,
    limit: int = _MAX_ENTRIES,
) -> list[Entry]:
    """Return the entries that fit best, those of earlier labels first.

    Within a label those go first that name it earlier among their own; then similarity, other labels in common and the year
    decide. A label brings at most half of all, unless the others bring less; one that no entry has brings what its top category
    has. Without any label similarity alone decides.
    """
    scores = await similarity.scores(query, [entry.searched for entry in entries])
    weights = {
        e.id: (1 + len({*e.labels}.intersection(task_labels))) * _YEARLY ** (e.known_at.year - 2000) for e in entries
    }
    pairs = zip(scores, entries, strict=True)
    by_score = [e for _, e in sorted(pairs, key=lambda pair: (-pair[0] * weights[pair[1].id], pair[1].id))]
    picks: dict[str, Entry] = {}
    for max_picks in ((limit + 1) // 2, limit):
        for label in task_labels:
            new = [entry for entry in _within(by_score, label) if entry.id not in picks]
            picks |= {entry.id: entry for entry in new[:max_picks]}
    return list((picks or {entry.id: entry for entry in by_score}).values())[:limit]


def _data(labels: Sequence[str]) -> set[str]:
    """Return the kinds of data that labels name; none where they are on methods for any."""
    return {_top(label) for label in labels} - {"method"}


def _top(label: str) -> str:
    """Return a label's kind of data: its category, or itself where a category's labels have nothing in common."""
    return label if label.startswith(("science/", "time-series/event")) else label.partition("/")[0]


def _within(by_score: Sequence[Entry], label: str) -> list[Entry]:
    """Return the entries of a label, or else of its top category, in order."""
    entries = [entry for entry in by_score if label in entry.labels]
    if entries:
        return sorted(entries, key=lambda entry: entry.labels.index(label))
    return [entry for entry in by_score if _top(label) in map(_top, entry.labels)]
