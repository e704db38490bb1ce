"""Whole runs: over HTTP, recorded, repeated, stopped, and without anything to hand in."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from state.clock import SystemClock
from state.errors import UsageError
from state.store import Store
from tests.bot.replay.conftest import Bot, Finished, results
from tests.bot.replay.prompt_rules import check_prompts
from tests.bot.replay.scripted_answers import Answers
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint, failure
from tests.state.derive import from_events, from_rows

pytestmark = pytest.mark.usefixtures("light")


def tree_of(run: Path | str) -> list[tuple[Any, ...]]:
    """Return what must repeat: each node's action, parents and code, from the events."""
    events = [json.loads(line) for line in (Path(run) / "events.jsonl").read_text().splitlines()]
    made = {e["node"]: (e["action"], tuple(e["parents"])) for e in events if e["type"] == "node.created"}
    code = {e["node"]: e["code_sha"] for e in events if e["type"] == "node.updated"}
    return [(node, *made[node], code.get(node)) for node in sorted(made)]


@pytest.mark.integration
def test_comind_runs_over_http_and_its_files_tell_the_whole_story(bot: Bot, comind_run: Finished):
    result, folder = comind_run.result, comind_run.folder
    assert result["valid_submission"]
    assert result["nodes"] == 4
    assert result["isolation"] == "none"
    assert result["llm"]["calls"] == comind_run.asked
    assert result["llm"]["cost_usd"] is None, "the price of a made-up model is unknown"
    assert result["prediction_source"] == "refit"
    assert result["community"]["messages"] == 2
    low, high = result["validation_interval"]
    assert low < result["validation_score"] < high
    assert result["score_in_interval"] == (low <= result["score"] <= high)
    looked = {(one["node"], one["guard"]): one["verdict"] for one in result["guards"]}
    assert {looked[None, "target in features"], looked[result["chosen_node"], "printed score"]} == {"passed"}
    assert (result["chosen_node"], "beyond the leaderboard") in looked
    for name in ("config.json", "submission.csv", "state.db", "events.jsonl", "prompts.jsonl", "solution/README.md"):
        assert (folder / name).stat().st_size > 0
    scripts = list((folder / "solution").glob("*.py"))
    assert scripts and all(one.stat().st_size > 0 for one in scripts), "one, or those of a blend"
    own = {one.read_text() for one in scripts if one.name != "solution_1.py"}
    assert result["code_length"] == sum(map(len, own)), "characters, without the engine's baseline"
    ids = [json.loads(line)["id"] for line in (folder / "events.jsonl").read_text().splitlines()]
    assert ids == list(range(1, len(ids) + 1))
    assert "CANARY" not in (folder / "prompts.jsonl").read_text()
    assert check_prompts(folder) == {"analyst", "proposer", "coordinator", "coder", "reporter"}
    with closing(sqlite3.connect(folder / "state.db")) as database:
        compared = dict(database.execute("SELECT kind, count(*) FROM likeness GROUP BY kind"))
    assert compared == {"message": 4, "kernel": 1}, "what repeats what was looked into"
    assert bot("audit", folder).exit_code == 0


@pytest.mark.integration
def test_final_scores_are_kept_with_executions_and_shown_at_the_end_alone(comind_run: Finished):
    result, folder = comind_run.result, comind_run.folder
    with closing(sqlite3.connect(folder / "state.db")) as database:
        kept = database.execute("SELECT node, result FROM step WHERE name = 'execute:holdout'").fetchall()
        rows = [line for line in database.iterdump() if not line.startswith('INSERT INTO "step"')]
    final = {node: json.loads(found)["score"]["final"] for node, found in kept if json.loads(found)["score"]}
    assert len(final) == 5 and result["final_score"] == final[result["chosen_node"]]
    shown = [*rows, *((folder / name).read_text() for name in ("events.jsonl", "prompts.jsonl"))]
    for score in final.values():
        # With so many digits it is this number and no other.
        assert not [text for text in shown if f"{score:.6g}" in text]
        # The last choice reads them, and shows what it read.
        assert score == result["final_score"] or f"{score:.6g}" not in json.dumps(result | {"selection": None})


