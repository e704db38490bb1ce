"""`bot submissions`, `approve` and `submit`: what they show, what they leave for the daemon, and when nobody has looked."""

import json
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlmodel import select
from typer.testing import CliRunner, Result

from bot.cli import app
from bot.live.reading.proposals import CardProposal, confirmed, propose
from bot.status.presence import record_start
from bot.status.problems import begin
from bot.submission.rules import RuleLine, note_reading, rules_of
from state.approvals import answer_request, ask_approval, open_requests
from state.clock import FastClock, SystemClock
from state.errors import UsageError
from state.progress import create_node, end_node
from state.series import take_reading
from state.store import Store
from state.submissions import CONSIDERED, advance_submission, intend_submission, update_submission
from state.tables import Approval
from tests.state.rows import create_run

RUN = "titanic-aide-builtin-0-20200101T000000Z"


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A daemon's folder with a run that has sent one file and holds another."""
    monkeypatch.setenv("LOGNAME", "ada")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bot.toml").write_text('[daemon]\ndir = "state"\n\n[competitions.titanic]\n', encoding="utf-8")
    (tmp_path / "state").mkdir()
    return tmp_path


@pytest.fixture
def store(here: Path) -> Iterator[Store]:
    with Store.open(here / "state" / "bot.db", SystemClock()) as opened:
        with opened.write() as tx:
            create_run(tx, RUN, competition="titanic", agent="aide", model="builtin", seed=0, cutoff=None)
            for id, score in ((1, 0.7), (2, 0.8), (3, None)):
                create_node(tx, RUN, action="draft", id=id)
                end_node(tx, RUN, id, "buggy" if score is None else "valid", score=score)
        with opened.write() as tx:
            one = intend_submission(tx, RUN, node=1, prediction_source="refit", file_sha="ab" * 32)
            answer = {"decision": "send", "until": None, "of_file": False, "state": "x"}
            tx.record(CONSIDERED, run_id=RUN, node=1, submission=one.id, reason="first submission, with", **answer)
            advance_submission(tx, RUN, one.id, "sending")
            advance_submission(tx, RUN, one.id, "confirmed", ref="7")
            update_submission(tx, RUN, one.id, score=0.65)
            two = intend_submission(tx, RUN, node=2, prediction_source="holdout", file_sha="cd" * 32)
            ask_approval(tx, RUN, two.id, reason="a gain of 0.1")
        yield opened


def bot(*arguments: str, status: int = 0) -> Result:
    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == status, done.output
    return done


@pytest.mark.usefixtures("store")
def test_what_was_sent_and_what_waits_is_listed_with_scores_and_why() -> None:
    table = bot("submissions").stdout
    assert "first submission, with" in " ".join(table.split())
    first, second = (json.loads(line) for line in bot("submissions", "titanic", "--json").stdout.splitlines())
    assert (first["node"], first["validation"], first["public"], first["status"]) == (1, 0.7, 0.65, "confirmed")
    assert (first["source"], first["reason"], first["approval"]) == ("refit", "first submission, with", None)
    assert (second["status"], second["approval"]) == ("held", 1)
    assert "a gain of 0.1" in second["reason"] and "awaiting your approval (`bot approve 1`):" in " ".join(
        table.split()
    )
    with pytest.raises(UsageError, match="no run on wine"):
        bot("submissions", "wine")


def test_what_was_decided_against_is_shown_too(store: Store) -> None:
    with store.write() as tx:
        answer = {"decision": "never", "until": None, "of_file": False, "state": "x", "submission": None}
        tx.record(CONSIDERED, run_id=RUN, node=2, reason="the gain is too small", **answer)
    assert "node 2 was not submitted: the gain is too small" in bot("submissions").stdout


def test_without_a_database_each_reports_it() -> None:
    for command in (("submissions",), ("approve", "1"), ("submit", "titanic", "2")):
        with pytest.raises(UsageError, match="database not found"):
            bot(*command)


def test_an_approval_is_written_down_for_the_daemon_once(store: Store) -> None:
    assert "submission 1 is approved; no daemon is running" in bot("approve", "1").stdout
    bot("approve", "1")
    with pytest.raises(UsageError, match="was already approved by ada"):
        bot("approve", "1", "--refuse")
    with store.read() as session:
        (row,) = session.exec(select(Approval)).all()
    assert (row.decision, row.by) == ("approved", "ada")


def test_a_refusal_goes_by_the_tag_as_well(store: Store) -> None:
    answer = json.loads(bot("approve", f"{RUN}-2-cdcdcdcd", "--refuse", "--json").stdout)
    assert (answer["decision"], answer["submission"], answer["daemon_runs"]) == ("refused", "2", False)


