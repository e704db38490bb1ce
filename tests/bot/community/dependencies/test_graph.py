"""The dependency graph: what went into what, what came of each source, and that nothing later than a time is in it."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.community.dependencies.graph import Edge, Gain, Graph
from bot.community.dependencies.rows import dependency_graph
from state.community import CommunityView
from state.community_rows import add_community
from state.knowledge import add_analysis, add_draft, add_idea, add_report, add_reproduction
from state.progress import create_node, create_run, end_node
from state.spending import log_model_call
from state.store import Store, Transaction
from state.tables import KernelVersion, Message, Node, Reproduction, Submission, Topic
from tests.state.communities import HOURS
from tests.state.conftest import START, StandingClock

END = START + timedelta(days=1)
_numbers = count()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for all examples; each is a run of its own in it."""
    path: Path = tmp_path_factory.mktemp("graph") / "state.db"
    with Store.open(path, StandingClock(as_of=END)) as store:
        yield store


def begun(store: Store, competition: str = "wine") -> str:
    """Begin a run and return its id."""
    run = f"run {next(_numbers)}"
    with store.write() as tx:
        create_run(tx, run, competition=competition, agent="comind", model="builtin", seed=7, cutoff=END)
    return run


def graph(store: Store, run: str, as_of: datetime = END, competition: str = "wine") -> Graph:
    view = CommunityView(store, competition, as_of)
    return dependency_graph(store, run, view, as_of, lower_is_better=True)


def script(tx: Transaction, run: str, id: int, score: float | None, draft: int | None = None, *parents: int) -> None:
    create_node(tx, run, id=id, action="draft", parents=parents, draft_id=draft and str(draft), plan=f"plan {id}")
    end_node(tx, run, id, "buggy" if score is None else "valid", score=score)


@pytest.fixture(scope="module")
def small(shared: Store) -> Graph:
    """Two drafts of three ideas of a topic and a kernel; the second is built on the kernel as it was reproduced."""
    run = begun(shared)
    with shared.write() as tx:
        posts = [
            Topic(competition="wine", id="1", title="Trees?", author="ann", posted_at=START),
            KernelVersion(
                competition="wine",
                id="4",
                ref="bob/bayes",
                title="Bayes",
                author="bob",
                created_at=START,
                datasets=["bob/words"],
            ),
        ]
        add_community(tx, "wine", posts)
        for item in ("topic/1", "kernel/4"):
            kind, _, id = item.partition("/")
            add_analysis(tx, run, item, post_kind=kind, post_id=id, summary="s", known_at=START)
        script(tx, run, 1, 0.9)
        for sources in (["topic/1"], ["topic/1", "kernel/4"], ["kernel/4"]):
            add_idea(tx, run, text="try it", sources=sources, known_at=START)
        draft = {"description": "d", "known_at": START}
        add_draft(tx, run, "1", title="first", idea_ids=[1, 2], **draft)
        script(tx, run, 2, 0.7, 1)
        script(tx, run, 3, 0.6, 1, 2)
        create_node(tx, run, id=4, action="reproduce", parents=[], plan="Bayes")
        add_reproduction(
            tx, Reproduction(run_id=run, id="kernel/4", title="Bayes", state="ran", node=4, known_at=START)
        )
        add_draft(tx, run, "2", title="second", idea_ids=[], codebase_node=4, **draft)
        script(tx, run, 5, 0.65, 2)
        create_node(tx, run, id=6, action="ensemble", parents=[2, 3])
        parts = [
            {"name": "a", "idea": 1, "gain": 0.01, "gain_error": 0.002},
            {"name": "b", "idea": 1, "gain": 0.03, "gain_error": 0.02},
        ]
        add_report(tx, run, "2", draft_id="1", title="t", method="m", components=parts, known_at=START)
        tx.add(Submission(run_id=run, id="1", node=6, tag=run, status="confirmed", handed_in="blend", at=START))
    return graph(shared, run)


@pytest.mark.parametrize(
    "edge",
    [
        Edge("dataset/bob/words", "kernel/4", "read"),
        Edge("topic/1", "idea/1", "suggested"),
        Edge("idea/2", "draft/1", "used"),
        Edge("kernel/4", "node/4", "reproduced"),
        Edge("node/4", "draft/2", "built_on"),
        Edge("draft/1", "node/3", "made"),
        Edge("node/2", "node/3", "parent"),
        Edge("node/3", "node/6", "member"),
        Edge("draft/1", "report/2", "reported"),
        Edge("node/6", "submission/1", "handed_in"),
    ],
)
def test_what_went_into_what_is_an_edge(small: Graph, edge: Edge):
    assert edge in small.edges


def test_an_element_says_what_it_is_whose_and_since_when(small: Graph):
    kernel, node = small.elements["kernel/4"], small.elements["node/3"]
    assert (kernel.kind, kernel.title, kernel.author, kernel.known_at) == ("kernel", "Bayes", "bob", START)
    assert (node.kind, node.title, node.state, node.score, node.known_at) == ("script", "plan 3", "valid", 0.6, START)
    assert [small.elements[f"node/{id}"].kind for id in (4, 6)] == ["reproduction", "blend"]
    assert small.elements["node/1"].known_at is None


def test_a_source_is_credited_with_its_ideas_the_drafts_that_used_them_and_what_was_built_on_it(small: Graph):
    topic, kernel = small.credits["topic/1"], small.credits["kernel/4"]
    assert (topic.ideas, topic.drafts, topic.handed_in) == (("idea/1", "idea/2"), ("draft/1",), True)
    assert (kernel.ideas, kernel.drafts) == (("idea/2", "idea/3"), ("draft/1", "draft/2"))
    assert list(small.credits) == ["topic/1", "kernel/4"]


