"""Lessons of own runs: paired differences from the run's database, and never a graded answer."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.community.ideas.evidence import WHOLE_DRAFT
from bot.knowledge.entry import Entry, format_entry
from bot.research.curation.lessons import lessons_of
from scrapers.snapshots.card import MetricSpec, TaskCard
from state.clock import ReplayClock, SystemClock
from state.errors import UsageError
from state.progress import create_node, end_node, end_run
from state.store import Store
from state.submissions import update_submission
from tests.state.rows import add_report, add_submission, create_run

CUTOFF = datetime(2020, 3, 1, tzinfo=UTC)
CARD = TaskCard(
    slug="tiny-table",
    title="Tiny table",
    category="tabular-regression",
    description="Predict the price of each row.",
    metric=MetricSpec(name="rmse", direction="minimize"),
    id_column="id",
    prediction_columns=("price",),
    enabled_at=datetime(2020, 1, 1, tzinfo=UTC),
    deadline=CUTOFF,
)
HIDDEN = 0.918273645
"""A graded answer: what a hidden test, or a site, said of a file."""
COMPONENTS = [
    {"name": "target encoding", "analysis": "out of fold", "gain": 0.2, "gain_error": 0.01},
    {"name": "node 3 over node 2", "analysis": "Add: a second network.", "gain": -0.3, "gain_error": 0.02},
    {"name": "more trees", "analysis": "twice as many", "gain": 0.001, "gain_error": 0.01},
    {"name": WHOLE_DRAFT, "analysis": "node 3 against node 1", "gain": 0.4, "gain_error": 0.05},
    {"name": "claimed alone", "analysis": "by a model", "gain": 9.0, "gain_error": None},
]


def write_run(
    folder: Path, *, cutoff: datetime | None = CUTOFF, status: str = "finished", components=COMPONENTS
) -> Path:
    """Write a run that has ended, with graded answers wherever they may lie."""
    folder.mkdir()
    config = {"card": CARD.model_dump(mode="json")}
    with Store.open(folder / "state.db", ReplayClock(CUTOFF)) as store, store.write() as tx:
        create_run(
            tx, "run-1", competition="tiny-table", agent="comind", model="m", seed=0, cutoff=cutoff, config=config
        )
        create_node(tx, "run-1", action="draft", id=1, plan="a plan")
        end_node(tx, "run-1", 1, "valid", score=0.5)
        add_report(
            tx, "run-1", "1", draft_id=None, title="Encodings", method="trees", known_at=CUTOFF,
            components=components, numbers=f"public {HIDDEN}", best_node=1, score=0.5,
        )  # fmt: skip
        add_submission(
            tx, "run-1", "1", node=1, tag="t", status="confirmed", prediction_source="refit", file_sha="f" * 64
        )
        update_submission(tx, "run-1", "1", score=HIDDEN)
        tx.record("graded", run_id="run-1", score=HIDDEN)
        end_run(tx, "run-1", status)
    graded = {"score": HIDDEN, "hidden_scores": {"1": HIDDEN}, "private": HIDDEN, "win_rate": HIDDEN}
    (folder / "result.json").write_text(json.dumps(graded))
    return folder


def only(path: Path) -> Entry:
    (entry,) = lessons_of(path, SystemClock())
    return entry


def test_a_lesson_says_what_gained_what_lost_and_what_made_no_difference(tmp_path):
    entry = only(write_run(tmp_path / "run"))
    gained, lost = entry.claim.split("Lost beyond noise:")
    lost, neither = lost.split("No difference beyond noise:")
    assert "+0.2 ± 0.01: target encoding: out of fold" in gained
    assert "+0.4 ± 0.05: draft 'Encodings' compared with the script it builds on" in gained
    assert "-0.3 ± 0.02: Add: a second network." in lost
    assert "+0.001 ± 0.01: more trees" in neither
    assert "claimed alone" not in entry.claim
    assert not re.search(r"\bnode \d", entry.claim)
    assert (entry.kind, entry.support, entry.competitions) == ("lesson", "measured", ("tiny-table",))
    assert "tabular/regression" in entry.labels


def test_graded_answers_are_nowhere_in_a_lesson(tmp_path):
    folder = write_run(tmp_path / "run")
    assert str(HIDDEN) in (folder / "result.json").read_text()
    text = format_entry(only(folder))
    assert "target encoding" in text
    figures = [float(found) for found in re.findall(r"\d+\.\d+", text)]
    assert figures
    assert not [figure for figure in figures if abs(figure - HIDDEN) < 0.001]


def test_a_lesson_does_not_change_with_the_graded_answers(tmp_path):
    before = only(write_run(tmp_path / "run"))
    (tmp_path / "run" / "result.json").unlink()
    assert only(tmp_path / "run") == before


def test_a_replays_lesson_is_known_since_its_competition_ended_and_a_live_ones_since_its_own_end(tmp_path):
    assert only(write_run(tmp_path / "replay", cutoff=CUTOFF - timedelta(days=9))).known_at == CUTOFF
    late = CUTOFF + timedelta(days=9)
    assert only(write_run(tmp_path / "late", cutoff=late)).known_at == late
    live = only(write_run(tmp_path / "live", cutoff=None))
    assert datetime.now(UTC) - live.known_at < timedelta(minutes=5)


def test_a_run_without_comparisons_or_without_an_end_teaches_nothing(tmp_path):
    assert lessons_of(write_run(tmp_path / "plain", components=[]), SystemClock()) == []
    assert lessons_of(write_run(tmp_path / "stopped", status="stopped"), SystemClock()) == []


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(UsageError, match="neither a run folder"):
        lessons_of(tmp_path, SystemClock())
