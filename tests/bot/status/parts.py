"""A daemon's database as it would be on a busy day, written by the functions that a daemon writes it with."""

import tempfile
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from bot.notify.outbox import NO_RUN
from bot.status import presence, problems
from state.community_rows import add_community
from state.errors import KaggleError
from state.knowledge import add_idea
from state.polling import mark_failed, mark_read
from state.progress import create_node, end_execution, end_node, start_execution
from state.series import take_reading
from state.spending import charge
from state.steering import add_note
from state.store import Store
from state.submissions import update_submission
from state.tables import KernelVersion, PostedMessage, Topic
from state.tasks import claim_task, put_task, retry_task
from tests.state.conftest import StandingClock
from tests.state.rows import add_analysis, add_draft, add_report, add_submission, create_run, log_model_call

NOW = datetime(2026, 11, 20, 10, tzinfo=UTC)
SPOOKY, NOMAD = "spooky-author-identification", "nomad2018-predict-transparent-conductors"
RUN = "spooky_author_identification-comind-builtin-0-20261119T100000000000Z"
CARD = {"metric": {"name": "log_loss", "direction": "minimize"}}
BOARD = {"rank": 84, "teams": 1241, "score": 0.3217, "medal": "bronze"}


def opened(folder: Path, clock: StandingClock) -> Store:
    return Store.open(folder / "bot.db", clock)


