"""The laws of the schedule, and several notices merged into one."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from bot.notify.outbox import merge
from bot.notify.schedule import MOST_TOGETHER, PER_HOUR, Plan, Tried, Waiting, is_due, opens_at, plan
from bot.notify.settings import NotifySection
from state.tables import Letter, Notification

START = datetime(2026, 3, 27, 12, tzinfo=UTC)

PLAIN, DIGEST = "leaderboard.medal", "leaderboard.rank"

SETTINGS = NotifySection(digest=(DIGEST,))

HOUR = timedelta(hours=1)


def waiting(count: int, kind: str = PLAIN, *, urgent: bool = False, at: datetime = START) -> list[Waiting]:
    return [Waiting(id, kind, urgent, at) for id in range(count)]


def sent(count: int) -> list[Tried]:
    return [Tried(id, False, START, START - timedelta(minutes=1 + id), sent=True) for id in range(count)]


def test_what_is_within_the_rate_goes_one_by_one_and_what_is_over_it_together() -> None:
    letters = sent(PER_HOUR - 3)
    assert plan(waiting(3), letters, START, SETTINGS).bundles == ((0,), (1,), (2,))
    assert plan(waiting(9), letters, START, SETTINGS).bundles == ((0,), (1,), tuple(range(2, 9)))
    (letter,) = plan(waiting(2 * MOST_TOGETHER), sent(PER_HOUR - 1), START, SETTINGS).bundles
    assert letter == tuple(range(MOST_TOGETHER))
    assert plan(waiting(3), sent(PER_HOUR), START, SETTINGS) == Plan()


def test_what_is_urgent_goes_first() -> None:
    both = [*waiting(2), Waiting(2, "problem.disk", True, START)]
    assert plan(both, sent(PER_HOUR - 1), START, SETTINGS).bundles == ((2,),)
    assert plan(both, [], START, SETTINGS).bundles == ((2,), (0,), (1,))


def test_a_letter_counts_once_for_the_rate_however_often_it_is_tried() -> None:
    failed = Tried(100, False, START, START - timedelta(minutes=5))
    assert plan([], [failed, *sent(PER_HOUR)], START, SETTINGS).again == (100,)
    old = replace(failed, tried_at=START - 2 * HOUR)
    assert plan([], [old, *sent(PER_HOUR)], START, SETTINGS).again == ()


def test_a_digest_waits_for_its_hour_and_comes_in_one_letter() -> None:
    section = NotifySection(digest=(DIGEST,), digest_hours=(8, 20))
    due = START.replace(hour=20)
    assert opens_at(waiting(1, DIGEST)[0], START, section) == due
    assert opens_at(waiting(1, DIGEST)[0], due, section) == due
    assert plan(waiting(30, DIGEST), [], due - timedelta(seconds=1), section).bundles == ()
    assert plan(waiting(30, DIGEST), [], due, section).bundles == (tuple(range(30)),)


def test_a_clock_that_was_put_back_holds_nothing_for_ever() -> None:
    future = START + timedelta(days=300)
    assert opens_at(Waiting(0, DIGEST, False, future), START, SETTINGS) < START + timedelta(days=1)
    letters = [Tried(id, False, future, future, sent=True) for id in range(PER_HOUR)]
    assert plan(waiting(1), letters, START, SETTINGS).bundles == ((0,),)
    assert is_due(future, START)


T = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def row(number: int, body: str = "body", *, urgent: bool = False) -> Notification:
    return Notification(
        key=f"k{number}",
        kind="leaderboard.rank" if number % 2 else "run.best",
        title=f"Title {number}",
        body=body,
        urgent=urgent,
        created_at=T + timedelta(minutes=number),
    )


def merged(*rows: Notification) -> Letter:
    return merge("SLACK", rows, T)


def test_one_stays_as_it_is() -> None:
    letter = merged(row(1))
    assert (letter.key, letter.kind, letter.title, letter.body) == ("k1", "leaderboard.rank", "Title 1", "body")
    assert (letter.service, letter.due_at, letter.urgent) == ("SLACK", T, False)


def test_several_are_listed_in_order_with_their_times() -> None:
    letter = merged(*(row(number) for number in range(5)))
    assert letter.title == "5 notices: leaderboard.rank ×2, run.best ×3"
    assert [line for line in letter.body.splitlines() if "Title" in line] == [
        f"2026-01-02 03:0{4 + number} UTC Title {number}" for number in range(5)
    ]


def test_the_same_ones_have_the_same_key_and_others_another() -> None:
    assert merged(row(1), row(2)).key == merged(row(1), row(2)).key
    assert merged(row(1), row(2)).key != merged(row(1), row(2), row(3)).key


def test_a_long_body_is_cut_with_a_mark_and_what_is_urgent_stays_urgent() -> None:
    letter = merged(row(1, "x" * 5000), row(2, "short", urgent=True))
    assert "4400 more characters" in letter.body
    assert "short" in letter.body
    assert letter.urgent