@pytest.mark.integration
def test_aide_in_slots_asks_for_a_review_once_and_each_role_of_its_own_model_and_sees_no_community(
    bot: Bot, tiny: Path, monkeypatch: pytest.MonkeyPatch
):
    Path("bot.toml").write_text('[models]\nmodel = "plain"\nroles = {reviewer = "critic"}\n')
    with ScriptedEndpoint(Answers()) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        options = ("--agent", "aide", "--parallel", 3, "--steps", 5, "--sandbox", "process", "--json")
        (result,) = results(bot("replay", tiny, *options))
    assert result["valid_nodes"] == 5
    assert not _events(result["run"], "worker.crashed")
    reviews = [request for request in endpoint.requests if "You review runs" in str(request.body["messages"][0])]
    assert len(reviews) == len({request.last for request in reviews}) >= 1
    assert {str(request.body["model"]) for request in reviews} == {"critic"}
    assert {str(request.body["model"]) for request in endpoint.requests} == {"critic", "plain"}
    assert result["model"] == "openai:plain"
    assert result["budget"]["run"]["calls"]["spent"] == len(endpoint.requests)
    assert check_prompts(Path(result["run"])) == {"coder", "reviewer"}
    assert not any("standardised columns" in request.last for request in endpoint.requests)


@pytest.mark.integration
def test_a_broken_script_is_repaired_by_the_next_one(bot: Bot, tiny: Path, monkeypatch: pytest.MonkeyPatch):
    answers = Answers()

    def first_script_fails(request: Request) -> Reply | str:
        if answers.scripts > 3:
            return failure(401, "withdrawn", "invalid_api_key")
        reply = answers(request)
        if isinstance(reply, Reply) and answers.scripts == 1:
            return "Too bold.\n```python\nimport pandas as pd\nraise KeyError('no such column')\n```"
        # The key is withdrawn after the repair: enough was seen, and the run ends.
        return reply if answers.scripts <= 3 else failure(401, "withdrawn", "invalid_api_key")

    with ScriptedEndpoint(first_script_fails) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        options = ("--model", "openai:scripted", "--no-community", "--steps", 12, "--sandbox", "process")
        (result,) = results(bot("replay", tiny, *options, "--json"))
    tree = tree_of(result["run"])
    assert ("debug", (2,)) in [(action, parents) for _, action, parents, _ in tree]
    asked = [r.last for r in endpoint.requests if "The last script failed" in r.last]
    assert any("KeyError: 'no such column'" in text for text in asked)


@pytest.mark.integration
@pytest.mark.parametrize(("agent", "steps"), [("comind", 2), pytest.param("aide", 3, marks=pytest.mark.trial)])
def test_the_same_seed_gives_the_same_tree_with_the_builtin_model_and_its_events_alone_tell_how_it_stands(
    bot: Bot, tiny: Path, agent: str, steps: int
):
    options = ("--agent", agent, "--model", "builtin", "--steps", steps, "--seed", 3, "--sandbox", "process", "--json")
    (one,) = results(bot("replay", tiny, *options))
    (two,) = results(bot("replay", tiny, *options))
    assert one["run"] != two["run"]
    assert tree_of(one["run"]) == tree_of(two["run"])
    assert one["score"] == two["score"]
    check_told_by_events(one)


def check_told_by_events(result: dict[str, Any]) -> None:
    """See that a finished run's state is the same from its events, from those that were exported, and from its rows."""
    run = Path(result["run"])
    with Store.open(run / "state.db", SystemClock()) as store:
        told, rows = from_events(store.export_events(result["run_id"])), from_rows(store, result["run_id"])
    exported = (run / "events.jsonl").read_text(encoding="utf-8").splitlines()
    assert from_events(map(json.loads, exported)) == told == rows
    assert told.status == "finished"
    assert {node.status for node in told.nodes.values()} <= {"valid", "buggy"}
    assert sum(node.action != "ensemble" for node in told.nodes.values()) == result["nodes"]
    assert set(told.steps.values()) == {"finished"}
    assert told.steps[1, "execute:holdout", 0] == "finished"
    assert all(execution.reason is not None for execution in told.executions.values())
    assert set(told.ledger) >= {"tokens", "execution", "submission"}
    assert told.ledger["execution"].amount == len(told.executions)
    assert len(told.submissions) == 1


