"""CoMind as its paper has it: its stages, and a coder that sees its own draft alone."""

import json
from pathlib import Path

import pytest

from tests.bot.replay.conftest import finish, finished, light
from tests.bot.replay.scripted_answers import Answers
from tests.tiny_snapshot import write_tiny

__all__ = ["light"]

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("light")]


def test_its_stages_are_the_papers_and_nothing_of_ours_is_added(tmp_path: Path) -> None:
    finish(
        Answers(), tmp_path, write_tiny(tmp_path / "tiny-table"), "--agent", "comind-paper", "--steps", 6, "--cpus", 1
    )
    done = finished(tmp_path)
    prompts = [json.loads(line) for line in (done.folder / "prompts.jsonl").read_text().splitlines()]
    stages = dict.fromkeys(one["prompt"] for one in prompts)
    assert list(stages) == ["read_posts", "propose_ideas", "plan_drafts", "write_script", "write_report"]
    texts = {
        name: ["\n".join(m["content"] for m in one["messages"]) for one in prompts if one["prompt"] == name]
        for name in stages
    }
    assert all("# Your draft: " in text for text in texts["write_script"])
    assert not any("Results of this run" in text or "# Ideas" in text for text in texts["write_script"])
    assert not any(
        "several cheap experiments" in text or "table of experiments" in text for text in texts["write_script"]
    )
    assert "ensemble lacks" not in texts["plan_drafts"][0]
    assert "node 1" not in texts["plan_drafts"][0] and "baseline" not in texts["plan_drafts"][0].lower()
    events = [json.loads(line) for line in (done.folder / "events.jsonl").read_text().splitlines()]
    reading = next(e["id"] for e in events if e["type"] == "step.started" and e["name"].startswith("reading"))
    ended = next(e["id"] for e in events if (e["type"], e["node"]) == ("node.ended", 1))
    assert reading < ended, "the engine's baseline takes none of its time"
    result = done.result
    assert (result["variant"], result["blend"], result["public_kernels"]) == ([], None, None)
    assert result["prediction_source"] and not result["baseline_submitted"]
