"""The leaderboard watch: what it records, and what it notifies the owner of, once."""

from datetime import timedelta

import pytest
from sqlmodel import select

from bot.leaderboard.rank import leaderboard_moved
from bot.leaderboard.watch import TeamStanding, standing_of, watch_board
from state.series import history
from state.store import Store
from state.tables import Notification
from tests.bot.leaderboard.boards import OURS, SLUG, Polls, placed, rows
from tests.state.conftest import START, StandingClock, clock, store

__all__ = ["clock", "store"]

STOP = "CREATE TEMP TRIGGER stop BEFORE INSERT ON notification BEGIN SELECT RAISE(ABORT, 'killed'); END"
SCORES = [0.1 + 0.01 * place for place in range(99)]
"""Of 99 teams, lower is better; with ours they are 100: gold to rank 10, silver to 20, bronze to 40."""


@pytest.fixture
def polls(store: Store) -> Polls:
    return Polls(store)


class Watch:
    """Looks again and again, each time an hour later."""

    def __init__(self, store: Store, clock: StandingClock, *, lower_is_better: bool = True) -> None:
        self.store, self.clock, self.lower = store, clock, lower_is_better

    def look(self) -> TeamStanding:
        found = watch_board(self.store, SLUG, self.lower)
        assert found is not None
        assert watch_board(self.store, SLUG, self.lower) == found, "a second look sees the same"
        assert standing_of(self.store, SLUG) == found
        self.clock.pass_by(3600)
        return found

    def notices(self) -> list[tuple[str, str]]:
        """Return all notices to the owner, kinds and titles."""
        with self.store.read() as session:
            return [(row.kind.removeprefix("leaderboard."), row.title) for row in session.exec(select(Notification))]

    def bodies(self) -> str:
        with self.store.read() as session:
            return "\n".join(row.body for row in session.exec(select(Notification)))

    def rows(self) -> int:
        with self.store.read() as session:
            return len(history(session, SLUG, "watch"))


@pytest.fixture
def watch(store: Store, clock: StandingClock) -> Watch:
    return Watch(store, clock)


def test_without_a_poll_nothing_is_known(store: Store) -> None:
    assert watch_board(store, SLUG, True) is None
    assert standing_of(store, SLUG) is None
    with store.read() as session:
        assert history(session, SLUG, "watch") == []


def test_before_a_submission_there_are_the_lines_and_no_notice(polls: Polls, watch: Watch) -> None:
    polls.whole(rows(SCORES))
    found = watch.look()
    assert (found.rank, found.teams, found.score, found.medal) == (None, 99, None, None)
    assert found.lines == pytest.approx({"first": 0.1, "gold": 0.18, "silver": 0.28, "bronze": 0.48, "median": 0.59})
    assert watch.notices() == []


def test_a_place_on_the_board_has_a_rank_and_a_medal(polls: Polls, watch: Watch) -> None:
    polls.sent("1", 0.4)
    polls.whole(placed(SCORES, 31, 0.4))
    found = watch.look()
    assert (found.rank, found.teams, found.score) == (31, 100, 0.4)
    assert found.medal == "bronze"
    assert watch.notices() == [("rank", "wine: rank 31 of 100"), ("medal", "wine: bronze medal at rank 31")]
    assert found.since == START


@pytest.mark.parametrize(("ours", "shown", "better"), [(0.4, 0.395, 0.395), (0.39, 0.395, 0.39), (0.4, None, 0.4)])
def test_our_score_is_the_better_of_the_boards_and_our_submissions(polls, watch, ours, shown, better) -> None:
    polls.sent("1", ours)
    polls.whole(placed(SCORES, 31, shown))
    found = watch.look()
    assert found.score == better
    assert f"public score of {better:g}." in watch.bodies()


def test_our_own_way_to_the_top_is_no_move_of_the_leaderboard(polls: Polls, watch: Watch) -> None:
    polls.sent("1", 0.9)
    polls.whole(placed(SCORES, 90, 0.9))
    before = watch.look()
    polls.whole(placed(SCORES, 1, -3.0))
    after = watch.look()
    assert (after.rank, after.lines["first"]) == (1, -3.0)
    assert after.rival_lines == before.rival_lines
    assert not leaderboard_moved(before, after)
    assert [kind for kind, _ in watch.notices()] == ["rank", "rank", "medal"]
    polls.whole([("leak", -4.0), *placed(SCORES, 1, -3.0)])
    assert leaderboard_moved(after, watch.look())
    assert ("top", "wine: other teams' best score is now -4") in watch.notices()


def test_our_first_place_on_a_small_board_moves_no_line_of_the_others(polls: Polls, watch: Watch) -> None:
    polls.whole(rows(SCORES[:42]))
    before = watch.look()
    polls.sent("1", 0.0)
    polls.whole(placed(SCORES[:42], 1, 0.0))
    after = watch.look()
    assert after.rival_lines == before.rival_lines == before.lines
    assert not leaderboard_moved(before, after)


