"""What a comparison says of finished replays: figures, pairs, sentences, and what it leaves out."""

import random
import re
from itertools import permutations
from operator import attrgetter

import pytest

from bot.research.compare.comparison import Comparison, compare
from bot.research.compare.page import outcomes_table, render, spent_table
from bot.research.compare.plots import over_money, over_time
from bot.research.compare.verdict import conclusion, points, verdict
from tests.bot.research.compare.simulated import COMPETITIONS, bench, result, runs_of


def test_an_agent_that_is_better_is_said_to_win_and_by_how_much() -> None:
    found = compare(bench({"comind": 0.25, "aide": 0.0}, random.Random(1)))
    assert verdict(found).startswith("comind is better than aide by 2")
    assert "percentage points of teams beaten (95% interval " in verdict(found) and ", p < " in verdict(found)
    assert conclusion(found).startswith(
        "Based on 36 pairs of runs on 12 competitions with 3 seeds, corrected for 1 comparison."
    )
    assert found.pairs[0].settled


def test_equal_agents_are_said_to_be_open() -> None:
    found = compare(bench({"comind": 0.0, "aide": 0.0}, random.Random(2)))
    said = verdict(found)
    assert "is ahead of" in said and "which is not significant; " in said
    assert re.search(r"confirming a difference of this size takes about (over )?[\d,]+ competitions\.$", said)


def test_agents_without_a_difference_are_level() -> None:
    same = {"comind": 0.5, "aide": 0.5}
    found = compare(
        runs_of([result(name, agent, 0, score) for name in ("wine", "beer") for agent, score in same.items()])
    )
    assert verdict(found) in [
        f"{a} is level with {b} (2 competitions, too few for an interval)." for a, b in permutations(same)
    ]


def test_the_agent_that_is_ahead_over_common_runs_is_named_first_whatever_the_order_of_the_rows() -> None:
    both = [result(name, agent, 0, score) for name in COMPETITIONS for agent, score in (("comind", 0.4), ("aide", 0.5))]
    # Over cells that all three share, which the rows are of, comind leads.
    alone = [result("alone", agent, 0, score) for agent, score in (("comind", 0.9), ("aide", 0.8), ("solo", 0.0))]
    found = compare(runs_of([*both, *alone]))
    assert [row.contender.agent for row in found.rows] == ["comind", "aide", "solo"]
    assert found.pairs[0].settled and found.pairs[0].win_rate.mean == pytest.approx(1.1 / 13)
    assert verdict(found).startswith("aide is better than comind by 8.5 percentage points")


def test_of_several_agents_those_that_are_beaten_and_those_that_are_open_are_named() -> None:
    found = compare(bench({"comind": 0.3, "solo": 0.29, "aide": -0.1}, random.Random(4), taste=0.02))
    said = verdict(found)
    assert "comind is better than aide by " in said and "solo is better than aide by " in said
    assert said.endswith("; 1 other pair not significant.")
    assert "corrected for 3 comparisons" in conclusion(found)


def test_one_competition_concludes_nothing_beyond_it_and_two_settle_nothing() -> None:
    skills = {"comind": 0.3, "aide": 0.0}
    one = compare(bench(skills, random.Random(5), competitions=["wine"], seeds=8))
    two = compare(bench(skills, random.Random(5), competitions=["wine", "beer"]))
    for found in (one, two):
        assert "run at least 6 competitions" in conclusion(found)
        assert verdict(found).startswith("comind is ahead of aide by ")


def test_a_plan_that_names_its_comparisons_is_corrected_for_those_alone() -> None:
    """Five agents on eight competitions: of all ten pairs none can be settled, of the one that was planned one can."""
    skills = {"comind": 0.3, "aide": 0.0, "solo": 0.0, "automind": 0.0, "hybrid": 0.0}
    runs = bench(skills, random.Random(6), competitions=COMPETITIONS[:8], taste=0.02)
    everything = compare(runs)
    assert not any(pair.settled for pair in everything.pairs)
    assert "run at least 9 competitions" in conclusion(everything)
    planned = compare(runs, {frozenset({("comind", ()), ("aide", ())})})
    (pair,) = planned.pairs
    assert pair.settled and pair.chance == pytest.approx(2 / 2**8)
    assert verdict(planned).startswith("comind is better than aide by ")
    half_done = compare(runs, {frozenset({("comind", ()), (other, ())}) for other in ("aide", "comind-paper")})
    assert half_done.pairs[0].chance == pytest.approx(2 * 2 / 2**8)
    assert "corrected for 2 comparisons" in conclusion(half_done)


