"""The dependency graph as a drawing: what the community brought stands on the left, what was handed in on the right."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from bot.community.dependencies.graph import POSTS, Element, Graph
from bot.report import words

BOX_HEIGHT, ROW = 36, 44
MARGIN, HEADING, GAP = 12, 24, 40
MOST = 24
"""Boxes in a column; the rest is a count."""
_SWEEPS = 4
"""Times that each column is put in the order of its neighbours."""
_WIDE, _NARROW = 174, 88
_CHARACTERS = 6.0, 5.4
"""Width of an average character of a box's two lines; a text that is wider after all is cut."""


@dataclass(frozen=True)
class _Column:
    heading: str
    kinds: tuple[str, ...]
    width: int
    left_out: str
    """What those are that it leaves out."""


_COLUMNS = (
    _Column("Sources", (*POSTS, "report"), _WIDE, "no draft used them"),
    _Column("Ideas, reproduced kernels", ("idea", "reproduction"), _WIDE, "no draft used them"),
    _Column("Drafts", ("draft",), _WIDE, "they led to less"),
    _Column("Scripts", ("script",), _NARROW, "not used"),
    _Column("Blends", ("blend",), _NARROW, "not used"),
    _Column("Handed in", ("submission",), _NARROW, "before these"),
)


@dataclass(frozen=True)
class GraphBox:
    """One element, its corner in units of the drawing; without an element, the count of those that a column leaves out."""

    element: Element | None
    first: str
    second: str
    link: str | None
    """Its anchor on the page."""
    x: int
    y: int
    width: int
    used: bool
    """Whether it went into what was handed in."""


@dataclass(frozen=True)
class GraphCurve:
    """A curve from an element to one that it went into."""

    path: str
    used: bool


@dataclass(frozen=True)
class GraphDrawing:
    """The whole drawing in its own units."""

    width: int
    height: int
    headings: tuple[tuple[str, int], ...]
    """Each column's, with its place across."""
    boxes: tuple[GraphBox, ...]
    curves: tuple[GraphCurve, ...]


def graph_drawing(graph: Graph, links: Mapping[str, str], oriented: Callable[[float], float]) -> GraphDrawing | None:
    """Lay out what was of use; None where no draft was made.

    What no draft used, and scripts that neither are their draft's best nor went into what was handed in, are folded into a
    count.

    Args:
        graph: the run's.
        links: anchors on the page by element.
        oriented: turns a score so that higher is better.
    """
    if not graph.of_kind("draft"):
        return None
    used = graph.handed_in()
    shown = _shown(graph, used, oriented)
    heirs = {e.source: e.target for e in graph.edges if e.kind == "merged"}
    edges = [
        (e.source, _heir(e.target, heirs))
        for e in graph.edges
        if e.kind not in ("parent", "reported", "read", "merged")
    ]
    columns = [[id for id in shown if graph.elements[id].kind in column.kinds] for column in _COLUMNS]
    place = {id: number for number, column in enumerate(columns) for id in column}
    # A draft that is built on an earlier one's script would have a curve that runs back.
    edges = [(a, b) for a, b in edges if a in place and b in place and place[a] < place[b]]
    _put_in_order(columns, edges)
    folded = [_count(graph, column) - len(ids) for column, ids in zip(_COLUMNS, columns, strict=True)]
    most = max(len(ids) + (left > 0) for ids, left in zip(columns, folded, strict=True))
    boxes: list[GraphBox] = []
    headings, x = [], MARGIN
    for column, ids, left in zip(_COLUMNS, columns, folded, strict=True):
        if not ids and (not left or column.kinds == ("blend",)):
            continue
        headings.append((column.heading, x))
        # Columns stand in the middle of the longest one, so that curves stay short.
        y = MARGIN + HEADING + (most - len(ids) - (left > 0)) * ROW // 2
        for row, id in enumerate(ids):
            first, second = (
                words.first_words(text, int((column.width - 20) / width))
                for text, width in zip(_texts(graph, id), _CHARACTERS, strict=True)
            )
            place_of = x, y + row * ROW, column.width
            boxes.append(GraphBox(graph.elements[id], first, second, links.get(id), *place_of, id in used))
        if left > 0:
            beside = f"{left} {'more' if ids else 'in all'}"
            boxes.append(GraphBox(None, beside, column.left_out, None, x, y + len(ids) * ROW, column.width, False))
        x += column.width + GAP
    by_id = {box.element.id: box for box in boxes if box.element is not None}
    return GraphDrawing(
        width=x - GAP + MARGIN,
        height=MARGIN + HEADING + most * ROW,
        headings=tuple(headings),
        boxes=tuple(boxes),
        curves=tuple(GraphCurve(_curve(by_id[a], by_id[b]), a in used and b in used) for a, b in edges),
    )


