"""The laws of the schedule, and several notices merged into one."""

import random
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.notify.outbox import merge
from bot.notify.schedule import MOST_TOGETHER, Plan, SentLetter, WaitingNotice, is_due, is_quiet, opens_at, plan
from bot.notify.settings import NotifySection
from state.clock import back_off
from state.tables import Letter, Notification

START = datetime(2026, 3, 27, 12, tzinfo=UTC)
"""Two days before the clocks change in Zurich."""

PLAIN, DIGEST = "leaderboard.medal", "leaderboard.rank"

SETTINGS = NotifySection(first_pause=10, longest_pause=100, seconds=5)

HOUR = timedelta(hours=1)


@dataclass
class Service:
    """A service that takes what it is sent, or does not, and the rows that are kept of it."""

    section: NotifySection
    fails: float
    rng: random.Random
    waiting: list[WaitingNotice] = field(default_factory=list)
    letters: dict[int, SentLetter] = field(default_factory=dict)
    parts: dict[int, tuple[int, ...]] = field(default_factory=dict)
    attempts: dict[int, int] = field(default_factory=dict)
    took: list[tuple[datetime, int]] = field(default_factory=list)

    def round(self, now: datetime) -> None:
        found = plan(self.waiting, self.letters.values(), now, self.section)
        new = range(len(self.letters), len(self.letters) + len(found.bundles))
        for id, bundle in zip(new, found.bundles, strict=True):
            urgent = any(one.urgent for one in self.waiting if one.id in bundle)
            self.letters[id], self.parts[id] = SentLetter(id, urgent, now), bundle
            self.waiting = [one for one in self.waiting if one.id not in bundle]
        for id in (*found.retries, *new):
            if self.rng.random() < 0.1:
                return  # killed before the attempt
            self._attempt(id, now)

    def _attempt(self, id: int, now: datetime) -> None:
        self.attempts[id] = self.attempts.get(id, 0) + 1
        pause = back_off(self.attempts[id], self.section.first_pause, self.section.longest_pause)
        wait = self.section.seconds + pause
        self.letters[id] = replace(self.letters[id], tried_at=now, due_at=now + timedelta(seconds=wait))
        if self.rng.random() >= self.fails:
            self.took.append((now, id))
            # Else killed between sending and writing down.
            self.letters[id] = replace(self.letters[id], sent=self.rng.random() > 0.1)


sections = st.builds(
    NotifySection,
    digest=st.sampled_from([(DIGEST,), ()]),
    digest_hours=st.sampled_from([(8,), (2,), (12, 23), (0, 5, 13)]),
    quiet=st.sampled_from(["22:00-07:00", "12:00-13:15", "01:30-02:30", None]),
    time_zone=st.sampled_from(["UTC", "Europe/Zurich", "Asia/Kathmandu"]),
    per_hour=st.integers(1, 6),
    first_pause=st.just(600.0),
)

notices = st.lists(
    st.tuples(st.integers(0, 3 * 24 * 60), st.sampled_from([PLAIN, DIGEST, "problem.docker"])), min_size=8, max_size=60
)


def simulated(section: NotifySection, sent: list[tuple[int, str]], seed: int, minutes: int) -> Service:
    """Let four days pass in steps of some minutes, and then as many more as it takes without failures."""
    service = Service(section, 0.3, random.Random(seed))
    coming = [
        WaitingNotice(id, kind, kind.startswith("problem"), START + timedelta(minutes=at))
        for id, (at, kind) in enumerate(sorted(sent))
    ]
    now, end = START, START + timedelta(days=4)
    while now < end or (now < end + timedelta(days=40) and not all(one.sent for one in service.letters.values())):
        service.waiting += [one for one in coming if one.created_at <= now]
        coming = [one for one in coming if one.created_at > now]
        service.fails = 0.3 if now < end else 0.0
        service.round(now)
        now += timedelta(minutes=minutes)
    return service