def busy(folder: Path) -> StandingClock:
    """Write a day of two competitions: one is worked on, the other waits; returns the clock, which stands at `NOW`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bot.db").write_bytes(_busy())
    return StandingClock(NOW)


@cache
def empty() -> bytes:
    """Return the file of a database without rows; to make its tables takes longer than most tests."""
    with tempfile.TemporaryDirectory() as made:
        opened(Path(made), StandingClock()).close()
        return (Path(made) / "bot.db").read_bytes()


@cache
def _busy() -> bytes:
    clock = StandingClock(NOW - timedelta(days=1))
    with tempfile.TemporaryDirectory() as made:
        (Path(made) / "bot.db").write_bytes(empty())
        with opened(Path(made), clock) as store:
            _yesterday(store, clock)
            clock.time = NOW - timedelta(hours=2)
            _today(store, clock)
        return (Path(made) / "bot.db").read_bytes()


def _yesterday(store: Store, clock: StandingClock) -> None:
    with store.write() as tx:
        presence.record_start(tx, 4242)
        facts = {"deadline": (NOW + timedelta(days=12.5)).isoformat(), "max_daily_submissions": 5}
        take_reading(tx, SPOOKY, "competition", "", facts)
        take_reading(tx, SPOOKY, "standing", "", {"team_count": 1200, "user_rank": 400})
        add_community(tx, SPOOKY, community())
        create_run(
            tx, RUN, competition=SPOOKY, agent="comind", model="builtin", seed=0, cutoff=None, config={"card": CARD}
        )
        tx.record("entry.working", run_id=NO_RUN, competition=SPOOKY)
    with store.write() as tx:
        clock.pass_by(600)
        for number, (status, score) in enumerate((("valid", 0.5), ("buggy", None), ("valid", 0.4)), start=1):
            create_node(tx, RUN, action="draft")
            clock.pass_by(600)
            end_node(tx, RUN, number, status, score=score)  # type: ignore[arg-type]
        charge(tx, RUN, "tokens", prompt_tokens=90_000, completion_tokens=10_000, cost_usd=0.75)
        charge(tx, RUN, "execution", seconds=60.0, amount=3)
        add_submission(tx, RUN, "1", node=1, tag="t1", status="confirmed", prediction_source="refit", file_sha="f" * 64)
        update_submission(tx, RUN, "1", score=0.55)
        learn(tx)


def community() -> list[Topic | PostedMessage | KernelVersion]:
    posted = NOW - timedelta(days=3)
    return [
        Topic(competition=SPOOKY, id="7", title="Which words tell?", author="ann", posted_at=posted),
        PostedMessage(
            competition=SPOOKY, id="71", topic_id="7", author="ann", posted_at=posted, markdown="Try counts of letters."
        ),
        PostedMessage(competition=SPOOKY, id="72", topic_id="7", author="bob", posted_at=posted, deleted=True),
        KernelVersion(
            competition=SPOOKY, id="5", ref="cy/bayes", version=1, title="Naive Bayes", author="cy", created_at=posted
        ),
        KernelVersion(
            competition=SPOOKY, id="6", ref="cy/bayes", version=2, title="Naive Bayes", author="cy", created_at=posted
        ),
    ]


def learn(tx: Any) -> None:
    """Keep two analyses, an idea with evidence and one without, a draft and its report."""
    posted = NOW - timedelta(days=3)
    for item, effect in (("message/71", 8.0), ("kernel/6", 6.0)):
        kind, id = item.split("/")
        add_analysis(
            tx, RUN, item, post_kind=kind, post_id=id, known_at=posted, summary="It says so.", effectiveness=effect
        )
    add_idea(tx, RUN, text="Count letters beside words.", sources=["message/71", "kernel/6"], known_at=posted)
    add_idea(tx, RUN, text="Blend what there is.", sources=[], known_at=posted)
    add_draft(tx, RUN, "1", title="Letters", description="...", idea_ids=[1], known_at=posted)
    add_report(
        tx, RUN, "1", draft_id="1", title="Letters help", method="Bayes over letters.", known_at=posted, best_node=3,
        score=0.4, numbers="0.5 to 0.4", limitations="Slow.", next_steps="Blend."
    )  # fmt: skip


def _today(store: Store, clock: StandingClock) -> None:
    with store.write() as tx:
        take_reading(tx, SPOOKY, "watch", "", {"standing": BOARD})
        take_reading(tx, SPOOKY, "limits", "", {"num_today": 1, "num_total": 2, "num_allowed_now": 4})
        tx.record("entry.waiting", run_id=NO_RUN, competition=NOMAD, reason="rules", line="its rules are not accepted")
        problems.begin(tx, f"rules/{NOMAD}", f"accept the rules of {NOMAD} on its page")
        create_node(tx, RUN, action="improve", parents=[3])
        start_execution(tx, RUN, "n4-holdout-0", node=4, view="holdout")
        create_node(tx, RUN, action="draft")
        start_execution(tx, RUN, "n5-holdout-0", node=5, view="holdout")
        end_execution(tx, RUN, "n5-holdout-0", reason="finished", exit_code=0, seconds=3.0)
        end_node(tx, RUN, 5, "failed", error="no sandbox")
        add_submission(tx, RUN, "2", node=3, tag="t2", status="confirmed", prediction_source="refit", file_sha="e" * 64)
        charge(tx, RUN, "tokens", prompt_tokens=18_000, completion_tokens=2_000, cost_usd=0.25)
        charge(tx, RUN, "tokens", prompt_tokens=1_000)
        call(tx, items=[("message/71", NOW - timedelta(days=3))])
        mark_failed(tx, SPOOKY, "kernels", KaggleError("Kaggle answered 503 to\nkernels/list"), refused=False)
    with store.write() as tx:
        add_note(tx, SPOOKY, "look at\npunctuation")
        for kind, minutes in (("learn", -60), ("poll", -1), ("submit", 15)):
            put_task(tx, f"{kind}:{SPOOKY}", kind, competition=SPOOKY, due_at=NOW + timedelta(minutes=minutes))
    clock.time = NOW - timedelta(hours=1)
    with store.write() as tx:
        call(tx, items=[("note/1", NOW - timedelta(hours=2))])
        claim_task(tx, "me", kinds=["learn"])
        retry_task(tx, f"learn:{SPOOKY}", "me", due_at=NOW, error="no answer", limit=1)
    clock.time = NOW - timedelta(minutes=20)
    with store.write() as tx:
        add_note(tx, SPOOKY, "and at stop words")
    clock.time = NOW - timedelta(seconds=30)
    with store.write() as tx:
        claim_task(tx, "me", kinds=["poll"])
    clock.time = NOW - timedelta(minutes=5)
    with store.write() as tx:
        mark_read(tx, SPOOKY, "topics", {}, None)
        mark_read(tx, "", "competitions", {}, None)


def call(tx: Any, items: list[tuple[str, datetime]]) -> None:
    log_model_call(
        tx, RUN, step="s", role="planner", prompt_name="p", model="m", as_of=NOW, items=items, messages=[], answer="",
        prompt_hash="h"
    )  # fmt: skip
