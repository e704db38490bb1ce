"""The solution tree as a drawing: time runs down, each step built on another goes right, each draft has a band."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from bot.report.nodes import NodeRow, ReportableRun
from bot.report.words import first_words

BOX_WIDTH, BOX_HEIGHT = 108, 40
COLUMN, ROW = 136, 50
MARGIN = 12
HEADING = 24
"""Height of a band's heading."""
BAND_GAP = 10
LEAST_WIDTH = 560
CHARACTER = 7.6
"""Width of a heading's average character."""


@dataclass(frozen=True)
class Box:
    """One node, its corner in units of the drawing; `merit` (0 to 1) is its rank among the scored nodes."""

    node: NodeRow
    x: int
    y: int
    merit: float | None


@dataclass(frozen=True)
class Edge:
    """A curve from a node to one that was built on it; `first` unless it is a further parent of a merge."""

    path: str
    first: bool


@dataclass(frozen=True)
class Band:
    """All nodes that grew from one draft."""

    heading: str
    y: int
    height: int


@dataclass(frozen=True)
class TreeDrawing:
    """The whole drawing in its own units."""

    width: int
    height: int
    bands: tuple[Band, ...]
    boxes: tuple[Box, ...]
    edges: tuple[Edge, ...]


Place = tuple[int, int]
"""A box's corner, across and down."""


def tree_drawing(nodes: Sequence[NodeRow], titles: Mapping[str, str], result: ReportableRun) -> TreeDrawing:
    """Lay out nodes, under the titles of their drafts.

    A node is in the row of its first parent or below, one column to the right of it.
    """
    by_id, children = {n.id: n for n in nodes}, dict[int | None, list[int]]()
    for node in sorted(nodes, key=lambda n: n.id):
        children.setdefault(_first_parent(node, by_id), []).append(node.id)
    places: dict[int, Place] = {}
    bands: list[Band] = []
    y = MARGIN
    for heading, roots in _groups(children.get(None, []), by_id, titles):
        top = y + HEADING
        rows = 0
        for root in roots:
            rows = _place(root, rows, top, children, places)
        bands.append(Band(heading, y, HEADING + rows * ROW))
        y += HEADING + rows * ROW + BAND_GAP
    merits = _merits(nodes, result)
    width = max(LEAST_WIDTH, MARGIN + BOX_WIDTH + max((x for x, _ in places.values()), default=0))
    return TreeDrawing(
        width=width,
        height=y + MARGIN - BAND_GAP,
        bands=tuple(replace(b, heading=first_words(b.heading, int((width - 2 * MARGIN) / CHARACTER))) for b in bands),
        boxes=tuple(Box(by_id[i], *place, merits.get(i)) for i, place in sorted(places.items())),
        edges=tuple(_edges(nodes, places)),
    )


def _first_parent(node: NodeRow, known_ids: Mapping[int, object]) -> int | None:
    # A node can only be built on an older one, so that no row of a database can make a cycle.
    return next((p for p in node.parents if p in known_ids and p < node.id), None)


def _groups(
    roots: Sequence[int], by_id: Mapping[int, NodeRow], titles: Mapping[str, str]
) -> list[tuple[str, list[int]]]:
    """Return heading and roots of each band, in the order of the first root."""
    groups: dict[str, list[int]] = {}
    for root in roots:
        draft = by_id[root].draft_id
        heading = "Baseline" if root == 1 else f"Grown from node {root}"
        if draft is not None:
            heading = f"Draft {draft}: {titles[draft]}" if titles.get(draft) else f"Draft {draft}"
        groups.setdefault(heading, []).append(root)
    return list(groups.items())


def _place(
    root: int, row: int, top: int, children: Mapping[int | None, Sequence[int]], places: dict[int, Place]
) -> int:
    """Place a node and its descendants, with a stack instead of recursion; returns the next free row."""
    stack = [(root, MARGIN, True)]
    free = row
    while stack:
        node, x, opens_row = stack.pop()
        free += opens_row
        places[node] = x, top + (free - 1) * ROW
        # The first child continues its parent's row, so it is placed next; the others open rows below.
        numbered_children = list(enumerate(children.get(node, ())))
        stack += [(child, x + COLUMN, index > 0) for index, child in reversed(numbered_children)]
    return free


def _merits(nodes: Sequence[NodeRow], result: ReportableRun) -> dict[int, float]:
    """Return each scored node's rank, from 0 (worst) to 1 (best)."""
    scores = {n.id: result.oriented(n.validation) for n in nodes if n.validation is not None}
    ranks = {score: rank for rank, score in enumerate(sorted({*scores.values()}))}
    return {id: ranks[score] / (len(ranks) - 1) if len(ranks) > 1 else 1.0 for id, score in scores.items()}


def _edges(nodes: Sequence[NodeRow], places: Mapping[int, Place]) -> Iterator[Edge]:
    for node in nodes:
        first = _first_parent(node, places)
        for parent in node.parents:
            if parent in places and parent < node.id:
                yield Edge(_curve(places[parent], places[node.id]), parent == first)


def _curve(start: Place, end: Place) -> str:
    x1, y1 = start[0] + BOX_WIDTH, start[1] + BOX_HEIGHT // 2
    x2, y2 = end[0], end[1] + BOX_HEIGHT // 2
    if y1 == y2 and x2 > x1:
        return f"M{x1} {y1} H{x2}"
    middle = max(x1 + 8, x2 - 14)
    return f"M{x1} {y1} C{middle} {y1} {x2 - 22} {y2} {x2} {y2}"