def test_a_higher_score_is_better_where_the_metric_says_so(store: Store, clock: StandingClock, polls: Polls) -> None:
    polls.sent("1", 0.4)
    polls.sent("2", 0.6)
    polls.whole(placed([1 - score for score in SCORES], 31, 0.6))
    found = Watch(store, clock, lower_is_better=False).look()
    assert (found.rank, found.score) == (31, 0.6)


def test_without_a_name_on_the_board_the_sites_own_rank_counts(polls: Polls, watch: Watch) -> None:
    polls.whole(rows(SCORES))
    polls.facts(12, 101)
    found = watch.look()
    assert (found.rank, found.teams, found.medal, found.score) == (12, 101, "silver", None)


def test_the_newer_of_board_and_rank_counts(polls: Polls, watch: Watch) -> None:
    polls.sent("1", 0.4)
    polls.whole(placed(SCORES, 31, 0.4))
    assert watch.look().rank == 31
    polls.facts(25, 110)
    assert (watch.look().rank, watch.look().teams) == (25, 110)
    polls.whole(placed(SCORES, 31, 0.4))
    assert watch.look().rank == 31, "an unchanged board that was read anew is newer"


def test_of_two_teams_of_one_name_ours_is_the_one_with_our_score(polls: Polls, watch: Watch) -> None:
    polls.sent("1", 0.4)
    polls.whole([*rows(SCORES[:20]), (OURS, 0.33), *rows(SCORES[20:40], "u"), (OURS, 0.4)])
    assert watch.look().rank == 42
    polls.whole([(OURS, 0.01), (OURS, 0.02)])
    assert watch.look().rank is None, "neither has a score of ours"


def test_masked_scores_leave_the_rank_without_lines(polls: Polls, watch: Watch) -> None:
    polls.sent("1", None)
    polls.whole(placed([None] * 99, 31, None))
    found = watch.look()
    assert (found.rank, found.medal) == (31, "bronze")
    assert (found.score, found.lines) == (None, {})


def test_scores_that_are_no_numbers_are_unknown(polls: Polls, watch: Watch) -> None:
    polls.sent("1", "hidden")
    polls.top([("a", "nan"), ("b", "-"), (OURS, "inf")])
    polls.facts(None, 50)
    found = watch.look()
    assert (found.rank, found.score, found.lines) == (3, None, {})


def test_only_the_top_was_read(polls: Polls, watch: Watch) -> None:
    polls.top(rows(SCORES[:50]))
    polls.facts(None, 1000)
    found = watch.look()
    assert (found.rank, found.teams) == (None, 1000)
    assert found.lines == pytest.approx({"first": 0.1, "gold": SCORES[11], "silver": SCORES[49]})


def test_a_newer_top_is_put_into_the_board(polls: Polls, watch: Watch) -> None:
    polls.sent("1", 0.4)
    polls.whole(placed(SCORES, 31, 0.4))
    assert watch.look().rank == 31
    # Three came in from outside or below, t2 is gone from the site, and the last shown is t4.
    polls.top([("new1", 0.05), ("t1", 0.1), ("t60", 0.105), ("t3", 0.12), ("new2", 0.121), ("t4", 0.13)])
    found = watch.look()
    assert found.rank == 33
    assert found.lines["first"] == 0.05
    polls.whole(placed(SCORES, 31, 0.4))
    assert watch.look().rank == 31, "a whole board that is newer than the top team_standing alone"


def test_teams_that_passed_us_are_named_a_few_and_counted_all(polls: Polls, watch: Watch) -> None:
    polls.sent("1", 0.4)
    polls.whole(placed(SCORES, 31, 0.4))
    watch.look()
    polls.whole([*rows([0.01] * 12, "fast"), *placed(SCORES, 31, 0.4)])
    found = watch.look()
    assert found.rank == 43
    assert ("rank", "wine: rank 31 → 43 of 112") in watch.notices()
    assert "Passed by fast1, fast2" in watch.bodies()
    assert "fast10 and 2 more." in watch.bodies()


def test_small_steps_are_a_notice_once_they_add_up(polls: Polls, watch: Watch) -> None:
    field = [round(0.001 * place, 3) for place in range(1, 1000)]
    polls.sent("1", 0.5)
    for rank in (500, 505, 510, 520, 524):
        polls.whole(placed(field, rank, 0.5))
        watch.look()
    assert [title for kind, title in watch.notices() if kind == "rank"] == ["wine: rank 500 of 1000"]
    polls.whole(placed(field, 525, 0.5))
    watch.look()
    assert watch.notices()[-1] == ("rank", "wine: rank 500 → 525 of 1000")


def test_near_the_top_each_place_is_a_notice(polls: Polls, watch: Watch) -> None:
    polls.sent("1", 0.1)
    for rank in (5, 4, 5):
        polls.whole(placed(SCORES, rank, 0.1))
        watch.look()
    titles = [title for kind, title in watch.notices() if kind == "rank"]
    assert titles == ["wine: rank 5 of 100", "wine: rank 5 → 4 of 100", "wine: rank 4 → 5 of 100"]


