"""What was collected goes when its time is over: all of it, from the file itself, and nothing else."""

import json
import zlib
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event
from sqlmodel import SQLModel

from scrapers.posts.duplicates import Sketched, note_sketches
from scrapers.posts.sketches import Sketch
from state.backup import back_up
from state.community import CommunityView
from state.community_rows import add_community
from state.errors import StateUnavailable, UsageError
from state.integrity import connect
from state.knowledge import add_idea, close_idea
from state.labs import add_note, keep_report, open_lab
from state.progress import create_node, end_execution, end_node, end_run, start_execution
from state.retention import BY_COMPETITION, BY_RUN, prunable, prune_community, prune_expired
from state.series import take_reading
from state.steps import StepKind, finish_step, start_step
from state.store import Store, put_blob
from state.tables import Control, KernelVersion, Note, Observation, PostedMessage, Topic, Watermark
from state.tasks import claim_task, put_task, retry_task
from tests.state.conftest import START, StandingClock
from tests.state.derive import from_events, from_rows
from tests.state.rows import add_analysis, add_draft, add_report, create_run, log_model_call

KEPT = {"run", "task", str(Note.__tablename__), str(Control.__tablename__)}
"""Tables with a competition that stay."""


def words(competition: str, what: str) -> str:
    """Return a text over many pages, each of which names its owner."""
    return f"SECRET-{competition}-{what} " * 400


def collect(store: Store, name: str) -> None:
    at = START + timedelta(hours=1)
    with store.write() as tx:
        raw = put_blob(tx, words(name, "raw file"))
        rows: list[Any] = [
            Topic(competition=name, id="1", title=words(name, "title"), posted_at=START),
            PostedMessage(competition=name, id="10", topic_id="1", posted_at=START, markdown=words(name, "first text")),
            KernelVersion(
                competition=name, id="20", ref="a/b", created_at=START, text=words(name, "kernel"), raw_sha=raw
            ),
            Observation(competition=name, target="message", target_id="10", at=at, votes=3, tier=f"SECRET-{name}-tier"),
        ]
        add_community(tx, name, rows)
        take_reading(tx, name, "page", "rules", {}, content=words(name, "rules"))
        tx.add(Watermark(competition=name, part="pages", value={"seen": f"SECRET-{name}-mark"}))
        sketch = Sketch("ab" * 32, None, bytes(range(256)) * 2)
        note_sketches(tx, name, [Sketched("message", "10", START, sketch), Sketched("kernel", "20", START, sketch)])
        put_task(tx, f"learn:{name}", "learn", competition=name)
        claim_task(tx, "owner", kinds=["learn"])
        retry_task(tx, f"learn:{name}", "owner", due_at=at, error=f"no SECRET-{name}-words", limit=1)
        tx.record("task.died", run_id="bot", competition=name, error=f"SECRET-{name}", traceback=f"SECRET-{name}-trace")
    with store.write() as tx:
        # An edit leaves the older text in the file.
        later = PostedMessage(
            competition=name, id="10", topic_id="1", posted_at=START, edited_at=at, markdown="short now"
        )
        add_community(tx, name, [later])


