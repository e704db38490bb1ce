"""Work: nodes are counted, the best is by the metric's direction, which stays open if the card cannot be read."""

from pathlib import Path

import pytest

from bot.execution.folder import lower_is_better
from bot.status.work import Nodes, Pool, best_over_time, doing, latest_runs, nodes_of, pool_of
from state.store import Store
from tests.bot.status.parts import NOW, RUN, busy, opened
from tests.state.conftest import START
from tests.state.rows import create_run


@pytest.fixture
def busy_store(tmp_path: Path) -> Store:
    return opened(tmp_path, busy(tmp_path))


def test_nodes_are_counted_by_status(busy_store: Store) -> None:
    with busy_store, busy_store.read() as session:
        assert nodes_of(session, RUN, lower=True) == Nodes(1, 2, 1, 1, 3, 0.4)
        assert nodes_of(session, RUN, lower=False) == Nodes(1, 2, 1, 1, 1, 0.5)
        assert nodes_of(session, RUN, lower=None).best_score is None
        assert nodes_of(session, "another", lower=True) == Nodes()
        assert pool_of(session, RUN) == Pool(2, 2, 1, 1)


def test_what_is_worked_on_is_shown_with_its_execution(busy_store: Store) -> None:
    with busy_store, busy_store.read() as session:
        (work,) = doing(session, RUN)
    assert (work.node, work.action, work.execution, work.since) == (
        4,
        "improve",
        "n4-holdout-0",
        "2026-11-20T08:00:00Z",
    )


def test_the_best_becomes_better_by_the_metrics_direction(busy_store: Store) -> None:
    with busy_store, busy_store.read() as session:
        assert [score for _, score in best_over_time(session, RUN, NOW, lower=True)] == [0.5, 0.4]
        assert [score for _, score in best_over_time(session, RUN, NOW, lower=False)] == [0.5]
        assert best_over_time(session, RUN, START, lower=True) == []
        assert best_over_time(session, RUN, NOW, lower=None) == []


def test_a_replay_is_no_live_run_and_of_several_the_latest_counts(busy_store: Store) -> None:
    with busy_store:
        with busy_store.write() as tx:
            create_run(tx, "past", competition="wine", agent="a", model="m", seed=0, cutoff=START)
            create_run(tx, "new", competition="beer", agent="a", model="m", seed=0, cutoff=None)
        with busy_store.read() as session:
            assert sorted(run.id for run in latest_runs(session).values()) == ["new", RUN]


def test_the_metrics_direction_is_the_cards_and_else_unknown() -> None:
    assert lower_is_better({"card": {"metric": {"direction": "maximize"}}}) is False
    assert lower_is_better({"card": {"metric": {"direction": "minimize"}}}) is True
    for config in ({}, {"card": None}, {"card": {"metric": {"direction": "sideways"}}}):
        assert lower_is_better(config) is None
