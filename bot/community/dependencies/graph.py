"""The dependency graph of a run: which post, idea, script, data set and weights went into what, and what came of each source."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from state.community import Post
from state.tables import Draft, Idea, Node, Report, Reproduction, Submission

NOISE = 2.0
"""Standard errors of a difference, beyond which a gain is one."""
POSTS = ("topic", "message", "kernel")
"""Kinds of elements that are the community's."""
_LONGEST = 200
"""Characters of a plan that stand for its script."""


@dataclass(frozen=True)
class Gain:
    """A measured difference of scores, above 0 where it is better, and its standard error; None: unknown."""

    value: float
    error: float | None = None

    @property
    def beyond_noise(self) -> bool:
        """Whether it is a gain by more than its noise; one whose noise is unknown is none."""
        return self.error is not None and self.value > NOISE * self.error


@dataclass(frozen=True)
class Element:
    """One thing that went into others, or was made of them."""

    id: str
    """As prompts and provenance name it: `kernel/10`, `idea/3`, `draft/2`, `report/3`, `node/7`, `weights/NAME`."""
    kind: str
    """What stands before the slash; but a node is a `script`, a `reproduction` of a kernel, or a `blend`."""
    title: str = ""
    author: str | None = None
    time: datetime | None = None
    """When it was posted, or made by the run."""
    known_at: datetime | None = None
    """The latest time among what it was made of; None: of nothing that has a time."""
    state: str = ""
    """Status of a node, a submission or an idea (`live` where it is offered); empty otherwise."""
    score: float | None = None
    """In the metric's own sign; of a kernel, the published one."""
    gain: Gain | None = None
    """Of an idea: the best one measured of it alone. Of a script: over the one it is built on. Of a draft: over all that was
    scored before its best script by others."""


@dataclass(frozen=True)
class Edge:
    """One thing went into another.

    Kinds: a post or report `suggested` an idea, an idea was `merged` or `split` into others, a draft `used` an idea or was
    `built_on` a node, a draft `made` a node, a node is a `parent` of another or a `member` of a blend, a kernel was `reproduced`
    as a node, a post was `shown` to the coder of a node that no draft stands behind, a draft was `reported`, a node was
    `handed_in`, a data set or weights are `read` by a kernel or a node.
    """

    source: str
    target: str
    kind: str


@dataclass(frozen=True)
class Credit:
    """What came of a source."""

    ideas: tuple[str, ...]
    """Drawn from it, with those that they were merged or split into."""
    drafts: tuple[str, ...]
    """Those that used one of these ideas, or are built on the reproduced kernel."""
    idea_gain: Gain | None
    """The best one measured of such an idea alone."""
    draft_gain: Gain | None
    """The best one of such a draft, to which other ideas may have contributed."""
    handed_in: bool
    """Whether it went into something that was handed in."""


@dataclass(frozen=True)
class Graph:
    """All elements of a run by id, what went into what, and what came of each source of an idea and each reproduced kernel."""

    elements: Mapping[str, Element] = field(default_factory=dict)
    edges: tuple[Edge, ...] = ()
    credits: Mapping[str, Credit] = field(default_factory=dict)
    """The most useful first."""

    def of_kind(self, kind: str) -> list[Element]:
        """Return the elements of a kind."""
        return [one for one in self.elements.values() if one.kind == kind]

    def targets(self, sources: Iterable[str], *kinds: str) -> list[str]:
        """Return what elements went into directly, in order, each once."""
        wanted = set(sources)
        return list(dict.fromkeys(e.target for e in self.edges if e.source in wanted and e.kind in kinds))

    def handed_in(self) -> frozenset[str]:
        """Return all that went into a submission, and the submissions; what a report alone passed on is left out."""
        into = defaultdict(list)
        for edge in self.edges:
            if edge.kind != "reported":
                into[edge.target].append(edge.source)
        found = {id for id, element in self.elements.items() if element.kind == "submission"}
        left = list(found)
        while left:
            fresh = [id for id in into[left.pop()] if id not in found]
            found.update(fresh)
            left += fresh
        return frozenset(found)