def learn(store: Store, name: str, status: str = "finished") -> str:
    run = f"run-on-{name}"
    with store.write() as tx:
        create_run(tx, run, competition=name, agent="comind", model="m", seed=0, cutoff=None)
        add_analysis(
            tx, run, "message/10", post_kind="message", post_id="10", known_at=START, summary=words(name, "summary")
        )
        add_idea(tx, run, text=words(name, "idea"), sources=["message/10"], known_at=START)
        close_idea(tx, run, 1, "retired", reason=f"SECRET-{name}-reason", known_at=START)
        path = {"name": f"SECRET-{name}-path", "ideas": []}
        tx.record("ideas.proposed", run_id=run, name="propose:1", analyses={}, paths=[path], dropped=[path])
        add_draft(
            tx, run, "1", title=f"SECRET-{name}-draft", description=words(name, "draft"), idea_ids=[1], known_at=START
        )
        add_report(tx, run, "1", draft_id="1", title="t", method=words(name, "report"), known_at=START, best_node=1)
        create_node(tx, run, action="draft", draft_id="1", plan=words(name, "plan"), code="fit()")
        start_execution(tx, run, "n1-holdout-0", node=1, view="holdout")
        end_execution(tx, run, "n1-holdout-0", reason="finished", exit_code=0, seconds=1.0, log=f"log of {name}")
        end_node(tx, run, 1, "valid", score=0.5)
        open_lab(tx, run, 1, draft_id="1", parents=(), title=f"SECRET-{name}-lab")
        add_note(tx, run, 1, f"SECRET-{name}-note")
        keep_report(tx, run, 1, {"believed": f"SECRET-{name}-report"})
        tx.record("worker.crashed", run_id=run, node=1, traceback=f"at SECRET-{name}-traceback")
        for step, result in {
            "analyze:message/10": {"text": words(name, "answer"), "fault": None, "refused": None},
            "decision": {"actions": [{"kind": "draft"}]},
            "execute:holdout": {"reason": "finished"},
        }.items():
            kind = StepKind(step, dict[str, Any])
            start_step(tx, run, kind)
            finish_step(tx, run, kind, result)
        log_model_call(
            tx, run, step="analyze:message/10", role="analyst", prompt_name="analyze_post", model="m", as_of=START,
            items=[("message/10", START)], messages=[{"role": "user", "content": words(name, "prompt")}],
            answer=words(name, "answer"), prompt_hash="0" * 64, prompt_tokens=9, completion_tokens=1, cost_usd=0.1, node=1,
        )  # fmt: skip
        log_model_call(
            tx, run, step="hello", role="coder", prompt_name="p", model="m", as_of=START, items=[], messages=[],
            answer="an answer that runs on both have", prompt_hash="0" * 64, prompt_tokens=1, completion_tokens=1,
            cost_usd=None, node=None,
        )  # fmt: skip
        if status != "running":
            end_run(tx, run, status)
    return run


def everything(store: Store, name: str) -> list[Any]:
    """Return all rows that are a competition's or its run's."""
    found: list[Any] = []
    with closing(connect(store.path)) as database:
        for table in SQLModel.metadata.sorted_tables:
            for column, value in (("competition", name), ("run_id", f"run-on-{name}")):
                if column in table.columns:
                    query = f"SELECT * FROM {table.name} WHERE {column} = ?"  # noqa: S608
                    found += [(table.name, *row) for row in database.execute(query, (value,))]
    return found


def bodies(store: Store) -> str:
    with closing(connect(store.path)) as database:
        return "\n".join(zlib.decompress(data).decode() for (data,) in database.execute("SELECT data FROM blob"))


def held_by_files(folder: Path, *needles: bytes) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return [path.name for path in files for needle in needles if needle in path.read_bytes()]


@pytest.fixture
def careless() -> Iterator[None]:
    """Connections that leave what they delete where it is, as SQLite does unless it was built otherwise."""

    def on_connect(connection: Any, _: object) -> None:
        connection.execute("PRAGMA secure_delete=OFF")

    event.listen(Engine, "connect", on_connect)
    yield
    event.remove(Engine, "connect", on_connect)


def test_nothing_of_it_remains_in_any_file_and_all_else_stays(tmp_path: Path, careless: None) -> None:
    path = tmp_path / "bot.db"
    with Store.open(path, StandingClock()) as store:
        for name in ("old", "other"):
            collect(store, name)
            learn(store, name)
        copy = back_up(store)
        assert copy.name in held_by_files(tmp_path, b"SECRET-old")
        others = everything(store, "other")
        with closing(connect(path)) as database:
            packed = [
                data for (data,) in database.execute("SELECT data FROM blob") if b"SECRET-old" in zlib.decompress(data)
            ]
        assert "SECRET-old" in bodies(store) and len(packed) == 4
        pruned = prune_community(store, "old")
        assert (pruned.posts, pruned.readings, pruned.derived, pruned.bodies, pruned.runs) == (
            3,
            2,
            4,
            4,
            ("run-on-old",),
        )
        assert "SECRET-old" not in bodies(store)
        assert "an answer that runs on both have" in bodies(store)
        assert everything(store, "other") == others
        assert held_by_files(tmp_path, b"SECRET-old", *packed) == []
        assert prunable(store, "old").posts == 0
    assert sorted(item.name for item in tmp_path.iterdir()) == ["backups", "bot.db"]
    assert held_by_files(tmp_path, b"SECRET-old", *packed) == []
    assert sorted(held_by_files(tmp_path, b"SECRET-other")) == [copy.name, "bot.db"]


