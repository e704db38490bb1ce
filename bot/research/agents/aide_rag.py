"""AIDE+RAG: a model picks among titles of threads and kernels and reads summaries of them (arXiv 2506.20640, section 4)."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from bot.agents.tree.aide import Material, searching
from bot.community.reading.documents import Document, documents, excerpt
from bot.engine.attempts import attempt
from bot.engine.context import RunContext
from bot.engine.strategy import Action, Strategy
from bot.engine.tree import Tree
from bot.models import Item
from bot.models.quoting import quoted
from bot.research.agents.rag_prompts import MAX_PICKED, DocumentTitle, PickPosts, SummarisePost
from state.errors import ModelRefused
from state.steps import Key, StepKind

TITLES = 10
"""Titles of threads, and as many of kernels, among which a draft picks; of both together, a repair or an improvement."""
DOCUMENT_CHARACTERS = 12_000
"""Of a thread or a kernel that is summarised."""
_COMPARED_CHARACTERS = 1_000
"""Characters of a text, after its title, that are compared with the query."""
_QUERY = 3_000
"""Characters from the end of a script's output in the query."""
_HEADING = "Summaries of community posts about this competition. Use what fits:"
_TITLES_OFFERED, _POSTS_READ = StepKind("titles", tuple[str, ...]), StepKind("posts read", tuple[str, ...])
"""Steps with each node's choices and its picks, by item."""


class PostsByTitle:
    """Has a model pick documents by their titles, and each of these summarised once a run."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._summarising: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def read(self, action: Action, node: int, tree: Tree) -> Material:
        """Return summaries of the posts picked for a node; empty without a community or a pick."""
        view = self._context.community
        if view is None:
            return Material()
        by_item = {document.item: document for document in documents(view)}
        picked_items = await self._pick(action, node, by_item)
        parts: list[str] = []
        items: list[Item] = []
        for document in (by_item[item] for item in picked_items if item in by_item):
            prompt = SummarisePost(self._context.task, excerpt(document, DOCUMENT_CHARACTERS))
            if summary := await self._summary(document, prompt):
                parts.append(quoted(summary, document.item, kind="summary", title=document.title, votes=document.votes))
                items += [Item(post.item, post.time) for post in prompt.document.posts]
        return Material("\n".join((_HEADING, *parts)), tuple(items)) if parts else Material()

    async def _pick(self, action: Action, node: int, by_item: Mapping[str, Document]) -> Sequence[str]:
        context, steps = self._context, self._context.steps
        sought = self._sought(action)

        async def choose() -> tuple[str, ...]:
            return tuple(await self._most_similar(by_item, sought) if sought else _most_voted(by_item.values()))

        async def pick() -> tuple[str, ...]:
            offer = await steps.once(_TITLES_OFFERED, choose, Key(node))
            documents_offered = [by_item[item] for item in offer if item in by_item]
            if not documents_offered:
                return ()
            titles = tuple(map(DocumentTitle.from_document, documents_offered))
            prompt = PickPosts(context.task, titles, action.kind, sought)
            try:
                answer = await context.asker.ask(prompt, role="retriever", name="pick", node=node)
            except ModelRefused:
                return ()
            return tuple(answer.pick[:MAX_PICKED])

        return await steps.once(_POSTS_READ, pick, Key(node))

    def _sought(self, action: Action) -> str:
        """Return the query of a repair or an improvement: its parent's plan, error and output; empty for a draft."""
        if not action.parents:
            return ""
        parent = attempt(self._context, action.parents[0])
        return "\n".join(filter(None, (parent.plan, parent.error, parent.output[-_QUERY:])))

    async def _most_similar(self, by_item: Mapping[str, Document], sought: str) -> list[str]:
        items = sorted(by_item)
        texts = [f"{by_item[item].title}\n{by_item[item].posts[0].text[:_COMPARED_CHARACTERS]}" for item in items]
        scores = await self._context.similarity.scores(sought, texts)
        ranking = sorted(zip(scores, items, strict=True), key=lambda pair: (-pair[0], pair[1]))
        return [item for _, item in ranking[:TITLES]]

    async def _summary(self, document: Document, prompt: SummarisePost) -> str:
        async with self._summarising[document.item]:
            try:
                return await self._context.asker.ask(
                    prompt, role="retriever", name=f"summary:{document.item}:{document.digest}"
                )
            except ModelRefused:
                return ""


def _most_voted(documents: Iterable[Document]) -> list[str]:
    by_votes = sorted(documents, key=lambda d: (-(d.votes or 0), d.created_at, d.item))
    kinds = [[d.item for d in by_votes if d.item.startswith(f"{kind}/")][:TITLES] for kind in ("topic", "kernel")]
    return [item for kind in kinds for item in kind]


def aide_rag(context: RunContext) -> Strategy:
    """Return AIDE that reads what a model picked by its title."""
    return searching(context, "aide-rag", "aide", PostsByTitle(context))
