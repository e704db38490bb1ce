"""What the prompts of a run must say, and must not: read back from what was sent."""

import json
import re
from pathlib import Path
from typing import Any

from sqlmodel import select

from state.clock import SystemClock
from state.store import Store
from state.tables import Step

PROMISE = re.compile(r"The script may run for (\d+) s; ")
DRAFT_LEFT = re.compile(r"This draft has (?:\d+ s left|at most \d+ script)")
RUN_ROOM = re.compile(r"The whole run has \d+ s left for writing, running and submitting(?:, and (\d+) scripts?)?")
CONTRADICTIONS = ("atomic change", "keep it simple", "one change or a few", "Prefer many cheap")


def prompts_of(run: Path) -> list[dict[str, Any]]:
    """Return the run's calls, oldest first."""
    return [json.loads(line) for line in (run / "prompts.jsonl").read_text(encoding="utf-8").splitlines()]


def text_of(call: dict[str, Any]) -> str:
    """Return the text of a call."""
    return "\n".join(message["content"] for message in call["messages"])


def check_prompts(run: Path) -> set[str]:
    """Assert what holds for every prompt of a run, and return the roles that were asked."""
    calls = prompts_of(run)
    for call in calls:
        text = text_of(call)
        assert not [words for words in CONTRADICTIONS if words in text], call["step"]
        assert not re.search(r"\n{4,}", text), call["step"]
    _check_coders(run, [call for call in calls if call["role"] == "coder"])
    for call in calls:
        if call["role"] == "coordinator":
            _check_coordinator(text_of(call))
    return {call["role"] for call in calls}


def _check_coders(run: Path, calls: list[dict[str, Any]]) -> None:
    promised = _promised(run)
    config = json.loads((run / "config.json").read_text(encoding="utf-8"))
    agent = config["settings"]["agent"]
    left: list[int] = []
    for call in calls:
        text, node = text_of(call), int(call["step"].split("/")[0])
        limit = PROMISE.search(text)
        assert int(limit[1]) == round(promised[node])
        assert (DRAFT_LEFT.search(text) is not None) == (agent in ("comind", "hybrid"))
        assert ("in a row without a better score" in text) == (agent in ("comind", "hybrid"))
        whole = RUN_ROOM.search(text)
        if whole[1]:
            left.append(int(whole[1]))
        # Of a tree search the engine's baseline is no node, and its memory has no table.
        assert ("| 1 | " in text and " ± " in text) == (agent in ("comind", "hybrid")), "the baseline in the results"
        assert "Installed: " in text
        assert "BOT_TIME_LIMIT" in text
    assert left == sorted(left, reverse=True)
    assert not left or left[-1] == 1
    heads = {text_of(call).split("# Your ")[0] for call in calls if call["step"].endswith("/write/0")}
    assert len(heads) <= 1, "what never changes stands first"


def _check_coordinator(text: str) -> None:
    for part in ("# The data", "# Where it runs", "Installed: ", "# Results so far", "# What is left", " s of "):
        assert part in text
    assert re.search(r"Plan (?:1 to \d+|one) draft", text) is not None


def _promised(run: Path) -> dict[int, float]:
    """Return the time limit of each node as it was fixed before its prompt."""
    with Store.open(run / "state.db", SystemClock()) as store, store.read() as session:
        steps = session.exec(select(Step).where(Step.name == "limits")).all()
        return {step.node: step.result["seconds"] for step in steps if step.result is not None}