def _shown(graph: Graph, used: Collection[str], oriented: Callable[[float], float]) -> list[str]:
    """Return the elements that are drawn: of each column those that lead to one that is drawn, at most `MOST`."""

    def first(ids: Collection[str]) -> list[str]:
        """What was handed in goes before what went into most."""
        known = [id for id in graph.elements if id in ids]
        return sorted(known, key=lambda id: (id not in used, -sum(e.source == id for e in graph.edges)))[:MOST]

    def before(ids: Collection[str], *kinds: str) -> list[str]:
        return first({e.source for e in graph.edges if e.target in ids and e.kind in kinds})

    drafts = first([one.id for one in graph.of_kind("draft")])
    ideas = [id for id in before(drafts, "used", "built_on") if graph.elements[id].kind != "script"]
    sent = [one.id for one in graph.of_kind("submission")][-MOST:]
    blends = [one.id for one in graph.of_kind("blend") if one.id in used][-MOST:]
    best = {_best_script(graph, draft, oriented) for draft in drafts}
    scripts = [id for id in graph.targets(drafts, "made") if id in used or id in best]
    members = before([*blends, *sent], "member", "handed_in")
    heirs = {e.source: e.target for e in graph.edges if e.kind == "merged"}
    same = {*ideas, *(id for id in heirs if _heir(id, heirs) in ideas)}
    sources = before(same, "suggested", "reproduced")
    return list(dict.fromkeys([*sources, *ideas, *drafts, *first([*scripts, *members]), *blends, *sent]))


def _heir(id: str, heirs: Mapping[str, str]) -> str:
    """Return what an idea was merged into in the end, itself if into none."""
    while id in heirs:
        id = heirs[id]
    return id


def _best_script(graph: Graph, draft: str, oriented: Callable[[float], float]) -> str | None:
    scripts = [graph.elements[id] for id in graph.targets([draft], "made")]
    scored = [(oriented(one.score), one.id) for one in scripts if one.kind == "script" and one.score is not None]
    return max(scored, default=(0.0, None))[1]


def _count(graph: Graph, column: _Column) -> int:
    """Return how many elements a column could show; of reports only those that ideas were drawn from."""
    kinds = [kind for kind in column.kinds if kind != "report"]
    cited = [id for id in graph.credits if graph.elements[id].kind == "report"] if "report" in column.kinds else []
    return sum(len(graph.of_kind(kind)) for kind in kinds) + len(cited)


def _put_in_order(columns: Sequence[list[str]], edges: Sequence[tuple[str, str]]) -> None:
    """Sort each column by the mean place of what its elements lead to, or come from, so that few curves cross."""
    neighbours: dict[str, list[str]] = {id: [] for column in columns for id in column}
    for source, target in edges:
        neighbours[source].append(target)
        neighbours[target].append(source)
    for _ in range(_SWEEPS):
        for column in columns:
            place = {id: row / max(1, len(ids) - 1) for ids in columns for row, id in enumerate(ids)}
            means = {
                id: sum(place[other] for other in neighbours[id]) / len(neighbours[id]) if neighbours[id] else place[id]
                for id in column
            }
            column.sort(key=lambda id: means[id])


def _texts(graph: Graph, id: str) -> tuple[str, str]:
    """Return an element's two lines."""
    element, number = graph.elements[id], id.partition("/")[2]
    gain = "" if element.gain is None else f", {element.gain.value:+.2g}"
    on = "".join(
        f" on node {e.source.partition('/')[2]}" for e in graph.edges if e.target == id and e.kind == "built_on"
    )
    if element.kind in ("script", "blend"):
        return f"node {number}", words.score(element.score)
    if element.kind == "submission":
        return element.title, element.state
    if element.kind == "reproduction":
        return element.title, f"node {number}, {words.score(element.score)}"
    if element.kind in POSTS:
        beside = f", {words.score(element.score)}" if element.score is not None else ""
        return element.title or id, f"{element.kind}{beside}{f', {element.author}' if element.author else ''}"
    return element.title, f"{element.kind} {number}{on}{gain}"


def _curve(start: GraphBox, end: GraphBox) -> str:
    x1, y1, x2, y2 = start.x + start.width, start.y + BOX_HEIGHT // 2, end.x, end.y + BOX_HEIGHT // 2
    middle = (x1 + x2) // 2 if x2 - x1 <= 2 * GAP else x2 - GAP
    return f"M{x1} {y1} C{middle} {y1} {middle} {y2} {x2} {y2}"
