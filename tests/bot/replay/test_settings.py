"""A replay's settings: the cutoff, and ablations."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import ValidationError

from bot.agents import AGENTS, agent_of, blends
from bot.agents.settings import ReplayOptions
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.replay.ablations import ABLATIONS, apply_ablations, variant_of
from bot.replay.settings import ReplaySettings, cutoff_on
from bot.report.words import cutoff_note
from scrapers.snapshots.card import TaskCard
from scrapers.snapshots.snapshot import Snapshot
from state.errors import UsageError


@pytest.fixture(scope="module")
def card(tiny: Path) -> TaskCard:
    return Snapshot.load(tiny, METRIC_DIRECTIONS).card


def on(card: TaskCard, cutoff: str) -> datetime:
    return cutoff_on(card, ReplayOptions.model_validate({"cutoff": cutoff}).cutoff)


def test_a_cutoff_may_be_any_time_from_the_start_on(card: TaskCard) -> None:
    assert on(card, "deadline") == card.deadline
    assert on(card, "2020-02-01") == datetime(2020, 2, 1, tzinfo=UTC)
    assert on(card, "2020-02-01T02:00:00+02:00") == datetime(2020, 2, 1, tzinfo=UTC)
    assert on(card, "2020-01-01T00:00:00Z") == card.enabled_at


def test_a_cutoff_before_the_start_is_refused_with_the_times_that_will_do(card: TaskCard) -> None:
    with pytest.raises(
        UsageError, match=r"is before tiny-table started: pass 2020-01-01T00:00:00Z or later, or `deadline`"
    ):
        on(card, "2019-12-31T23:59:59Z")


def test_a_cutoff_after_the_deadline_is_accepted_with_a_caution(card: TaskCard) -> None:
    later = on(card, "2020-03-05")
    assert later > card.deadline
    assert "after the deadline 2020-03-01 00:00 UTC" in (cutoff_note(later, card.deadline) or "")
    assert cutoff_note(card.deadline, card.deadline) is None
    assert cutoff_note(None, card.deadline) is None, "a live run has none"


def test_what_is_no_time_is_refused() -> None:
    with pytest.raises(ValidationError, match="must be `deadline` or a time"):
        ReplayOptions.model_validate({"cutoff": "yesterday"})


def settings(agent: str = "comind", **more: object) -> ReplaySettings:
    """Return the usual settings of a language model's run in a sandbox."""
    given = {"model": "openai:some", "sandbox": "bubblewrap", "chosen_coder": {"labs": True}, "blend": blends(agent)}
    needed = {"snapshot": Path("wine"), "cutoff": datetime(2020, 1, 1, tzinfo=UTC), "time": 60.0, "cpus": 1}
    return ReplaySettings.model_validate({"agent": agent, **needed, **given, **more})


@pytest.mark.parametrize("agent", ["comind", "aide", "solo"])
def test_a_usual_run_goes_without_nothing(agent: str) -> None:
    assert variant_of(settings(agent)) == ()


@pytest.mark.parametrize("word", ABLATIONS)
def test_a_run_without_a_part_is_known_by_its_word_and_nothing_else_changes(word: str) -> None:
    usual = settings(next(name for name in AGENTS if ABLATIONS[word].part in agent_of(name).parts))
    done = apply_ablations(usual, [word])
    assert variant_of(done) == (word,)
    changed = {name for name in ReplaySettings.model_fields if getattr(done, name) != getattr(usual, name)}
    assert changed == {ABLATIONS[word].setting.partition(".")[0]}


@pytest.mark.parametrize("word", [word for word in ABLATIONS if word != "no-adaptive-coding"])
def test_the_hybrid_can_go_without_whatever_comind_can(word: str) -> None:
    assert variant_of(settings("hybrid")) == ()
    assert variant_of(apply_ablations(settings("hybrid"), [word])) == (word,)
    scripts = settings("hybrid", model="builtin", chosen_coder={"labs": False}, knowledge="none")
    assert variant_of(scripts) == ("no-knowledge",), "its plans have it without labs, too"


def test_what_an_agent_never_has_is_no_ablation_of_it() -> None:
    assert variant_of(settings("aide", community=False, blend=False)) == ()
    assert variant_of(settings(model="builtin", chosen_coder={"labs": False})) == (), "labs need a language model"
    assert variant_of(settings(sandbox="process", chosen_coder={"labs": False})) == (), "and walls"


def test_a_coding_agent_of_the_owners_is_another_contender_where_it_works() -> None:
    own = {"labs": True, "agent": {"name": "codex", "model": "m", "command": "codex", "dialect": "responses"}}
    assert variant_of(settings(chosen_coder=own)) == ("codex",)
    assert variant_of(settings("solo", chosen_coder=own)) == ("codex",)
    assert variant_of(settings("aide", chosen_coder=own)) == ()
    assert variant_of(apply_ablations(settings(chosen_coder=own), ["no-labs"])) == ("no-labs",)


def test_an_agent_that_blends_against_its_habit_is_another_contender() -> None:
    assert variant_of(settings("aide", blend=True)) == ("blend",)