def test_an_idea_has_its_best_measured_gain_and_a_draft_that_over_all_that_others_had_scored_before(small: Graph):
    assert small.elements["idea/1"].gain == Gain(0.03, 0.02)
    assert small.elements["draft/1"].gain == Gain(pytest.approx(0.3))
    assert small.elements["draft/2"].gain == Gain(pytest.approx(-0.05))
    assert (small.credits["kernel/4"].idea_gain, small.credits["topic/1"].idea_gain) == (None, Gain(0.03, 0.02))


def test_a_gain_is_beyond_noise_by_more_than_two_standard_errors_which_are_known():
    assert [Gain(value, error).beyond_noise for value, error in ((0.3, 0.1), (0.2, 0.1), (0.3, None))] == [
        True,
        False,
        False,
    ]


def test_what_was_handed_in_is_traced_back_to_the_posts_and_not_through_other_drafts(small: Graph):
    used = small.handed_in()
    assert {"submission/1", "node/6", "node/2", "draft/1", "idea/1", "topic/1", "kernel/4"} <= used
    assert used.isdisjoint({"idea/3", "draft/2", "node/5", "node/1", "report/2"})


_TIMES = st.lists(HOURS, min_size=4, max_size=4)


@pytest.mark.integration
@settings(max_examples=20, deadline=None)
@given(posted=_TIMES, later=st.lists(st.integers(0, 4), min_size=12, max_size=12), as_of=HOURS, data=st.data())
def test_nothing_later_than_a_time_is_in_it_and_nothing_of_before_is_left_out(
    shared: Store, posted: list[datetime], later: list[int], as_of: datetime, data: st.DataObject
):
    """Rows are dated at or after what they are made of, as all derived rows are; then so is everything in the graph."""
    competition, wait = f"c{next(_numbers)}", iter(timedelta(hours=hours) for hours in later)
    run = begun(shared, competition)
    with shared.write() as tx:
        messages = [
            Message(competition=competition, id=str(n), topic_id="1", posted_at=time, markdown="x")
            for n, time in enumerate(posted)
        ]
        add_community(tx, competition, [Topic(competition=competition, id="1", title="t", posted_at=START), *messages])
        ideas: dict[int, datetime] = {}
        for number in range(1, 4):
            of = data.draw(st.lists(st.integers(0, 3), unique=True, max_size=2))
            ideas[number] = max((posted[n] for n in of), default=START) + next(wait)
            add_idea(tx, run, text="i", sources=[f"message/{n}" for n in of], known_at=ideas[number])
        known: dict[int, datetime] = {}
        script(tx, run, 1, 0.9)
        for number in range(1, 4):
            used = data.draw(st.lists(st.integers(1, 3), unique=True, max_size=2))
            on = data.draw(st.none() | st.integers(1, number))
            times = [*(ideas[idea] for idea in used), *([known[on]] if on in known else []), START]
            known[number + 1] = max(times) + next(wait)
            add_draft(
                *(tx, run, str(number)),
                **{
                    "title": "t",
                    "description": "d",
                    "idea_ids": used,
                    "codebase_node": on,
                    "known_at": known[number + 1],
                },
            )
            script(tx, run, number + 1, 0.5, number)
        kernel = max(posted) + next(wait)
        create_node(tx, run, id=5, action="reproduce", parents=[])
        add_reproduction(tx, Reproduction(run_id=run, id="message/0", title="k", state="ran", node=5, known_at=kernel))
        create_node(tx, run, id=6, action="ensemble", parents=[2, 4])
        shown = data.draw(st.lists(st.integers(0, 3), unique=True, max_size=2))
        script(tx, run, 7, 0.6)
        items = [(f"message/{n}", posted[n]) for n in shown]
        call = {"step": "write", "role": "coder", "prompt_name": "write_script", "model": "m", "messages": []}
        log_model_call(tx, run, items=items, as_of=END, answer="", prompt_hash="", node=7, **call)
        tx.add(Submission(run_id=run, id="1", node=6, tag=run, status="confirmed", handed_in="blend", at=START))
    full, then = graph(shared, run, END, competition), graph(shared, run, as_of, competition)
    assert {edge.source for edge in full.edges if edge.kind == "shown"} == {item for item, _ in items}
    for edge in full.edges:
        before, after = full.elements[edge.source].known_at, full.elements[edge.target].known_at
        assert before is None or (after is not None and before <= after)
    wanted = {id for id, one in full.elements.items() if one.known_at is None or one.known_at <= as_of}
    used_then = {id for edge in then.edges for id in (edge.source, edge.target)}
    assert {id for id, one in then.elements.items() if one.known_at is not None and one.known_at > as_of} == set()
    posts = {id for id in wanted if id.startswith("message/")}
    assert set(then.elements) - posts == wanted - posts
    assert set(then.edges) == {e for e in full.edges if {e.source, e.target} <= wanted}
    assert used_then <= wanted


def test_runs_do_not_see_each_others_graph(shared: Store, small: Graph):
    assert small.elements
    assert graph(shared, begun(shared)) == Graph()


def test_nodes_of_a_run_without_community_are_there(shared: Store):
    run = begun(shared)
    with shared.write() as tx:
        script(tx, run, 1, 0.9)
        script(tx, run, 2, None, None, 1)
    found = dependency_graph(shared, run, None, END, lower_is_better=True)
    assert list(found.elements) == ["node/1", "node/2"]
    assert found.edges == (Edge("node/1", "node/2", "parent"),)
    with shared.read() as session:
        assert session.get_one(Node, (run, 2)).status == found.elements["node/2"].state
