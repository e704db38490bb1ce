"""Whole runs whose model gives no answer that can be used: they end early, say so, and exit with 1."""

import pytest

from tests.bot.replay.conftest import results
from tests.scripted_endpoint import Reply, ScriptedEndpoint, failure

OPTIONS = ("--model", "openai:scripted", "--time", "10m", "--sandbox", "process")


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
        done = bot("replay", tiny, "--agent", agent, "--coder", "script", *OPTIONS, "--json")
        asked = len(endpoint.requests)
    (result,) = results(done)
    assert (done.exit_code, result["status"], result["baseline_handed_in"]) == (1, "failed", True)
    assert result["no_answer"] and result["no_answer"] in result["stopped_by"]
    assert 10 <= asked <= 40
    assert result["wall_seconds"] < 300
