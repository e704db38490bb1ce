"""The standing: public while it runs, rank and medal among the real teams in the end."""

from datetime import timedelta
from pathlib import Path

from bot.simulator.site.results import result_of
from tests.bot.simulator.site.parts import DEADLINE, TWIN, TWIN_DEADLINE, Served, both, served, truth_with


def test_nothing_is_said_of_the_end_before_it(here: Served) -> None:
    here.client.submit(truth_with(here.competition.snapshot, 0.0))
    here.settle()
    so_far = result_of(here.site, here.competition, here.clock.now())
    assert (so_far["public_score"], so_far["public_rank"], so_far["scored"]) == (0.10536, 1, 1)
    assert (so_far["over"], so_far["private_score"], so_far["rank"], so_far["medal"]) == (False, None, None, None)


def test_in_the_end_there_are_a_rank_and_a_medal_among_all_teams(here: Served) -> None:
    here.client.submit(truth_with(here.competition.snapshot, 0.0))
    here.client.submit(b"id\n")
    here.settle()
    end = result_of(here.site, here.competition, DEADLINE + timedelta(seconds=1))
    assert (end["over"], end["private_score"], end["rank"], end["medal"]) == (True, 0.10536, 1, "gold")
    assert (end["final_teams"], end["win_rate"], end["failed"]) == (40, 1.0, 1)


def test_each_competition_has_its_own(tmp_path: Path) -> None:
    with served(both(tmp_path)) as it:
        it.of(TWIN).submit(truth_with(it.site.competition(TWIN).snapshot, 0.0))
        it.settle()
        now = TWIN_DEADLINE + timedelta(seconds=1)
        first, second = (result_of(it.site, one, now) for one in it.site.competitions)
    assert (first["competition"], first["over"], first["submissions"], first["rank"]) == ("tiny-table", False, 0, None)
    assert (second["competition"], second["over"], second["submissions"], second["rank"]) == (TWIN, True, 1, 1)
    assert first["requests"] == second["requests"] == 3


def test_who_never_submitted_has_no_rank(here: Served) -> None:
    end = result_of(here.site, here.competition, DEADLINE + timedelta(seconds=1))
    assert (end["rank"], end["medal"], end["submissions"]) == (None, None, 0)
