"""A day and a run in which a stranger's text stands wherever one can: rewritten for each text, in one open database."""

from pathlib import Path

from bot.evaluation.answers.experiments import Arrays, ScoredExperiment
from bot.execution.record import SCORED_EXPERIMENT
from bot.status import problems
from bot.web.sources import Sources
from bot.web.views import Views
from sandbox.gpu import Gpus
from state import labs
from state.experiments import add_experiment
from state.polling import mark_failed
from state.store import NO_RUN, Store
from tests.bot.status import parts
from tests.bot.status.parts import NOW, RUN, SPOOKY
from tests.bot.web.conftest import TOML
from tests.state.rows import add_submission

_TEXTS = {
    "topic": ("title", "author", "url"),
    "message": ("author", "markdown"),
    "kernelversion": ("title", "author", "url", "text"),
    "node": ("plan", "error", "model"),
    "lab": ("title", "reason"),
    "experiment": ("name", "note"),
    "idea": ("text", "reason"),
    "draft": ("title",),
    "submission": ("message",),
    "note": ("text",),
    "task": ("error",),
    "watermark": ("error",),
    "letter": ("last_error",),
}
"""Columns that hold what others wrote, by table."""
_IN_JSON = {
    "step": ("result", "json_object('text', :text)"),
    "event": ("data", "json_set(data, '$.sentence', :text, '$.why', :text, '$.line', :text)"),
}


def hostile_day(folder: Path) -> tuple[Store, Views]:
    """Write a day with a lab and posts of today; returns the open database, and what reads its pages."""
    (folder / "bot.toml").write_text(TOML, encoding="utf-8")
    clock = parts.busy(folder / "state")
    store = parts.opened(folder / "state", clock)
    with store.write() as tx:
        labs.open_lab(tx, RUN, 4, draft_id="1", parents=[3], title="a lab")
        result = SCORED_EXPERIMENT.dump_python(ScoredExperiment(Arrays(), 0.5, None, None, None), mode="json")
        add_experiment(tx, RUN, 3, name="a", kind="model", result=result, lab=4)
        for name in ("turn:1", "lab.turn"):
            tx.connection.exec_driver_sql(
                "INSERT INTO step (run_id, node, name, attempt, status, result, started_at) "
                "VALUES (?, 4, ?, 1, 'finished', '{}', ?)",
                (RUN, name, "2026-11-20 09:00:00.000000"),
            )
        labs.end_turn(tx, RUN, 4, 1)
        add_submission(tx, RUN, "3", node=3, tag="t3", status="refused", prediction_source="refit", file_sha="d" * 64)
        tx.record("guards.found", run_id=RUN, node=3, sentence="it is too good")
        tx.record("entry.waiting", run_id=NO_RUN, competition=SPOOKY, reason="x", line="x")
        problems.begin(tx, "x/y", "x")
        mark_failed(tx, SPOOKY, "topics", ValueError("x"), refused=False)  # type: ignore[arg-type]
        tx.connection.exec_driver_sql("UPDATE message SET posted_at = ?", ("2026-11-20 09:00:00.000000",))
        tx.connection.exec_driver_sql("UPDATE topic SET posted_at = ?", ("2026-11-20 08:00:00.000000",))
        tx.connection.exec_driver_sql("UPDATE kernelversion SET created_at = ?", ("2026-11-20 09:00:00.000000",))
    assert clock.now() == NOW
    return store, Views(Sources(folder / "bot.toml"), Gpus(), "csrf")


def write_everywhere(store: Store, text: str) -> None:
    """Let a stranger's text stand in every column that may hold one."""
    with store.write(durable=False) as tx:
        for table, columns in _TEXTS.items():
            values = ", ".join(f"{column} = :text" for column in columns)
            tx.connection.exec_driver_sql(f"UPDATE {table} SET {values}", {"text": text})  # noqa: S608
        for table, (column, value) in _IN_JSON.items():
            tx.connection.exec_driver_sql(f"UPDATE {table} SET {column} = {value}", {"text": text})  # noqa: S608