@pytest.mark.integration
def test_a_script_that_prints_a_perfect_score_gets_the_score_of_its_file(bot, tiny, monkeypatch) -> None:
    liar = """Perfect.
```python
import numpy as np, pandas as pd
rng = np.random.default_rng(0)
for sample, name in (("sample_submission", "submission"), ("sample_validation", "validation_predictions")):
    table = pd.read_csv(f"data/{sample}.csv")
    table["label"] = rng.random(len(table))
    table.to_csv(f"{name}.csv", index=False)
print("validation log loss: 0.00000")
```"""
    answers = Answers()

    def lie(request: Request) -> Reply | str:
        reply = answers(request)
        return liar if isinstance(reply, Reply) else reply

    with ScriptedEndpoint(lie) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        (result,) = results(
            bot("replay", tiny, "--model", "openai:liar", "--steps", 2, "--sandbox", "process", "--json")
        )
    scores = {e["node"]: e["score"] for e in _events(result["run"], "node.ended")}
    assert scores[2] > 0.8, "random predictions have a log loss of about 1"
    blend = result["blend"] or {"node": 1, "weights": {"1": 1.0}}
    assert result["chosen_node"] in (1, blend["node"])
    assert blend["weights"].get("2", 0.0) < 0.2, "a blend hardly listens to it"


def _events(run: str, kind: str) -> list[dict[str, Any]]:
    lines = (Path(run) / "events.jsonl").read_text().splitlines()
    return [e for e in map(json.loads, lines) if e["type"] == kind]


@pytest.mark.integration
def test_a_wrong_key_ends_the_run_with_the_baseline_and_status_2(bot: Bot, tiny: Path, monkeypatch: pytest.MonkeyPatch):
    with ScriptedEndpoint([failure(401, "Incorrect API key provided", "invalid_api_key")]) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        done = bot("replay", tiny, "--model", "openai:any", "--steps", 3, "--sandbox", "process", "--json")
    (result,) = results(done)
    assert done.exit_code == 2
    assert "Incorrect API key" in result["stopped_by"]
    assert result["valid_submission"]
    assert result["baseline_submitted"] and result["code_length"] is None