@settings(max_examples=25)
@given(sections, notices, st.integers(0, 10**6), st.sampled_from([7, 20, 61]))
def test_each_notice_is_in_one_letter_at_the_rate_and_never_in_quiet_hours(section, sent, seed, minutes) -> None:
    service = simulated(section, sent, seed, minutes)
    letters = {letter for _, letter in service.took}
    arrived = [id for letter in letters for id in service.parts[letter]]
    assert sorted(arrived) == list(range(len(sent))), "each once, and nothing lost"
    assert all(one.sent for one in service.letters.values())
    for at, letter in service.took:
        assert service.letters[letter].urgent or not is_quiet(at, section)
        within = {other for time, other in service.took if at - HOUR < time <= at}
        assert len(within) <= section.per_hour
    assert all(len(bundle) <= MOST_TOGETHER for bundle in service.parts.values())


def waiting(count: int, kind: str = PLAIN, *, urgent: bool = False, at: datetime = START) -> list[WaitingNotice]:
    return [WaitingNotice(id, kind, urgent, at) for id in range(count)]


def test_what_is_within_the_rate_goes_one_by_one_and_what_is_over_it_together() -> None:
    section = NotifySection(per_hour=4)
    assert plan(waiting(3), [], START, section).bundles == ((0,), (1,), (2,))
    assert plan(waiting(9), [], START, section).bundles == ((0,), (1,), tuple(range(2, 9)))


def test_the_last_place_of_an_hour_is_for_what_is_urgent() -> None:
    section = NotifySection(per_hour=2)
    one = [SentLetter(0, False, START, START - timedelta(minutes=5), sent=True)]
    assert plan(waiting(1), one, START, section).bundles == ()
    assert plan(waiting(1, "problem.disk", urgent=True), one, START, section).bundles == ((0,),)


def test_a_letter_counts_once_for_the_rate_however_often_it_is_tried() -> None:
    section = NotifySection(per_hour=2)
    failed = [SentLetter(0, False, START, START - timedelta(minutes=5))]
    assert plan([], failed, START, section).retries == (0,)
    full = [*failed, *(SentLetter(id, False, START, START - timedelta(minutes=id), sent=True) for id in (1, 2))]
    assert plan([], full, START, section).retries == (0,)
    old = [replace(full[0], tried_at=START - 2 * HOUR), *full[1:]]
    assert plan([], old, START, section).retries == ()


def test_a_digest_waits_for_its_hour_in_the_owners_zone_and_comes_in_one_letter() -> None:
    section = NotifySection(digest=(DIGEST,), digest_hours=(8, 20), time_zone="Europe/Zurich")
    due = datetime(2026, 3, 27, 20, tzinfo=ZoneInfo("Europe/Zurich"))
    assert opens_at(waiting(1, DIGEST)[0], START, section) == due
    assert plan(waiting(30, DIGEST), [], due - timedelta(seconds=1), section).bundles == ()
    assert plan(waiting(30, DIGEST), [], due, section).bundles == (tuple(range(30)),)


def test_a_digest_is_at_its_hour_of_the_day_before_and_after_the_clocks_change() -> None:
    section = NotifySection(digest=(DIGEST,), digest_hours=(8,), time_zone="Europe/Zurich")
    for day, hour in ((28, 7), (29, 6)):
        came = datetime(2026, 3, day, 0, tzinfo=UTC)
        assert opens_at(WaitingNotice(0, DIGEST, False, came), came, section) == came.replace(hour=hour)


def test_notices_of_quiet_hours_come_together_at_their_end_but_urgent_ones_at_once() -> None:
    section = NotifySection(quiet="22:00-07:00", time_zone="UTC")
    night = datetime(2026, 3, 27, 23, tzinfo=UTC)
    assert plan(waiting(5, at=night), [], night, section).bundles == ()
    assert plan(waiting(1, "problem.gpu", urgent=True, at=night), [], night, section).bundles == ((0,),)
    morning = datetime(2026, 3, 28, 7, tzinfo=UTC)
    assert plan(waiting(5, at=night), [], morning - timedelta(seconds=1), section).bundles == ()
    assert plan(waiting(5, at=night), [], morning, section).bundles == ((0, 1, 2, 3, 4),)


