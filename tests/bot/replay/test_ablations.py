"""Ablations: which settings a word changes, and which words a run's settings are."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.agents import blends
from bot.replay.ablations import ABLATIONS, variant_of, without
from bot.replay.settings import ReplaySettings


def settings(agent: str = "comind", **more: object) -> ReplaySettings:
    """Return the usual settings of a language model's run in a sandbox."""
    given = {"model": "openai:some", "sandbox": "bubblewrap", "rounds": {"coder": "lab"}, "blend": blends(agent)}
    needed = {"snapshot": Path("wine"), "cutoff": datetime(2020, 1, 1, tzinfo=UTC), "seconds": 60.0, "cpus": 1}
    return ReplaySettings.model_validate({"agent": agent, **needed, **given, **more})


@pytest.mark.parametrize("agent", ["comind", "aide", "solo"])
def test_a_usual_run_goes_without_nothing(agent: str) -> None:
    assert variant_of(settings(agent)) == ()


@pytest.mark.parametrize("word", ABLATIONS)
def test_a_run_without_a_part_is_known_by_its_word_and_nothing_else_changes(word: str) -> None:
    agents = ABLATIONS[word].agents
    usual = settings(agents[0] if agents else "comind")
    done = without(usual, [word])
    assert variant_of(done) == (word,)
    changed = {name for name in ReplaySettings.model_fields if getattr(done, name) != getattr(usual, name)}
    assert changed == {ABLATIONS[word].setting.partition(".")[0]}


@pytest.mark.parametrize("word", [word for word in ABLATIONS if word != "no-adaptive-coding"])
def test_the_hybrid_can_go_without_whatever_comind_can(word: str) -> None:
    assert variant_of(settings("hybrid")) == ()
    assert variant_of(without(settings("hybrid"), [word])) == (word,)
    scripts = settings("hybrid", model="builtin", rounds={"coder": "script"}, knowledge="none")
    assert variant_of(scripts) == ("no-knowledge",), "its plans have it without labs, too"


def test_what_an_agent_never_has_is_no_ablation_of_it() -> None:
    assert variant_of(settings("aide", community=False, blend=False)) == ()
    assert variant_of(settings(model="builtin", rounds={"coder": "script"})) == (), "labs need a language model"
    assert variant_of(settings(sandbox="process", rounds={"coder": "script"})) == (), "and walls"


def test_a_coding_agent_of_the_owners_is_another_contender_where_it_works() -> None:
    own = {"own": {"name": "codex", "model": "m", "command": "codex", "dialect": "responses"}}
    assert variant_of(settings(coder=own)) == ("codex",)
    assert variant_of(settings("solo", coder=own)) == ("codex",)
    assert variant_of(settings("aide", coder=own)) == ()
    assert variant_of(without(settings(coder=own), ["no-labs"])) == ("no-labs",)


def test_an_agent_that_blends_against_its_habit_is_another_contender() -> None:
    assert variant_of(settings("aide", blend=True)) == ("blend",)
