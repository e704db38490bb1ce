"""Metrics: scraped over HTTP from a real database, by Prometheus' own reader."""

import socket
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

import pytest
from prometheus_client import REGISTRY
from prometheus_client.parser import text_string_to_metric_families
from sqlmodel import select

from bot.budgets.settings import BudgetSettings, Caps
from bot.configuration.competition import CompetitionSettings
from bot.daemon.metrics import LOOPBACK, serve_metrics
from bot.notify import Notice
from bot.notify.letters import ready
from bot.notify.outbox import notify
from bot.notify.settings import NotifySection
from bot.status.accounts import Allowance
from state.errors import UsageError
from state.store import Store
from state.tables import Run
from tests.bot.status.parts import NOMAD, NOW, SPOOKY, busy, opened

Labels = tuple[tuple[str, str], ...]
ALLOWANCE = Allowance(
    BudgetSettings(day=Caps(money=2.0)), {SPOOKY: CompetitionSettings(), NOMAD: CompetitionSettings()}
)


def scrape(port: int) -> dict[str, dict[Labels, float]]:
    """Return the values by name and labels."""
    with urlopen(f"http://{LOOPBACK}:{port}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    found: dict[str, dict[Labels, float]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return found


def of(**labels: str) -> Labels:
    return tuple(sorted(labels.items()))


def test_a_scrape_tells_what_the_database_says(tmp_path: Path) -> None:
    clock = busy(tmp_path)
    with opened(tmp_path, clock) as store:
        with store.write() as tx:
            notify(tx, Notice("a", "problem.disk", "Disk", "low", urgent=True))
        ready(store, "SLACK_URL", NOW, NotifySection())
        with serve_metrics(store, 0, lambda: ALLOWANCE) as port:
            found = scrape(port)
    assert found["kaggle_bot_database_up"] == {(): 1.0}
    assert found["kaggle_bot_poll_failures"][of(competition=SPOOKY, part="kernels")] == 1.0
    polled = found["kaggle_bot_poll_last_success_timestamp_seconds"]
    assert polled[of(competition=SPOOKY, part="topics")] == NOW.timestamp() - 300
    assert of(competition=SPOOKY, part="kernels") not in polled, "it was never read"
    assert found["kaggle_bot_posts"][of(competition=SPOOKY, kind="messages")] == 1.0
    assert found["kaggle_bot_pool"][of(competition=SPOOKY, kind="ideas")] == 2.0
    assert found["kaggle_bot_nodes"][of(competition=SPOOKY, status="valid")] == 2.0
    assert found["kaggle_bot_submissions"][of(competition=SPOOKY)] == 2.0
    assert (found["kaggle_bot_rank"], found["kaggle_bot_teams"]) == (
        {of(competition=SPOOKY): 84.0},
        {of(competition=SPOOKY): 1241.0},
    )
    assert found["kaggle_bot_best_validation_score"] == {of(competition=SPOOKY): 0.4}
    spent = found["kaggle_bot_spent_usd"]
    assert spent[of(level="competition", competition=SPOOKY)] == 1.0
    assert spent[of(level="run", competition=SPOOKY)] == 1.0
    assert found["kaggle_bot_spending_cap_usd"] == {of(level="day", competition=""): 2.0}
    assert found["kaggle_bot_spent_tokens"][of(level="competition", competition=SPOOKY)] == 121_000
    assert found["kaggle_bot_dead_tasks"] == {(): 1.0}
    assert found["kaggle_bot_letters_waiting"] == {of(service="SLACK_URL"): 1.0}
    assert found["kaggle_bot_letters_failing"] == {of(service="SLACK_URL"): 0.0}
    assert found["kaggle_bot_problems"] == {(): 1.0}
    assert found["process_resident_memory_bytes"][()] > 1e6
    assert found["process_open_fds"][()] > 3


def test_names_are_as_prometheus_wants_them_and_the_global_registry_has_none_of_ours(tmp_path: Path) -> None:
    clock = busy(tmp_path)
    with (
        opened(tmp_path, clock) as store,
        serve_metrics(store, 0) as port,
        urlopen(f"http://{LOOPBACK}:{port}/metrics", timeout=10) as answer,
    ):
        families = list(text_string_to_metric_families(answer.read().decode()))
    assert all(family.documentation for family in families)
    assert [one.name for one in families if one.name.endswith(("_ms", "_mb", "_minutes", "_percent", "_total"))] == []
    assert [
        one.name for one in families if "timestamp" in one.name and not one.name.endswith("_timestamp_seconds")
    ] == []
    assert not [one.name for one in REGISTRY.collect() if one.name.startswith("kaggle_bot")]


def test_a_database_that_cannot_be_read_is_told_and_the_rest_still_is(tmp_path: Path) -> None:
    clock = busy(tmp_path)
    with Store.open(tmp_path / "bot.db", clock, busy_seconds=0.2) as store, serve_metrics(store, 0) as port:
        with ExitStack() as readers:
            for _ in range(8):  # all the connections there are
                readers.enter_context(store.read()).exec(select(Run)).all()
            found = scrape(port)
        assert found["kaggle_bot_database_up"] == {(): 0.0}
        assert "kaggle_bot_nodes" not in found
        assert found["process_open_fds"][()] > 3
        assert scrape(port)["kaggle_bot_database_up"] == {(): 1.0}


def test_it_listens_on_loopback_alone_while_it_lasts_and_a_taken_port_is_said(tmp_path: Path) -> None:
    clock = busy(tmp_path)
    with opened(tmp_path, clock) as store:
        with serve_metrics(store, 0) as port:
            with pytest.raises(UsageError, match=rf"{port} .*metrics_port"), serve_metrics(store, port):
                pass
            scrape(port)
        with socket.socket() as probe:
            assert probe.connect_ex((LOOPBACK, port)) != 0
