"""Whole runs whose first endpoint, or whose model, is of no use."""

import json
from pathlib import Path

import pytest

from bot.models.passing import PROBE
from tests.bot.replay.conftest import results
from tests.bot.replay.scripted_answers import Answers
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint, failure

NOBODY = "http://127.0.0.1:9/v1"

OPTIONS = ("--model", "openai:scripted", "--steps", 2, "--sandbox", "process", "--json")


def changes(folder: str) -> list[dict[str, str]]:
    events = [json.loads(line) for line in (Path(folder) / "events.jsonl").read_text().splitlines()]
    return [event for event in events if event["type"] == "model.changed"]


def models(folder: str) -> set[str]:
    return {json.loads(line)["model"] for line in (Path(folder) / "prompts.jsonl").read_text().splitlines()}


@pytest.mark.integration
@pytest.mark.usefixtures("light")
def test_a_run_whose_first_endpoint_has_no_credit_goes_on_with_the_next(bot, tiny, monkeypatch) -> None:
    empty = failure(429, "You exceeded your current quota", "insufficient_quota")
    with ScriptedEndpoint([empty]) as first, ScriptedEndpoint(Answers()) as second:
        monkeypatch.setenv("OPENAI_BASE_URL", first.url)
        Path("bot.toml").write_text(f'[[models.fallback]]\nbase_url = "{second.url}"\nmodel = "other"\n')
        done = bot("replay", tiny, "--agent", "aide", *OPTIONS)
    assert done.exit_code == 0, done.output
    (result,) = results(done)
    assert (result["nodes"], result["model"]) == (2, "openai:scripted")
    assert result["llm"]["calls"] == len(second.requests)
    assert len(first.requests) == 2, "after one question of the engine's own it is left in peace"
    assert models(result["run"]) == {"other"}
    (change,) = changes(result["run"])
    assert change["before"].startswith("scripted at") and change["after"].startswith("fallback 1 (other at")
    assert "out of credit" in change["reason"]


@pytest.mark.integration
@pytest.mark.usefixtures("light")
def test_a_run_without_any_endpoint_ends_with_the_built_in_model_where_it_is_allowed(bot, tiny, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", NOBODY)
    Path("bot.toml").write_text("[models]\nretries = 0\nbuiltin_last = true\n")
    done = bot("replay", tiny, *OPTIONS)
    assert done.exit_code == 0, done.output
    (result,) = results(done)
    assert (result["nodes"], result["llm"]["cost_usd"]) == (2, 0.0)
    assert models(result["run"]) == {"builtin"}
    assert [change["after"] for change in changes(result["run"])] == ["builtin"]


MODEL_OPTIONS = ("--model", "openai:scripted", "--time", "10m", "--sandbox", "process")


@pytest.mark.integration
@pytest.mark.usefixtures("light")
@pytest.mark.parametrize(
    ("agent", "reply"),
    [
        ("aide", failure(400, "This model only takes pictures")),
        ("aide", Reply(body={"choices": [{"message": {"content": None, "reasoning": "hm"}}]})),
        ("comind", Reply("I think about it.")),
    ],
    ids=["refused", "reasoning", "prose"],
)
def test_a_run_without_a_usable_answer_ends_early_and_exits_with_1(bot, tiny, monkeypatch, agent, reply) -> None:
    with ScriptedEndpoint([reply]) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        done = bot("replay", tiny, "--agent", agent, "--coder", "script", *MODEL_OPTIONS, "--json")
        asked = len(endpoint.requests)
    (result,) = results(done)
    assert (done.exit_code, result["status"], result["baseline_submitted"]) == (1, "failed", True)
    assert result["no_answer"] and result["no_answer"] in result["stopped_by"]
    assert 10 <= asked <= 40
    assert result["wall_seconds"] < 300


@pytest.mark.integration
@pytest.mark.usefixtures("light")
def test_a_prompt_that_an_endpoint_fails_at_ends_its_node_alone(bot, tiny, monkeypatch) -> None:
    answers, others = Answers(), list[Request]()

    def script(request: Request) -> Reply | str:
        if PROBE in str(request.body["messages"]):
            return "Yes."
        others.append(request)
        return failure(500, "internal error") if len(others) < 3 else answers(request)

    monkeypatch.setattr("bot.engine.search.RETRY_SHARE", 0.0)
    Path("bot.toml").write_text("[models]\nretries = 0\n")
    with ScriptedEndpoint(script) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        done = bot("replay", tiny, "--agent", "aide", *OPTIONS, "--steps", 4)
    (result,) = results(done)
    assert (done.exit_code, result["status"], result["stopped_by"]) == (0, "finished", None), done.output
    assert len(endpoint.requests) > len(others) > 2