def test_a_medal_is_a_notice_when_it_is_won_and_when_it_is_lost_for_good(polls: Polls, watch: Watch) -> None:
    polls.sent("1", 0.3)
    medals = {}
    for rank in (50, 40, 41, 42, 39, 43, 45):
        polls.whole(placed(SCORES, rank, 0.3))
        medals[rank] = watch.look().medal
    assert medals == {50: None, 40: "bronze", 41: None, 42: None, 39: "bronze", 43: None, 45: None}
    titles = [title for kind, title in watch.notices() if kind == "medal"]
    assert titles == ["wine: bronze medal at rank 40", "wine: no longer a medal at rank 43"]


def test_a_move_of_the_top_is_a_notice_once_a_day(polls: Polls, watch: Watch, clock: StandingClock) -> None:
    polls.whole(rows(SCORES))
    watch.look()
    polls.whole([("leak", 0.07), *rows(SCORES)])
    watch.look()
    assert watch.notices() == [], "three hundredths of a spread of forty are no large move"
    polls.whole([("leak", 0.0), *rows(SCORES)])
    watch.look()
    polls.whole([("leak", -1.0), *rows(SCORES)])
    watch.look()
    assert watch.notices() == [("top", "wine: other teams' best score is now 0")]
    clock.pass_by(86400)
    watch.look()
    assert watch.notices()[1:] == [("top", "wine: other teams' best score is now -1")]


def test_the_private_board_is_the_end_and_nobody_has_passed_us(polls, watch, clock) -> None:
    polls.deadline(START + timedelta(days=1))
    polls.sent("1", 0.4)
    polls.whole(placed(SCORES, 31, 0.4))
    assert not watch.look().private
    clock.pass_by(86400)
    polls.whole(placed(SCORES, 31, 0.4))
    assert not watch.look().private, "after the deadline, but the board is still the public one"
    polls.sent("1", 0.4, 0.2)
    polls.whole(placed([score - 0.2 for score in SCORES], 33, 0.2))
    found = watch.look()
    assert (found.private, found.rank, found.score) == (True, 33, 0.2)
    assert watch.notices()[-1] == ("rank", "wine: rank 31 → 33 of 100 in the end")
    assert "Private leaderboard of" in watch.bodies()
    assert [kind for kind, _ in watch.notices()] == ["rank", "medal", "rank"]


def test_a_board_may_be_the_same_and_be_private_now(polls: Polls, watch: Watch, clock: StandingClock) -> None:
    polls.deadline(START + timedelta(days=1))
    polls.sent("1", 0.4, 0.4)
    polls.whole(placed(SCORES, 31, 0.4))
    assert not watch.look().private
    clock.pass_by(86400)
    polls.whole(placed(SCORES, 31, 0.4))
    assert watch.look().private


def test_a_top_of_after_the_deadline_is_not_mixed_with_a_board_of_before(polls, watch, clock) -> None:
    polls.deadline(START + timedelta(days=1))
    polls.sent("1", 0.4)
    polls.whole(placed(SCORES, 31, 0.4))
    watch.look()
    clock.pass_by(86400)
    polls.top([("t9", -5.0), ("t8", -4.0)])
    assert watch.look().lines["first"] == 0.1


def test_looking_again_records_nothing(polls: Polls, watch: Watch) -> None:
    polls.sent("1", 0.4)
    polls.whole(placed(SCORES, 31, 0.4))
    found = watch.look()
    for _ in range(3):
        polls.whole(placed(SCORES, 31, 0.4))
        assert watch.look() == found
    assert watch.rows() == 1
    assert len(watch.notices()) == 2


def test_a_failed_look_leaves_neither_the_series_nor_the_notice(polls: Polls, watch: Watch, store: Store) -> None:
    polls.sent("1", 0.4)
    polls.whole(placed(SCORES, 31, 0.4))
    with store.write() as tx:
        tx.connection.exec_driver_sql(STOP)

    with pytest.raises(Exception, match="killed"):
        watch_board(store, SLUG, True)
    assert (watch.rows(), watch.notices()) == (0, [])
    with store.write() as tx:
        tx.connection.exec_driver_sql("DROP TRIGGER stop")
    watch.look()
    assert (watch.rows(), len(watch.notices())) == (1, 2)


def test_a_record_of_another_version_is_ignored(polls: Polls, watch: Watch, store: Store) -> None:
    polls.whole(rows(SCORES))
    with store.write() as tx:
        tx.connection.exec_driver_sql(
            "INSERT INTO reading (competition, kind, name, at, sha256, data) VALUES"
            " ('wine', 'watch', '', '2019-12-31 00:00:00.000000', 'x', '{\"standing\": {\"rank\": \"many\"}}')"
        )
    assert standing_of(store, SLUG) is None
    assert watch.look().teams == 99
