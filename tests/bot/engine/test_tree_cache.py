"""The tree that is kept between readings is the one that the rows tell of, whatever happens to them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.engine.attempts import read_tree
from bot.engine.tree import TreeCache
from state.clock import SystemClock
from state.progress import create_node, end_node, update_node
from state.spending import charge
from state.store import Store
from tests.state.rows import add_draft, create_run

RUN = "r"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "state.db", SystemClock()) as opened:
        begin(opened, RUN)
        yield opened


def begin(store: Store, run: str) -> None:
    with store.write() as tx:
        create_run(tx, run, competition="c", agent="a", model="m", seed=1, cutoff=None)


def test_nothing_new_gives_the_same_tree_and_reads_no_node(store: Store) -> None:
    cache = TreeCache()
    with store.write() as tx:
        create_node(tx, RUN, action="draft")
    first = read_tree(store, RUN, False, cache)
    with store.write() as tx:
        tx.record("step.started", run_id=RUN, name="decision", attempt=0)
        tx.record("model.called", run_id=RUN, node=1)
    assert read_tree(store, RUN, False, cache) is first


def test_a_node_that_ends_and_one_that_begins_are_seen(store: Store) -> None:
    cache = TreeCache()
    assert read_tree(store, RUN, False, cache).nodes == ()
    with store.write() as tx:
        create_node(tx, RUN, action="draft")
    assert [n.state for n in read_tree(store, RUN, False, cache).nodes] == ["running"]
    with store.write() as tx:
        end_node(tx, RUN, 1, "valid", score=0.5)
        create_node(tx, RUN, action="improve", parents=[1])
    tree = read_tree(store, RUN, True, cache)
    assert [(n.id, n.state, n.score) for n in tree.nodes] == [(1, "valid", 0.5), (2, "running", None)]
    assert tree[1].fitness == -0.5
    assert not tree.is_leaf(tree[1])


def test_a_draft_planned_once_its_node_was_read_gives_it_its_share(store: Store) -> None:
    cache = TreeCache()
    with store.write() as tx:
        create_node(tx, RUN, action="draft", draft_id="1")
    assert read_tree(store, RUN, False, cache)[1].draft_share is None
    with store.write() as tx:
        add_draft(tx, RUN, "1", title="t", description="d", share=0.6, known_at=tx.now())
    assert read_tree(store, RUN, False, cache)[1].draft_share == 0.6


@pytest.mark.integration
def test_a_tree_of_more_changes_than_are_read_one_by_one_is_whole(store: Store) -> None:
    cache = TreeCache()
    read_tree(store, RUN, False, cache)
    with store.write() as tx:
        for _ in range(450):
            create_node(tx, RUN, action="draft")
    assert [n.id for n in read_tree(store, RUN, False, cache).nodes] == list(range(1, 451))


_acts = st.lists(
    st.tuples(st.sampled_from(["create", "update", "valid", "buggy", "failed", "charge", "read"]), st.integers(1, 4)),
    max_size=30,
)


# The store is shared between examples on purpose: each has a run of its own in it.
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(acts=_acts)
def test_whatever_happens_the_kept_tree_is_that_of_the_rows(store: Store, acts: list[tuple[str, int]]) -> None:
    with store.write() as tx:
        run = f"run {tx.record('example', run_id='examples')}"
    begin(store, run)
    cache, made = TreeCache(), 0
    for act, node in acts:
        if act == "read":
            read_tree(store, run, False, cache)
            continue
        with store.write(durable=False) as tx:
            if act == "create":
                made += 1
                create_node(tx, run, action="draft", draft_id=str(node))
            elif act == "charge":
                charge(tx, run, "tokens", node=node)
            elif node <= made and act == "update":
                update_node(tx, run, node, plan="p")
            elif node <= made:
                end_node(tx, run, node, act, score=float(node) if act == "valid" else None)  # type: ignore[arg-type]
    assert read_tree(store, run, False, cache) == read_tree(store, run, False, TreeCache())