def test_quiet_hours_hold_back_a_digest_whose_hour_is_in_them_and_what_is_tried_again() -> None:
    section = NotifySection(quiet="22:00-07:00", time_zone="UTC", digest=(DIGEST,), digest_hours=(3,))
    night = datetime(2026, 3, 28, 4, tzinfo=UTC)
    failed = [
        SentLetter(0, False, night, night - timedelta(minutes=5)),
        SentLetter(1, True, night, night - timedelta(minutes=5)),
    ]
    assert plan(waiting(2, DIGEST), failed, night, section) == Plan(retries=(1,))
    assert plan(waiting(2, DIGEST), failed, night + 3 * HOUR, section) == Plan(retries=(1, 0), bundles=((0, 1),))


def test_a_clock_that_was_put_back_holds_nothing_for_ever() -> None:
    section = NotifySection(digest=(DIGEST,), digest_hours=(8,), per_hour=1)
    future = START + timedelta(days=300)
    assert opens_at(WaitingNotice(0, DIGEST, False, future), START, section) < START + timedelta(days=1)
    assert plan(waiting(1), [SentLetter(0, False, future, future, sent=True)], START, section).bundles == ((0,),)
    assert is_due(future, START, section)


@pytest.mark.parametrize(("hour", "minute", "quiet"), [(21, 59, False), (22, 0, True), (6, 59, True), (7, 0, False)])
def test_quiet_hours_begin_and_end_to_the_minute(hour: int, minute: int, quiet: bool) -> None:
    section = NotifySection(quiet="22:00-07:00", time_zone="UTC")
    assert is_quiet(datetime(2026, 3, 27, hour, minute, tzinfo=UTC), section) is quiet


def test_what_was_held_goes_before_nothing_that_is_older() -> None:
    section = NotifySection(per_hour=2, digest=(DIGEST,), digest_hours=(8,))
    at = datetime(2026, 3, 27, 8, tzinfo=UTC)
    older = WaitingNotice(1, PLAIN, False, at - timedelta(hours=20))
    held = [WaitingNotice(id, DIGEST, False, at - timedelta(hours=10)) for id in range(2, 2 + 2 * MOST_TOGETHER)]
    # One place, as the other is for what is urgent: the oldest of all share it.
    (letter,) = plan([older, *held], [], at, section).bundles
    assert letter == (1, *range(2, 1 + MOST_TOGETHER))
    # Where there is room, each is sent in its own way, the oldest first.
    roomy = plan([older, *held], [], at, section.model_copy(update={"per_hour": 20})).bundles
    assert [(one[0], len(one)) for one in roomy] == [(1, 1), (2, MOST_TOGETHER), (2 + MOST_TOGETHER, MOST_TOGETHER)]


def test_what_comes_each_hour_does_not_keep_another_waiting() -> None:
    section = NotifySection(per_hour=1, digest=(DIGEST,), digest_hours=tuple(range(24)))
    now, waiting, sent = START, [WaitingNotice(0, PLAIN, False, START)], dict[int, int]()
    letters = [SentLetter(0, False, START, START, sent=True)]
    for hour in range(1, 6):
        now = START + hour * HOUR
        waiting += [
            WaitingNotice(100 * hour + n, DIGEST, False, now - timedelta(minutes=30)) for n in range(MOST_TOGETHER)
        ]
        found = plan(waiting, letters, now, section).bundles
        sent |= {id: hour for one in found for id in one}
        waiting = [one for one in waiting if one.id not in sent]
        letters = [SentLetter(hour, False, now, now, sent=True)]
    assert sent[0] == 1
    assert list(sent) == sorted(sent)


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