def test_what_waits_is_listed_with_its_commands(store: Store) -> None:
    with store.write() as tx:
        begin(tx, "rules/titanic", "read its rules, then: bot approve titanic --rules")
        begin(tx, "disk", "the disk is full")
    held, rules = bot("approve").stdout.splitlines()
    assert held.startswith(
        "`bot approve 1` or `bot approve 1 --refuse`: titanic, node 2, validation 0.8, waiting for 0 h 0"
    )
    assert held.endswith(" min: a gain of 0.1")
    assert rules == "read its rules, then: bot approve titanic --rules"
    bot("approve", "1", "--refuse")
    assert json.loads(bot("approve", "--json").stdout) == {"waiting": [rules]}
    with pytest.raises(UsageError, match="no submission or competition given"):
        bot("approve", "--rules")


def test_in_a_rehearsal_the_wait_is_shown_in_real_time(store: Store) -> None:
    store.clock = FastClock(datetime.now(UTC), 2000, time.time() - 630)
    with store.write() as tx:
        record_start(tx, 1)
    assert "waiting for 0 h 10 min" in bot("approve").stdout


@pytest.mark.usefixtures("store")
def test_what_does_not_wait_is_said_with_what_does() -> None:
    with pytest.raises(UsageError, match="no submission 9 is waiting for approval; waiting: 1"):
        bot("approve", "9")


def test_rules_are_accepted_as_they_were_read_with_what_was_read_of_them(store: Store) -> None:
    with pytest.raises(UsageError, match="have not been read yet"):
        bot("approve", "titanic", "--rules")
    line = RuleLine(topic="external data", allowed="no", sentence="None may be used.", quote="No external data.")
    with store.write() as tx:
        take_reading(tx, "titanic", "page", "rules", {}, content="No external data.")
        note_reading(tx, "titanic", (line,))
    answer = json.loads(bot("approve", "titanic", "--rules", "--json").stdout)
    assert answer["lines"] == [line.model_dump(mode="json")]
    with store.read() as session:
        found = rules_of(session, "titanic", read=False)
    assert (found.sha, found.confirmed, found.lines) == (answer["rules"], True, (line,))
    assert found.forbid("external data") and not found.forbid("sharing")
    assert 'external data (no): None may be used. "No external data."' in bot("approve", "titanic", "--rules").stdout


def test_a_proposed_card_is_confirmed_by_its_competition(store: Store) -> None:
    with pytest.raises(UsageError, match="no task spec has been proposed for titanic"):
        bot("approve", "titanic", "--card")
    with store.write() as tx:
        propose(tx, "titanic", CardProposal(values={"metric": "rmse"}, quotes=("On RMSE.",), reader="the model"))
    assert bot("approve", "titanic", "--card").stdout.strip() == 'titanic: task spec confirmed: metric = "rmse"'
    with store.read() as session:
        found = confirmed(session, "titanic")
    assert found is not None and found.overrides.metric == "rmse"


def test_a_wish_that_nobody_has_answered_is_kept_and_shown_so(store: Store) -> None:
    done = bot("submit", "titanic", "2", "--wait", "0", status=1)
    assert done.stdout.strip() == (
        "submission of node 2 on titanic requested; no daemon is running: `bot run` will decide when it starts"
    )
    answer = json.loads(bot("submit", "titanic", "2", "--wait", "0", "--json", status=1).stdout)
    assert (answer["request"], answer["seen"], answer["state"]) == (1, False, "open")
    with store.read() as session:
        assert [(request.node, request.by) for request in open_requests(session, RUN)] == [(2, "ada")]


@pytest.mark.parametrize(
    ("state", "status", "words"),
    [
        ("intended", 0, "is submission 5 of its run"),
        ("refused", 1, "was not submitted: too bad"),
        ("open", 0, "waits: too bad"),
    ],
)
def test_the_daemons_status_line_is_shown(store: Store, state: str, status: int, words: str) -> None:
    def daemon() -> None:
        with Store.open(store.path, SystemClock()) as other:
            while True:
                time.sleep(0.02)
                with other.read() as session:
                    requests = open_requests(session, RUN)
                for request in requests:
                    with other.write() as tx:
                        answer_request(tx, request.id or 0, state, "too bad", "5" if state == "intended" else None)
                    return

    thread = threading.Thread(target=daemon)
    thread.start()
    done = bot("submit", "titanic", "2", "--wait", "20", status=status)
    thread.join()
    assert words in done.stdout


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize(
    ("node", "words"), [("3", "node 3 on titanic is buggy and has no validation score"), ("9", "has no node 9")]
)
def test_a_node_that_cannot_be_sent_is_refused_at_once(node: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        bot("submit", "titanic", node)
