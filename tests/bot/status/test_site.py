"""The site: whose deadline holds, what a rank is worth, and how many files may still be sent today."""

from datetime import timedelta

import pytest

from bot.configuration.competition import CompetitionSettings
from bot.status.site import count_sent, deadline, rank
from state.series import take_reading
from state.store import Store
from state.submissions import advance_submission, update_submission
from tests.state.conftest import START, StandingClock
from tests.state.rows import add_submission

NOON = START + timedelta(hours=12)


def read(store: Store, kind: str, name: str = "", **data: object) -> None:
    with store.write() as tx:
        take_reading(tx, "wine", kind, name, data)  # type: ignore[arg-type]


def send(store: Store, number: int, *, score: float | None = None) -> None:
    with store.write() as tx:
        add_submission(tx, "r", str(number), node=1, tag=f"t{number}", status="intended", prediction_source="refit")
        advance_submission(tx, "r", str(number), "sending")
        advance_submission(tx, "r", str(number), "confirmed", ref=str(number))
        update_submission(tx, "r", str(number), score=score)


def left(store: Store, settings: CompetitionSettings | None = None) -> int | None:
    with store.read() as session:
        return count_sent(session, "wine", settings, store.clock.now()).left_today


def test_the_owners_deadline_holds_then_the_sites(store: Store, clock: StandingClock) -> None:
    with store.read() as session:
        assert deadline(session, "wine", None, None) is None
    read(store, "competition", deadline="2020-03-01T00:00:00Z")
    clock.pass_by(3600)
    read(store, "competition", deadline="2020-04-01T00:00:00Z")
    own = CompetitionSettings.model_validate({"deadline": "2020-02-01T00:00:00Z"})
    with store.read() as session:
        assert [
            one.month
            for settings, as_of in ((own, None), (CompetitionSettings(), None), (None, START))
            if (one := deadline(session, "wine", settings, None, as_of)) is not None
        ] == [2, 4, 3]


@pytest.mark.parametrize(
    ("place", "teams", "medal"),
    [(12, 1241, "gold"), (13, 1241, "silver"), (125, 1241, None), (1, 0, None), (0, 9, None)],
)
def test_a_rank_is_worth_a_medal_by_the_number_of_teams(
    store: Store, place: int, teams: int, medal: str | None
) -> None:
    read(store, "standing", user_rank=place, team_count=teams)
    with store.read() as session:
        assert rank(session, "wine").medal == medal


def test_the_watch_over_the_board_knows_the_rank_better_than_the_list(store: Store, clock: StandingClock) -> None:
    read(store, "standing", user_rank=40, team_count=99)
    clock.pass_by(3600)
    read(store, "watch", standing={"rank": 3, "teams": 100, "score": 0.25})
    with store.read() as session:
        now, before, never = (rank(session, *of) for of in (("wine",), ("wine", START), ("beer",)))
    assert (now.rank, now.teams, now.medal, now.score, now.since) == (3, 100, "gold", 0.25, clock.now())
    assert (before.rank, before.medal, before.score) == (40, None, None)
    assert (never.rank, never.teams) == (None, None)


def test_without_a_place_in_the_watch_the_list_counts(store: Store) -> None:
    read(store, "watch", standing={"rank": None, "teams": 100})
    read(store, "standing", user_rank=0, team_count=99)
    with store.read() as session:
        found = rank(session, "wine")
    assert (found.rank, found.teams, found.medal) == (None, 99, None), "the site says 0 for none"


def test_what_is_left_is_the_sites_number_less_what_was_sent_since(
    store: Store, run_id: str, clock: StandingClock
) -> None:
    assert left(store) is None
    read(store, "competition", max_daily_submissions=5)
    send(store, 1)
    assert left(store) == 4, "as long as the site was not asked"
    read(store, "limits", num_today=0, num_total=0, num_allowed_now=0, limited_by_total=False)
    assert left(store) == 4, "a new team's zeros say nothing"
    clock.pass_by(60)
    read(store, "limits", num_today=3, num_total=3, num_allowed_now=2)
    assert left(store) == 2, "the team has sent others"
    clock.pass_by(60)
    send(store, 2)
    assert left(store) == 1
    clock.pass_by(86_400)
    assert left(store) == 5, "a new day, and the site not asked yet"


def test_the_owners_limits_hold_beside_the_sites(store: Store, run_id: str, clock: StandingClock) -> None:
    read(store, "competition", max_daily_submissions=5)
    send(store, 1)
    assert left(store, CompetitionSettings(submissions_per_day=2)) == 1
    assert left(store, CompetitionSettings(max_submissions=1)) == 0
    clock.pass_by(86_400)
    assert left(store, CompetitionSettings(submissions_per_day=2)) == 2


def test_what_was_only_intended_or_never_taken_is_not_sent(store: Store, run_id: str) -> None:
    send(store, 1, score=0.5)
    with store.write() as tx:
        for number, way in ((2, ()), (3, ("withdrawn",)), (4, ("sending", "refused")), (5, ("sending",))):
            add_submission(tx, "r", str(number), node=1, tag=f"t{number}", status="intended", prediction_source="refit")
            for status in way:
                advance_submission(tx, "r", str(number), status)  # type: ignore[arg-type]
    with store.read() as session:
        found = count_sent(session, "wine", None, store.clock.now())
    assert (found.all, found.open, found.last_score) == (2, 2, 0.5)


def test_without_a_score_of_our_own_the_sites_last_one_is_shown(store: Store) -> None:
    read(store, "submission", "8", date="2020-01-01T00:00:00Z", public_score="0.75")
    read(store, "submission", "9", date="2020-01-02T00:00:00Z", public_score="0.5")
    read(store, "submission", "10", date="2020-01-03T00:00:00Z", public_score="")
    with store.read() as session:
        assert count_sent(session, "wine", None, NOON).last_score == 0.5
