"""The leaderboard's verdict on a run's submissions: which one counts, and what is reported of it."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.evaluation.client.worker import Worker
from state.submissions import update_submission
from tests.bot.leaderboard.boards import placed, rows
from tests.bot.live.live_runs import DEADLINE, LiveRun, live_run
from tests.bot.report.finished_runs import RUN, FakeRun

FIELD = [round(0.3 + 0.002 * place, 5) for place in range(199)]
"""Of 199 teams; with ours they are 200: gold to rank 10, silver to 40, bronze to 80."""
FEW = FakeRun(nodes=4, failing=0, drafts=1, community=False, live=True)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[LiveRun]:
    # Nothing is asked of the worker, so that none is started.
    with live_run(tmp_path, Worker(), FEW) as made:
        yield made


def during(run: LiveRun) -> list[str]:
    """Three nodes are sent and scored; the second is the best by its public score. Returns their tags."""
    found = [run.send(node) for node in (2, 3, 4)]
    for (ref, tag), public in zip(found, (0.42, 0.36, 0.38), strict=True):
        run.polls.sent(ref, public, tag=tag)
    run.polls.whole(placed(FIELD, 31, 0.36))
    return [tag for _, tag in found]


def after(run: LiveRun, tags: list[str], scores: tuple[float, ...] = (0.41, 0.39, 0.37)) -> None:
    """The private scores come out: the third is the better of the two with the best public scores."""
    run.clock.time = DEADLINE + timedelta(hours=2)
    for number, (tag, public, private) in enumerate(zip(tags, (0.42, 0.36, 0.38), scores, strict=True), 1):
        run.polls.sent(f"40{number}", public, private, tag=tag)
    run.polls.whole(placed([score + 0.01 for score in FIELD], 36, 0.37))


def test_without_submissions_there_is_no_score_and_no_rank(run: LiveRun) -> None:
    run.polls.whole(rows(FIELD))
    report = run.verdict().report()
    assert (report["submission_exists"], report["valid_submission"], report["score"]) == (False, False, None)
    assert (report["score_kind"], report["win_rate"], report["rank"], report["n_teams"]) == (None, 0.0, None, 199)
    assert (report["submissions"], report["message"]) == ([], "nothing was submitted")


def test_a_rank_that_a_person_has_won_is_not_the_runs(run: LiveRun) -> None:
    run.polls.sent("999", 0.2)
    run.polls.whole(placed(FIELD, 1, 0.2))
    report = run.verdict().report()
    assert (report["rank"], report["win_rate"], report["any_medal"]) == (None, 0.0, False)


def test_while_it_goes_on_the_best_public_score_counts(run: LiveRun) -> None:
    tags = during(run)
    verdict = run.verdict()
    report = verdict.report()
    assert verdict.counting_entry.row.node == 3
    assert (report["score"], report["score_kind"], report["rank"], report["n_teams"]) == (0.36, "public", 31, 200)
    assert report["win_rate"] == (200 - 31) / 200
    assert (report["silver_medal"], report["any_medal"], report["gold_medal"]) == (True, True, False)
    assert (report["gold_threshold"], report["above_median"]) == (FIELD[9], True)
    assert [(one["tag"], one["public"], one["private"]) for one in report["submissions"]] == [
        *zip(tags, (0.42, 0.36, 0.38), (None, None, None), strict=True)
    ]
    assert [one["validation"] for one in report["submissions"]] == [run.scores[node] for node in (2, 3, 4)]
    assert verdict.regret() == 0.0
    assert verdict.nodes()[2] == (0.42, (199 - 61) / 200), "the team that is as good is not beaten"
    assert not report.keys() & {"note", "message"}


def test_of_equal_public_scores_the_earlier_counts(run: LiveRun) -> None:
    for node in (2, 3):
        ref, tag = run.send(node)
        run.polls.sent(ref, 0.4, tag=tag)
    counted = run.verdict().counting_entry
    assert counted.row.node == 2


def test_the_private_score_that_the_board_shows_is_the_one_that_counts(run: LiveRun) -> None:
    tags = during(run)
    after(run, tags)
    verdict = run.verdict()
    report = verdict.report()
    assert verdict.counting_entry.row.node == 4
    assert (report["score"], report["score_kind"], report["rank"]) == (0.37, "private", 36)
    assert report["silver_threshold"] == pytest.approx(FIELD[38] + 0.01)
    assert [one["private"] for one in report["submissions"]] == [0.41, 0.39, 0.37]
    assert verdict.nodes()[4] == (0.38, pytest.approx((200 - 31) / 200, abs=0.03)), "public score, private win rate"
    assert verdict.regret() == 0.0


def test_a_selection_that_was_not_the_best_shows_what_it_lost(run: LiveRun) -> None:
    tags = during(run)
    after(run, tags, (0.35, 0.39, 0.37))
    assert run.verdict().report()["score"] == 0.37
    assert run.verdict().regret() == pytest.approx(0.02)


def test_where_our_row_is_not_found_the_site_has_chosen_as_sites_do(run: LiveRun) -> None:
    tags = during(run)
    run.clock.time = DEADLINE + timedelta(hours=2)
    for number, (tag, public, private) in enumerate(zip(tags, (0.42, 0.36, 0.38), (0.1, 0.39, 0.37), strict=True), 1):
        run.polls.sent(f"40{number}", public, private, tag=tag, team="renamed")
    run.polls.whole(rows(FIELD))
    report = run.verdict().report()
    assert (report["score"], report["score_kind"], report["rank"]) == (0.37, "private", None)


def test_a_board_that_was_not_read_anew_leaves_it_public(run: LiveRun) -> None:
    tags = during(run)
    run.clock.time = DEADLINE + timedelta(hours=2)
    run.polls.sent("402", 0.36, 0.39, tag=tags[1])
    report = run.verdict().report()
    assert (report["score"], report["score_kind"], report["rank"]) == (0.36, "public", 31)
    assert report["submissions"][1]["private"] == 0.39


def test_without_any_board_a_private_score_is_still_the_score(run: LiveRun) -> None:
    ref, tag = run.send(1)
    run.polls.sent(ref, 0.5, 0.45, tag=tag)
    report = run.verdict().report()
    assert (report["score"], report["score_kind"], report["rank"], report["win_rate"]) == (0.45, "private", None, 0.0)
    assert "note" not in report


def test_before_any_poll_the_score_that_was_asked_for_counts(run: LiveRun) -> None:
    run.send(2)
    with run.ended.context.store.write() as tx:
        update_submission(tx, RUN, "1", score=0.44)
    report = run.verdict().report()
    assert (report["score"], report["score_kind"], report["n_teams"]) == (0.44, "public", 0)


def test_a_submission_without_a_score_yet_is_there_and_not_valid(run: LiveRun) -> None:
    ref, tag = run.send(3)
    run.polls.sent(ref, None, tag=tag, status="PENDING")
    run.polls.whole(rows(FIELD))
    report = run.verdict().report()
    assert (report["submission_exists"], report["valid_submission"], report["win_rate"]) == (True, False, 0.0)
    assert report["message"] == "the site has not shown a score yet"


def test_a_better_one_that_a_person_sent_is_noted_apart(run: LiveRun) -> None:
    during(run)
    run.polls.sent("999", 0.2)
    run.polls.whole(placed(FIELD, 1, 0.2))
    report = run.verdict().report()
    assert (report["score"], report["rank"]) == (0.36, 1)
    assert report["note"] == "the team's rank is based on a score of 0.2, which is not from this run"


def test_a_higher_score_may_be_the_better_one(tmp_path: Path) -> None:
    higher = FakeRun(nodes=4, failing=0, drafts=1, community=False, live=True, lower_is_better=False)
    with live_run(tmp_path, Worker(), higher) as run:
        for node, public in ((2, 0.5), (3, 0.7)):
            ref, tag = run.send(node)
            run.polls.sent(ref, public, tag=tag)
        run.polls.whole(placed([1 - score for score in FIELD], 5, 0.7))
        report = run.verdict().report()
    assert (report["score"], report["rank"], report["gold_medal"], report["above_median"]) == (0.7, 5, True, True)