def test_an_unknown_price_refuses_to_start_under_a_cap(bot: Bot, tiny: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    done = bot("replay", tiny, "--model", "openai:made-up", "--max-cost", 1, "--sandbox", "process", "--json")
    (result,) = results(done)
    assert done.exit_code == 2
    assert "price" in result["error"]


@pytest.mark.integration
def test_a_call_that_does_not_fit_into_the_tokens_of_a_run_is_not_made(bot, tiny, monkeypatch) -> None:
    with ScriptedEndpoint(Answers()) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        options = ("--model", "openai:scripted", "--steps", 3, "--sandbox", "process", "--json")
        (result,) = results(bot("replay", tiny, *options, "--max-tokens", 5_000))
        assert endpoint.requests == []
    assert "tokens of 5000 tokens spent" in result["stopped_by"]
    assert result["baseline_submitted"]
    assert result["budget"]["run"]["tokens"]["cap"] == 5_000


@pytest.mark.integration
def test_a_cap_that_is_reached_keeps_the_best_and_says_so(bot: Bot, tiny: Path, monkeypatch: pytest.MonkeyPatch):
    Path("bot.toml").write_text(
        "[models]\nmax_tokens = 4000\n[models.prices]\nscripted = {input = 0, output = 10}\n"
        "[budget.day]\nmoney = 0.0849\n"
    )
    with ScriptedEndpoint(Answers()) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        options = ("--agent", "aide", "--model", "openai:scripted", "--steps", 9, "--sandbox", "process", "--json")
        done = bot("replay", tiny, *options)
        (result,) = results(done)
        again = bot("replay", tiny, *options, "--max-cost", 5)
    assert done.exit_code == 0, "the best so far is handed in"
    assert result["valid_submission"]
    assert 1 < result["nodes"] < 9
    assert "USD of 0.0849 USD spent" in result["stopped_by"]
    money = {level: kinds["money"] for level, kinds in result["budget"].items()}
    assert money["day"]["spent"] == money["run"]["spent"] == pytest.approx(result["llm"]["cost_usd"])
    assert (money["run"]["cap"], money["day"]["cap"]) == (None, 0.0849)
    assert money["day"]["left"] == pytest.approx(0.0849 - result["llm"]["cost_usd"])
    assert money["run"]["projected"] > money["run"]["spent"]
    executions = result["budget"]["run"]["executions"]
    assert executions["spent"] == result["executions"]
    (second,) = results(again)
    assert second["budget"]["day"]["money"]["spent"] > second["budget"]["run"]["money"]["spent"]
    shown = [json.loads(line) for line in bot("status", "--json").stdout.splitlines()]
    assert [one["status"] for one in shown] == ["finished", "finished"]
    assert shown[0]["best_score"] == result["validation_score"]
    assert shown[0]["budget"]["money"]["spent"] == money["run"]["spent"]


def test_an_untrusted_model_is_not_put_into_a_process_unasked(bot: Bot, tiny: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("DOCKER_HOST", "unix:///nowhere")
    with pytest.raises(UsageError, match="bubblewrap"):
        bot("replay", tiny, "--model", "openai:any", "--steps", 1)


@pytest.mark.parametrize(
    ("option", "value", "word"),
    [
        ("--time", "soon", "--time"),
        ("--time", "5s", "at least 10 s"),
        ("--cutoff", "yesterday", "--cutoff"),
        ("--agent", "cleverest", "--agent"),
    ],
)
def test_a_wrong_option_is_one_clear_sentence(bot: Bot, tiny: Path, option: str, value: str, word: str):
    with pytest.raises(UsageError, match=word):
        bot("replay", tiny, "--model", "builtin", option, value, "--sandbox", "process")


@pytest.mark.integration
def test_several_runs_share_one_call_and_with_hardly_any_time_each_hands_in_what_its_baseline_wrote_first(bot, tiny):
    options = ("--agent", "comind,aide", "--model", "builtin", "--time", "11s", "--sandbox", "process")
    done = bot("replay", tiny, *options, "--out", "all", "--json")
    assert done.exit_code == 0
    found = results(done)
    assert [(r["agent"], r["seed"]) for r in found] == [("comind", 0), ("aide", 0)]
    assert {(r["nodes"], r["chosen_node"], r["valid_submission"]) for r in found} == {(1, 1, True)}
    assert len(list(Path("all").iterdir())) == 2


@pytest.mark.integration
def test_ctrl_c_ends_in_order_and_keeps_the_best_so_far(tiny: Path, tmp_path: Path):
    slow = "Slow.\n```python\nimport time\ntime.sleep(600)\n```"
    answers = Answers()

    def sleepy(request: Request) -> Reply | str:
        reply = answers(request)
        return slow if isinstance(reply, Reply) else reply

    with ScriptedEndpoint(sleepy) as endpoint:
        options = "--model openai:x --steps 3 --no-community --sandbox process --json"
        process = subprocess.Popen(
            [sys.executable, "-m", "bot", "replay", str(tiny), *options.split()],
            cwd=tmp_path,
            env={**os.environ, "OPENAI_BASE_URL": endpoint.url},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        give_up = time.monotonic() + 300
        while answers.scripts == 0 and time.monotonic() < give_up:
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=300)
    result = json.loads(out)
    assert result["stopped_by"] == "interrupted"
    assert result["valid_submission"]
    assert result["prediction_source"] == "holdout"