def test_what_a_difference_needs_falls_with_its_size() -> None:
    needs = []
    for skill in (0.05, 0.1, 0.32):
        (pair,) = compare(bench({"comind": skill, "aide": 0.0}, random.Random(8))).pairs
        needs.append(pair.win_rate.competitions_needed(1) or 0)
    assert needs[0] > needs[1] > needs[2] >= 6


def test_the_engines_baseline_and_a_constant_count_as_no_submission_and_are_counted() -> None:
    finding = {"guard": "constant", "verdict": "suspicious", "sentence": "all alike", "spoils": True, "node": 1}
    found = compare(
        runs_of(
            map(
                attrgetter("own_work"),
                [
                    result("wine", "aide", 0, 0.9, baseline_submitted=True, prediction_source="holdout"),
                    result(
                        "wine", "aide", 1, 0.7, baseline_submitted=True, prediction_source="refit", guards=[finding]
                    ),
                    result("wine", "aide", 2, 0.95, prediction_source="refit", guards=[finding], code_length=9),
                    result("wine", "comind", 0, 0.4, prediction_source="refit"),
                    result(
                        "wine", "comind", 1, 0.4, prediction_source="refit", guards=[{**finding, "verdict": "passed"}]
                    ),
                    result("wine", "comind", 2, 0.4, prediction_source="refit"),
                ],
            )
        )
    )
    leader, other = found.rows
    assert (leader.contender.agent, leader.valid, leader.substitute) == ("comind", 1.0, "0")
    assert (other.win_rate, other.valid, other.medal, other.bronze) == (0.0, 0.0, 0.0, 0)
    columns, rows = outcomes_table(found)
    assert [cells[columns.index("not its own")] for _, cells in rows] == ["0", "1 baseline, 2 constant"]
    assert found.label(other.contender) == "aide [1 baseline, 2 constant]"
    assert "1 baseline, 2 constant</span>" in render(found), "in the cell of a competition, too"
    assert not any(one.submission_exists or one.code_length for c, one in found.runs.results if c.agent == "aide")
    assert over_time(found)[1].points[-1][1] == 0.0


def test_a_single_agent_and_agents_without_a_pair_are_compared_with_nothing() -> None:
    alone = compare(runs_of([result("wine", "comind", 0, 0.5)]))
    assert verdict(alone) == "Only comind was run, so there is nothing to compare."
    apart = compare(runs_of([result("wine", "comind", 0, 0.5), result("wine", "aide", 1, 0.4)]))
    assert verdict(apart).startswith("Nothing to compare")
    assert conclusion(apart) == "There are no pairs to compare."
    assert any("run by all" in one for one in apart.cautions)


def wine() -> Comparison:
    """Two seeds of one competition in which two agents tie, one is invalid once, and one has no second run."""
    return compare(
        runs_of(
            [
                result("wine", "comind", 0, 0.9, seconds_to_bronze=120.0),
                result("wine", "aide", 0, 0.9, wall_seconds=100.0),
                result("wine", "solo", 0, None),
                result("wine", "comind", 1, 0.5),
                result("wine", "aide", 1, 0.7),
            ]
        )
    )


def test_figures_are_of_what_all_agents_ran_and_equal_scores_share_a_rank() -> None:
    found = wine()
    rows = {row.contender.agent: row for row in found.rows}
    assert {name: row.rank for name, row in rows.items()} == {"comind": 1.5, "aide": 1.5, "solo": 3.0}
    assert [row.runs for row in found.rows] == [1, 1, 1]
    assert rows["solo"].valid == 0
    assert rows["comind"].seconds_to_bronze == 120.0
    assert rows["aide"].seconds == 100.0
    assert found.cautions == ("The comparison omits 2 runs, as not all contenders have a pair",)
    of_two = next(pair for pair in found.pairs if {pair.first.agent, pair.second.agent} == {"comind", "aide"})
    assert of_two.win_rate.pairs == 2, "a pair needs only its two"
    assert of_two.win_rate.mean == pytest.approx(0.1 if of_two.first.agent == "aide" else -0.1)


