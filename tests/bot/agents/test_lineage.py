"""CoMind's policy with labs: what they start from, and which families of models rest."""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.agents.comind.lineage import LabsPolicy, resting
from bot.engine.strategy import Action, Remaining
from bot.engine.tree import NodeView, Tree

BASELINE = NodeView(1, "draft", "valid", score=0.1, baseline=True)
EARLY, LATE = Remaining(None, None, 6000.0, 7200.0), Remaining(None, None, 2000.0, 7200.0)


def lab(
    number: int, score: float | None, *families: str, noise: float = 0.0, parents: tuple[int, ...] = ()
) -> NodeView:
    """Return what a lab with one scored script leaves: node `number`, of the draft with the number before."""
    state = "buggy" if score is None else "valid"
    found = NodeView(number, "draft", state, parents, score, draft_id=number - 1)  # type: ignore[arg-type] # a literal
    return replace(found, gain_error=noise, families=families)


def opened(labs: Sequence[NodeView], budget: Remaining = EARLY, slots: int = 1, seed: int = 0) -> list[Action]:
    return list(LabsPolicy().next_actions(Tree((BASELINE, *labs)), budget, slots, random.Random(seed)))


def starts(labs: Sequence[NodeView], draws: int = 400) -> Counter[tuple[int, ...]]:
    return Counter(opened(labs, seed=seed)[0].parents for seed in range(draws))


GAINS = [lab(2, 0.5, "linear"), lab(3, 0.6, "forest"), lab(4, 0.7, "lightgbm")]


def test_three_labs_open_a_run() -> None:
    assert opened([]) == [Action("lab", (), 1)]
    assert opened(GAINS[:1]) == [Action("lab", (2,), 2)]
    assert opened(GAINS[:2]) == [Action("lab", (), 3)]


def test_a_short_run_has_one_lab_and_no_second_one() -> None:
    short = Remaining(None, None, 100.0, 180.0)
    assert opened([], short) == [Action("lab", (), 1)]
    assert opened(GAINS[:1], short) == []
    assert opened([], Remaining(None, None, 50.0, 180.0)) == []


def test_a_lab_is_opened_for_each_free_slot_whatever_runs_beside_it() -> None:
    running = NodeView(2, "draft", "running", draft_id=1)
    assert opened([running], slots=1) == [Action("lab", (), 2)]
    assert [action.draft_id for action in opened([running], slots=3)] == [2, 3, 4]


def test_parents_are_drawn_by_rank_and_the_baseline_never_is() -> None:
    drawn = starts(GAINS)
    assert {parent for parents in drawn for parent in parents} <= {2, 3, 4}
    assert drawn[(4,)] > drawn[(3,)] > drawn[(2,)]
    crossed = sum(times for parents, times in drawn.items() if len(parents) == 2)
    assert 400 / 7 * 0.6 < crossed < 400 / 7 * 1.4


@pytest.mark.integration
def test_a_rare_family_is_drawn_somewhat_more_often() -> None:
    def share(families: Sequence[str]) -> float:
        labs = [lab(2 + place, 0.5 + place / 100, family) for place, family in enumerate(families)]
        return sum(times for parents, times in starts(labs, 2000).items() if parents[0] == 5) / 2000

    plain = share(["linear"] * 5)
    assert plain < share(["linear", "linear", "linear", "forest", "linear"]) < plain * 1.25


def test_a_family_rests_after_three_labs_without_a_gain_and_returns_after_others() -> None:
    failed = [lab(5, 0.69, "lightgbm"), lab(6, None, "lightgbm"), lab(7, 0.7, "lightgbm")]
    assert resting(Tree((BASELINE, *GAINS, *failed[:2]))) == []
    tired = [*GAINS, *failed, lab(8, 0.75, "forest"), lab(9, 0.5, "linear")]
    assert resting(Tree((BASELINE, *tired))) == ["lightgbm"]
    assert {3, 8} <= {parent for parents in starts(tired) for parent in parents} <= {2, 3, 8, 9}
    later = [*tired, lab(10, 0.6, "forest"), lab(11, 0.6, "linear")]
    assert "lightgbm" not in resting(Tree((BASELINE, *later)))


def test_a_script_that_also_uses_a_family_that_does_not_rest_may_be_a_parent() -> None:
    labs = [lab(2, 0.9, "lightgbm", "linear"), *(lab(number, 0.5, "lightgbm") for number in (3, 4, 5))]
    assert resting(Tree((BASELINE, *labs))) == []  # one of the four gained
    labs += [lab(6, 0.6, "forest"), lab(7, 0.95, "forest")]
    assert resting(Tree((BASELINE, *labs))) == ["lightgbm"]
    assert {parent for parents in starts(labs) for parent in parents} == {2, 6, 7}


def test_five_labs_without_a_gain_start_a_new_family_but_not_in_the_last_third() -> None:
    stale = [*GAINS, *(lab(number, 0.7, f"family {number}") for number in range(5, 10))]
    assert opened(stale[:-1])[0].parents
    assert opened(stale) == [Action("lab", (), 9)]
    assert opened(stale, LATE)[0].parents
    assert opened(stale, Remaining(20, 50, None, None)) == [Action("lab", (), 9)]
    assert opened(stale, Remaining(10, 50, None, None))[0].parents


def test_a_gain_within_noise_is_none() -> None:
    def after(noise: float) -> tuple[int, ...]:
        labs = [*GAINS, *(lab(n, 0.7 + n / 1000, f"family {n}", noise=noise) for n in range(5, 10))]
        return opened(labs)[0].parents

    assert after(0.0), "each beats the one before"
    assert after(0.01) == ()


@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(3, 40))
@settings(max_examples=30)
def test_any_run_opens_labs_on_scored_scripts_until_its_time_is_over(seed: int, slots: int, count: int) -> None:
    rng, labs = random.Random(seed), list[NodeView]()
    for _ in range(count):
        actions = opened(labs, rng.choice([EARLY, LATE]), slots, rng.randrange(2**32))
        assert [action.draft_id for action in actions] == [len(labs) + 1 + place for place in range(slots)]
        for action in actions:
            assert all(Tree(tuple(labs))[parent].valid for parent in action.parents)
            assert len(set(action.parents)) == len(action.parents) <= 2
            score = rng.choice([None, rng.random()])
            labs.append(lab(len(labs) + 2, score, *rng.sample(["linear", "forest", "lightgbm"], rng.randrange(3))))
    assert opened(labs, Remaining(None, None, 100.0, 3600.0)) == []
