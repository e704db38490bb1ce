"""Our own submissions: how they stand, and how few questions that takes."""

from typing import Any

from scrapers.kaggle.polling.poller import Poller
from state.series import history, last_reading
from state.store import Store
from tests.scrapers.kaggle.polling.world import SLUG, World


def sent(ref: int, status: str = "COMPLETE", score: str = "0.5") -> dict[str, Any]:
    at = f"2026-11-20T09:00:{ref % 60:02}Z"
    return {"ref": ref, "status": status, "publicScore": score, "date": at, "description": f"run-{ref}"}


def statuses(store: Store, ref: int) -> list[tuple[str, str]]:
    with store.read() as session:
        rows = history(session, SLUG, "submission", str(ref))
        return [(row.data["status"], row.data["public_score"]) for row in rows]


async def test_a_submission_is_followed_to_its_score(world: World, store: Store, poller: Poller) -> None:
    world.submissions = [sent(7, "PENDING", "")]
    assert (await poller.poll(SLUG, "submissions")).ids("submission changed") == ["7"]
    assert not await poller.poll(SLUG, "submissions")
    world.submissions = [sent(7)]
    assert (await poller.poll(SLUG, "submissions")).ids("submission changed") == ["7"]
    assert statuses(store, 7) == [("PENDING", ""), ("COMPLETE", "0.5")]
    with store.read() as session:
        limits = last_reading(session, SLUG, "limits")
        assert limits is not None and limits.data["num_allowed_now"] == 4


async def test_in_quiet_times_it_takes_two_questions_and_once_a_day_the_old_ones_are_read_too(world, store, poller):
    world.submissions = [sent(ref) for ref in (9, 8, 7)]
    await poller.poll(SLUG, "submissions")
    world.methods()
    world.submissions[2] = sent(7, score="0.6")  # scored anew
    await poller.poll(SLUG, "submissions")
    assert world.methods() == ["ListSubmissions", "GetSubmissionLimits"]
    assert statuses(store, 7) == [("COMPLETE", "0.5")]
    world.clock.advance(86_400)
    await poller.poll(SLUG, "submissions")
    assert world.methods() == ["ListSubmissions", "ListSubmissions", "GetSubmissionLimits"]
    assert statuses(store, 7) == [("COMPLETE", "0.5"), ("COMPLETE", "0.6")]


async def test_a_pending_one_among_settled_ones_is_not_overlooked(world: World, store: Store, poller: Poller) -> None:
    world.submissions = [sent(9), sent(8, "PENDING", ""), sent(7)]
    await poller.poll(SLUG, "submissions")
    world.submissions[1] = sent(8)
    assert (await poller.poll(SLUG, "submissions")).ids("submission changed") == ["8"]


async def test_what_an_answer_lacks_stays_as_it_was_shown(world: World, store: Store, poller: Poller) -> None:
    world.submissions = [sent(7)]
    await poller.poll(SLUG, "submissions")
    for name in ("status", "publicScore", "date", "description"):
        world.submissions = [{**sent(7), name: None}]
        assert not await poller.poll(SLUG, "submissions"), name
        world.submissions = [{other: value for other, value in sent(7).items() if other != name}]
        assert not await poller.poll(SLUG, "submissions"), name
    world.submissions = [{**sent(7, "PENDING"), "publicScore": ""}]
    await poller.poll(SLUG, "submissions")
    world.submissions = [sent(7, score="0.6")]
    await poller.poll(SLUG, "submissions")
    assert statuses(store, 7) == [("COMPLETE", "0.5"), ("COMPLETE", "0.6")]
