"""Where a run's notebooks stand, in words: from the rehearsal to the score."""

from pathlib import Path

import pytest

from bot.submission.notebook_lines import NotebookLine, notebook_lines
from state.clock import SystemClock
from state.notebooks import NOTEBOOK_REFUSED, record_stage
from state.store import Store
from state.submissions import advance_submission, intend_submission, update_submission
from tests.state.rows import create_run

SHA = "ab" * 32


def lines(store: Store) -> list[NotebookLine]:
    with store.read() as session:
        return notebook_lines(session, "r")


@pytest.fixture
def store(tmp_path: Path):  # type: ignore[no-untyped-def]
    with Store.open(tmp_path / "bot.db", SystemClock()) as opened:
        with opened.write() as tx:
            create_run(tx, "r", competition="wine", agent="aide", model="builtin", seed=0, cutoff=None)
            intend_submission(tx, "r", node=7, prediction_source="notebook", file_sha=SHA)
        yield opened


def test_a_line_follows_a_notebook_from_its_push_to_its_score(store: Store) -> None:
    assert lines(store) == []
    said = []
    for stage in ("pushing", "pushed", "ran"):
        with store.write() as tx:
            record_stage(tx, "r", 7, SHA, stage, ref="me/bot-wine", version=1)  # type: ignore[arg-type]
        said.append(lines(store)[0].sentence)
    for status in ("sending", "confirmed"):
        with store.write() as tx:
            advance_submission(tx, "r", "1", status, ref="5")  # type: ignore[arg-type]
    said.append(lines(store)[0].sentence)
    assert not lines(store)[0].settled
    with store.write() as tx:
        update_submission(tx, "r", "1", score=0.25)
    (last,) = lines(store)
    assert [*said, last.sentence] == [
        "it is being pushed as me/bot-wine",
        "it is running on Kaggle as me/bot-wine, version 1",
        "it ran on Kaggle as me/bot-wine, version 1",
        "me/bot-wine, version 1 was submitted and is running on the hidden test data",
        "me/bot-wine, version 1 has the public score 0.25",
    ]
    assert (last.node, last.settled) == (7, True)


def test_what_the_rehearsal_refused_and_what_failed_are_settled_with_their_reasons(store: Store) -> None:
    with store.write() as tx:
        tx.record(NOTEBOOK_REFUSED, run_id="r", node=3, reason="it would take 11 hours of the 5.4 that it may")
        record_stage(tx, "r", 7, SHA, "failed", reason="its notebook wrote no submission.csv on Kaggle")
    assert [(one.node, one.settled, one.sentence) for one in lines(store)] == [
        (3, True, "not pushed: it would take 11 hours of the 5.4 that it may"),
        (7, True, "abandoned: its notebook wrote no submission.csv on Kaggle"),
    ]