@dataclass(frozen=True)
class Rows:
    """What a graph is made of, as it may be known at a time."""

    posts: Sequence[Post] = ()
    read: Mapping[str, datetime] = field(default_factory=dict)
    """Since when what was read of a post is known, by item."""
    ideas: Sequence[Idea] = ()
    drafts: Sequence[Draft] = ()
    reports: Sequence[Report] = ()
    reproductions: Sequence[Reproduction] = ()
    nodes: Sequence[Node] = ()
    shown: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """Posts that the coders of nodes without a draft were shown, by node."""
    gains: Mapping[int, Gain] = field(default_factory=dict)
    """Of nodes over what they are built on."""
    noise: Mapping[int, float] = field(default_factory=dict)
    """Standard error of nodes' gains; of their scores where they were compared with nothing."""
    weights: Mapping[int, Sequence[str]] = field(default_factory=dict)
    """Pretrained weights that nodes' scripts name."""
    submissions: Sequence[Submission] = ()


def build(rows: Rows, lower_is_better: bool) -> Graph:
    """Return the graph of rows; a source that is in no row is an element without a title."""
    found = {one.item: _post(one, rows.read.get(one.item, one.time)) for one in rows.posts}
    edges = _of_sources(rows)
    for idea in rows.ideas:
        gains = [_gain(part) for report in rows.reports for part in report.components if part.get("idea") == idea.id]
        best = max((one for one in gains if one is not None), key=lambda one: one.value, default=None)
        id = f"idea/{idea.id}"
        found[id] = Element(id, "idea", idea.text, None, idea.created_at, idea.known_at, idea.state, gain=best)
    for draft in rows.drafts:
        id, gain = f"draft/{draft.id}", _gain_of_draft(draft, rows, lower_is_better)
        found[id] = Element(id, "draft", draft.title, None, draft.created_at, draft.known_at, gain=gain)
    for report in rows.reports:
        id = f"report/{report.id}"
        found[id] = Element(id, "report", report.title, None, report.created_at, report.known_at, score=report.score)
    edges += _of_nodes(rows)
    for source in dict.fromkeys(edge.source for edge in edges):
        found.setdefault(source, Element(source, source.partition("/")[0]))
    _add_nodes(rows, found, edges)
    graph = Graph(found, tuple(dict.fromkeys(edges)))
    handed_in = graph.handed_in()
    sources = dict.fromkeys(edge.source for edge in graph.edges if edge.kind in ("suggested", "reproduced"))
    credited = {source: _credit(graph, source, source in handed_in) for source in sources}
    return replace(graph, credits=dict(sorted(credited.items(), key=lambda one: _usefulness(one[1]), reverse=True)))


def _post(post: Post, known_at: datetime) -> Element:
    return Element(post.item, post.kind, post.title, post.author, post.time, known_at, score=post.public_score)


def _credit(graph: Graph, source: str, handed_in: bool) -> Credit:
    ideas = graph.targets([source], "suggested")
    for idea in ideas:
        ideas += [one for one in graph.targets([idea], "merged", "split") if one not in ideas]
    made = graph.targets([*ideas, *graph.targets([source], "reproduced")], "used", "built_on")
    return Credit(tuple(ideas), tuple(made), _best(graph, ideas), _best(graph, made), handed_in)


def _best(graph: Graph, ids: Iterable[str]) -> Gain | None:
    known = (graph.elements[id].gain for id in ids)
    return max((gain for gain in known if gain is not None), key=lambda gain: gain.value, default=None)


def _usefulness(credit: Credit) -> tuple[float, ...]:
    gains = [-float("inf") if gain is None else gain.value for gain in (credit.idea_gain, credit.draft_gain)]
    return (credit.handed_in, *gains, len(credit.drafts), len(credit.ideas))


