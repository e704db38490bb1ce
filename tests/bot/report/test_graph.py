"""The drawing of what went into what."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.community.dependencies.graph import Graph, Rows, build
from bot.report.graph import BOX_HEIGHT, MOST, GraphDrawing, graph_drawing
from state.community import Post
from state.tables import Draft, Idea, Node, Submission

T = datetime(2020, 1, 1, tzinfo=UTC)


def post(number: int) -> Post:
    return Post("kernel", str(number), T, f"kernel {number}", "", "bob", None, 1)


def idea(number: int, *sources: int) -> Idea:
    made = {"known_at": T, "created_at": T}
    return Idea(run_id="r", id=number, text=f"idea {number}", sources=[f"kernel/{one}" for one in sources], **made)


def draft(number: int, *ideas: int, on: int | None = None) -> Draft:
    made = {"title": f"draft {number}", "description": "", "known_at": T, "created_at": T}
    return Draft(run_id="r", id=str(number), idea_ids=list(ideas), codebase_node=on, **made)


def node(id: int, of: int | None, score: float | None, *parents: int, action: str = "improve") -> Node:
    made = {"status": "buggy" if score is None else "valid", "score": score, "created_at": T}
    return Node(run_id="r", id=id, action=action, draft_id=of and str(of), parents=list(parents), **made)


def sent(of: int) -> Submission:
    return Submission(run_id="r", id="1", node=of, tag="t", status="confirmed", handed_in="refit", at=T)


def drawn(graph: Graph) -> GraphDrawing:
    drawing = graph_drawing(graph, {"draft/1": "#draft-1"}, lambda score: -score)
    assert drawing is not None
    return drawing


SMALL = Rows(
    posts=[post(1), post(2), post(3)],
    ideas=[idea(1, 1), idea(2, 2), idea(3)],
    drafts=[draft(1, 1), draft(2, 2, on=3)],
    nodes=[node(1, None, 0.9), node(2, 1, 0.7), node(3, 1, 0.6), node(4, 1, None), node(5, 2, 0.8)],
    submissions=[sent(3)],
)


def test_from_posts_on_the_left_to_what_was_handed_in_on_the_right():
    drawing = drawn(build(SMALL, lower_is_better=True))
    across = {box.element.id: box.x for box in drawing.boxes if box.element is not None}
    assert across["kernel/1"] < across["idea/1"] < across["draft/1"] < across["node/3"] < across["submission/1"]
    assert [heading for heading, _ in drawing.headings] == [
        "Sources",
        "Ideas, reproduced kernels",
        "Drafts",
        "Scripts",
        "Handed in",
    ]


def test_what_no_draft_used_and_scripts_that_were_not_their_drafts_best_are_counted():
    boxes = drawn(build(SMALL, lower_is_better=True)).boxes
    shown = {box.element.id for box in boxes if box.element is not None}
    assert shown.isdisjoint({"kernel/3", "idea/3", "node/2", "node/4"})
    assert {"node/3", "node/5"} <= shown
    folded = {(box.first, box.second) for box in boxes if box.element is None}
    assert folded == {("1 more", "no draft used them"), ("3 more", "not used")}


def test_what_went_into_what_was_handed_in_is_marked_and_what_a_draft_is_built_on_is_named():
    drawing = drawn(build(SMALL, lower_is_better=True))
    used = {box.element.id for box in drawing.boxes if box.element is not None and box.used}
    assert used == {"kernel/1", "idea/1", "draft/1", "node/3", "submission/1"}
    assert sum(curve.used for curve in drawing.curves) == 4
    details = {box.element.id: (box.second, box.link) for box in drawing.boxes if box.element is not None}
    assert details["draft/2"] == ("draft 2 on node 3, -0.2", None)
    assert details["draft/1"] == ("draft 1, +0.3", "#draft-1")


def test_the_sources_of_an_idea_that_was_merged_lead_to_the_one_that_took_its_place():
    merged = idea(1, 1)
    merged.state, merged.successors = "merged", [2]
    rows = Rows(posts=[post(1), post(2)], ideas=[merged, idea(2, 2)], drafts=[draft(1, 2)], nodes=[node(2, 1, 0.5)])
    graph = build(rows, lower_is_better=True)
    drawing = drawn(graph)
    assert {box.element.id for box in drawing.boxes if box.element} == {
        "kernel/1",
        "kernel/2",
        "idea/2",
        "draft/1",
        "node/2",
    }
    assert len(drawing.curves) == 4
    assert graph.credits["kernel/1"].drafts == ("draft/1",)


def test_without_drafts_there_is_nothing_to_draw():
    assert graph_drawing(build(Rows(nodes=SMALL.nodes[:1]), lower_is_better=True), {}, lambda score: score) is None


@pytest.mark.integration
@given(
    st.lists(st.lists(st.integers(1, 40), max_size=3, unique=True), max_size=60),
    st.lists(st.lists(st.integers(1, 60), max_size=4, unique=True), min_size=1, max_size=40),
    st.lists(st.integers(1, 40), max_size=90),
)
def test_whatever_went_into_what_boxes_lie_inside_and_apart_and_curves_run_to_the_right(
    sources: list[list[int]], used: list[list[int]], made: list[int]
):
    drafts = [draft(n, *(one for one in ideas if one <= len(sources))) for n, ideas in enumerate(used, 1)]
    nodes = [node(n, of, 0.5 if n % 3 else None) for n, of in enumerate(made, 2) if of <= len(drafts)]
    blended = [one.id for one in nodes if one.score][:3]
    nodes.append(node(99, None, 0.4, *blended, action="ensemble"))
    ideas = [idea(n, *of) for n, of in enumerate(sources, 1)]
    rows = Rows([post(n) for n in range(1, 41)], {}, ideas, drafts, nodes=nodes, submissions=[sent(99)])
    graph = build(rows, lower_is_better=True)
    drawing = drawn(graph)
    places = {(box.x, box.y) for box in drawing.boxes}
    assert len(places) == len(drawing.boxes)
    for box in drawing.boxes:
        assert 0 <= box.x <= drawing.width - box.width
        assert 0 <= box.y <= drawing.height - BOX_HEIGHT
    columns = {box.x for box in drawing.boxes}
    assert all(sum(box.x == x for box in drawing.boxes) <= MOST + 1 for x in columns)
    for curve in drawing.curves:
        start, *_, end = curve.path[1:].split()[0], *curve.path.split()[-2:-1]
        assert int(start) < int(end)