def test_what_a_run_did_scored_and_spent_stays_and_in_its_events(store: Store) -> None:
    collect(store, "old")
    run = learn(store, "old")
    before = from_rows(store, run)
    assert before.nodes[1].score == 0.5 and before.ledger == {}
    prune_community(store, "old")
    assert from_rows(store, run) == before
    assert from_events(store.export_events(run)) == before
    events = list(store.export_events(run))
    assert [one["id"] for one in events] == list(range(1, len(events) + 1))
    assert events[-1]["type"] == "community.pruned" and events[-1]["posts"] == 3
    with store.read() as session:
        rows = session.connection().exec_driver_sql("SELECT name, result FROM step ORDER BY name").all()
        code = session.connection().exec_driver_sql("SELECT code_sha FROM node").scalar_one()
        tokens = session.connection().exec_driver_sql("SELECT sum(prompt_tokens) FROM modelcall").scalar_one()
    assert {name: json.loads(result) for name, result in rows} == {
        "analyze:message/10": {},
        "decision": {"actions": [{"kind": "draft"}]},
        "execute:holdout": {"reason": "finished"},
    }
    assert store.blob(code) == b"fit()"
    assert tokens == 10


def test_every_table_of_a_competition_either_goes_or_is_known_to_stay() -> None:
    tables = {table.name: set(table.columns.keys()) for table in SQLModel.metadata.sorted_tables}
    assert {name for name, columns in tables.items() if "competition" in columns} == set(BY_COMPETITION) | KEPT
    derived = {name for name, columns in tables.items() if {"run_id", "known_at"} <= columns}
    assert derived | {"ideause"} == set(BY_RUN)


def test_a_competition_with_a_run_that_has_not_ended_is_left_alone(store: Store) -> None:
    collect(store, "old")
    learn(store, "old", status="running")
    with pytest.raises(UsageError, match="run-on-old"):
        prune_community(store, "old")
    assert prunable(store, "old").posts == 3


def test_pruning_again_changes_nothing(store: Store) -> None:
    collect(store, "old")
    run = learn(store, "old")
    prune_community(store, "old")
    events = list(store.export_events(run))
    again = prune_community(store, "old")
    assert (again.posts, again.derived, again.bodies) == (0, 0, 0)
    assert list(store.export_events(run)) == events


def test_what_is_collected_after_it_is_there(store: Store) -> None:
    collect(store, "old")
    prune_community(store, "old")
    collect(store, "old")
    assert len(CommunityView(store, "old", START + timedelta(hours=2)).posts()) == 2


def test_a_community_is_kept_for_its_life_and_the_days_after(store: Store) -> None:
    for name in ("ended", "recent", "running"):
        collect(store, name)
    deadlines = {
        "ended": START - timedelta(days=31),
        "recent": START - timedelta(days=30),
        "running": START + timedelta(days=9),
        "never collected": START - timedelta(days=999),
    }
    assert [one.competition for one in prune_expired(store, deadlines, 30, START)] == ["ended"]
    assert prune_expired(store, deadlines, 30, START) == []
    assert prunable(store, "recent").posts == prunable(store, "running").posts == 3


@pytest.mark.integration  # ten seconds of waiting for a lock
def test_while_another_process_reads_the_log_is_not_reported_empty(tmp_path: Path) -> None:
    path = tmp_path / "bot.db"
    with Store.open(path, StandingClock(), busy_seconds=0.1) as store:
        collect(store, "old")
        with closing(connect(path)) as other:
            other.execute("BEGIN")
            other.execute("SELECT count(*) FROM topic").fetchone()
            with pytest.raises(StateUnavailable):
                prune_community(store, "old")
        prune_community(store, "old")
    assert held_by_files(tmp_path, b"SECRET-old") == []
