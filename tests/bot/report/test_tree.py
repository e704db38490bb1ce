"""The solution tree's drawing."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bot.report.nodes import NodeRow
from bot.report.result import RunResult
from bot.report.tree import BOX_HEIGHT, BOX_WIDTH, TreeDrawing, tree_drawing
from tests.bot.report.test_words import BASE


def node(id: int, *parents: int, **fields: Any) -> NodeRow:
    row: dict[str, Any] = {
        "action": "draft",
        "draft_id": None,
        "plan": "",
        "status": "valid",
        "status_words": "valid",
        "validation": None,
        "hidden": None,
        "win_rate": None,
        "end_seconds": None,
        "seconds": None,
        "error": None,
        "model": None,
        "is_chosen": False,
        "families": (),
        "is_best_hidden": False,
    }
    return NodeRow(id=id, parents=parents, **row | fields)


def drawn(*nodes: NodeRow) -> TreeDrawing:
    return tree_drawing(nodes, {}, RunResult.model_validate(BASE))


def test_a_chain_goes_right_in_one_row_and_a_second_child_below():
    boxes = {b.node.id: b for b in drawn(node(1), node(2, 1), node(3, 2), node(4, 1)).boxes}
    assert boxes[1].y == boxes[2].y == boxes[3].y < boxes[4].y
    assert boxes[1].x < boxes[2].x == boxes[4].x < boxes[3].x


def test_a_merge_has_a_further_edge_to_its_second_parent():
    edges = drawn(node(1), node(2), node(3, 1, 2)).edges
    assert [e.first for e in edges] == [True, False]


def test_each_draft_has_a_band_with_all_its_nodes():
    tree = drawn(node(1), node(2, draft_id="1"), node(3, draft_id="2"), node(4, draft_id="1"))
    assert [b.heading for b in tree.bands] == ["Baseline", "Draft 1", "Draft 2"]
    inside = [[b.node.id for b in tree.boxes if band.y <= b.y < band.y + band.height] for band in tree.bands]
    assert inside == [[1], [2, 4], [3]]


def test_the_better_score_has_the_longer_bar_where_lower_is_better():
    merits = {b.node.id: b.merit for b in drawn(node(1, validation=0.5), node(2, validation=0.4), node(3)).boxes}
    assert merits == {1: 0.0, 2: 1.0, 3: None}


@given(st.lists(st.lists(st.integers(0, 70), max_size=3), max_size=60))
def test_whatever_the_parents_every_node_is_drawn_once_inside_and_none_hides_another(parents: list[list[int]]):
    tree = drawn(*(node(i, *p) for i, p in enumerate(parents, 1)))
    assert [b.node.id for b in tree.boxes] == list(range(1, len(parents) + 1))
    places = {(b.x, b.y) for b in tree.boxes}
    assert len(places) == len(parents)
    for box in tree.boxes:
        assert 0 <= box.x <= tree.width - BOX_WIDTH
        assert any(band.y < box.y <= band.y + band.height - BOX_HEIGHT for band in tree.bands)