def test_a_run_that_was_repeated_counts_once_with_the_mean() -> None:
    twice = [result("wine", "comind", 0, 0.2), result("wine", "comind", 0, 0.6), result("wine", "aide", 0, 0.3)]
    found = compare(runs_of(twice))
    assert [pair.win_rate.pairs for pair in found.pairs] == [1]
    assert found.pairs[0].win_rate.mean == pytest.approx(0.1)
    assert any("repeated with the same seed" in one for one in found.cautions)


def test_competitions_weigh_the_same_however_many_seeds_they_have() -> None:
    many = [result("wine", "comind", seed, 1.0) for seed in range(9)]
    found = compare(runs_of([*many, result("beer", "comind", 0, 0.0)]))
    assert found.rows[0].win_rate == 0.5


def test_runs_that_differ_in_more_than_the_agent_are_pointed_out() -> None:
    differing = [
        result("wine", "comind", 0, 0.5, time_limit=60.0, signals="asof", sandbox="docker"),
        result("wine", "aide", 0, 0.5, time_limit=18_000.0, signals="collected", cutoff="2021-01-01T00:00:00Z"),
    ]
    cautions = " ".join(compare(runs_of(differing)).cautions)
    for words in (
        "1 run exceeded the time limit, probably",
        "different time limits: 1 min 00 s, 5 h 00 min",
        "signals: asof, collected",
        "clock times on wine",
        "sandbox",
    ):
        assert words in cautions


def test_models_are_named_where_there_are_several() -> None:
    runs = [result("wine", "comind", 0, 0.5), result("wine", "comind", 0, 0.4, model="openai:other")]
    found = compare(runs_of(runs))
    assert [found.title(row.contender) for row in found.rows] == ["comind (openai:some)", "comind (openai:other)"]
    assert compare(bench({"comind no-blend": 0}, random.Random(1))).title(found.leader) == "comind"


def test_curves_rise_from_nothing_to_what_the_best_script_beats() -> None:
    found = compare(runs_of([result("wine", "comind", 0, 0.8), result("beer", "comind", 0, 0.4)]))
    (over_seconds,), (over_usd,) = over_time(found), over_money(found)
    assert over_seconds.points[0] == (0.0, 0.0)
    assert over_seconds.points[-1] == (600.0, pytest.approx(0.6))
    shares = [share for _, share in over_seconds.points]
    assert shares == sorted(shares)
    assert over_usd.points[0] == (0.0, pytest.approx(0.3)), "the baseline cost nothing"
    assert over_usd.points[-1] == (0.5, pytest.approx(0.6))
    llm = {"calls": 1, "cost_usd": None}
    assert over_money(compare(runs_of([result("wine", "comind", 0, 0.8, llm=llm)]))) == (), "a price is unknown"


def test_a_table_has_only_columns_with_something_in_them() -> None:
    asked = compare(bench({"comind": 0.4, "aide": 0.0}, random.Random(1)))
    assert {"cost", "tokens", "time to bronze"} <= set(spent_table(asked)[0])
    free = {"calls": 0, "cost_usd": 0.0}
    bare = compare(runs_of([result("wine", "comind", 0, 0.4, llm=free)]))
    assert spent_table(bare)[0] == ("runs", "time")
    assert outcomes_table(bare)[1] == (("comind", ("1.00", "40.0%", "0%", "0%", "100%", "0")),)


@pytest.mark.parametrize(
    ("share", "text"), [(0.081, "+8.1"), (-0.5, "\N{MINUS SIGN}50.0"), (-0.0001, "\N{MINUS SIGN}0.01"), (1e-9, "0.0")]
)
def test_differences_of_shares_are_written_in_points(share: float, text: str) -> None:
    assert points(share) == text