def _of_sources(rows: Rows) -> list[Edge]:
    edges = [Edge(f"dataset/{one}", post.item, "read") for post in rows.posts for one in post.datasets]
    edges += [Edge(source, f"idea/{idea.id}", "suggested") for idea in rows.ideas for source in idea.sources]
    edges += [Edge(f"idea/{idea.id}", f"idea/{one}", idea.state) for idea in rows.ideas for one in idea.successors]
    for draft in rows.drafts:
        edges += [Edge(f"idea/{number}", f"draft/{draft.id}", "used") for number in draft.idea_ids]
        if draft.codebase_node is not None:
            edges.append(Edge(f"node/{draft.codebase_node}", f"draft/{draft.id}", "built_on"))
    edges += [Edge(f"draft/{one.draft_id}", f"report/{one.id}", "reported") for one in rows.reports if one.draft_id]
    return edges


def _of_nodes(rows: Rows) -> list[Edge]:
    edges = [Edge(one.id, f"node/{one.node}", "reproduced") for one in rows.reproductions if one.node is not None]
    for node in rows.nodes:
        name = f"node/{node.id}"
        edges += [Edge(f"weights/{one}", name, "read") for one in rows.weights.get(node.id, ())]
        edges += [Edge(item, name, "shown") for item in rows.shown.get(node.id, ())]
        edges += [Edge(f"draft/{node.draft_id}", name, "made")] if node.draft_id else []
        kind = "member" if node.action == "ensemble" else "parent"
        edges += [Edge(f"node/{parent}", name, kind) for parent in node.parents]
    return edges + [Edge(f"node/{one.node}", f"submission/{one.id}", "handed_in") for one in rows.submissions]


def _add_nodes(rows: Rows, found: dict[str, Element], edges: Sequence[Edge]) -> None:
    """Add nodes and submissions, which have no time of their own: they are of the latest time of what went into them."""
    into = defaultdict(list)
    for edge in edges:
        into[edge.target].append(edge.source)

    def add(element: Element, *known: datetime) -> None:
        times = [time for id in into[element.id] if (time := found[id].known_at) is not None]
        found[element.id] = replace(element, known_at=max([*times, *known], default=None))

    for node in sorted(rows.nodes, key=lambda node: node.id):
        id, known = f"node/{node.id}", [one.known_at for one in rows.reproductions if one.node == node.id]
        kind = {"ensemble": "blend", "reproduce": "reproduction"}.get(node.action, "script")
        title = next((line for line in node.plan.splitlines() if line.strip()), "")[:_LONGEST]
        gain = rows.gains.get(node.id)
        add(Element(id, kind, title, None, node.created_at, None, node.status, node.score, gain), *known)
    for sent in rows.submissions:
        add(
            Element(f"submission/{sent.id}", "submission", sent.handed_in, None, sent.at, None, sent.status, sent.score)
        )


def _gain(part: Mapping[str, object]) -> Gain | None:
    gain, error = part.get("gain"), part.get("gain_error")
    if not isinstance(gain, int | float):
        return None
    return Gain(float(gain), float(error) if isinstance(error, int | float) else None)


def _gain_of_draft(draft: Draft, rows: Rows, lower_is_better: bool) -> Gain | None:
    """Return by how much a draft's best script beats all that others had scored before it; None: it has no score."""
    sign = -1 if lower_is_better else 1
    scored = {n.id: sign * n.score for n in rows.nodes if n.score is not None and n.status == "valid"}
    scripts = [n for n in rows.nodes if n.id in scored and n.action not in ("ensemble", "reproduce")]
    own = [n.id for n in scripts if n.draft_id == draft.id]
    if not own:
        return None
    best = max(own, key=lambda id: (scored[id], -id))
    before = [scored[n.id] for n in scripts if n.id < best and n.draft_id != draft.id]
    errors = [rows.noise[id] for id in own if id in rows.noise]
    return Gain(scored[best] - max(before), max(errors, default=None)) if before else None
