"""Short real runs on the real competitions: valid, audited, without a word from after the deadline, and light."""

import json
from pathlib import Path

import pytest

from tests import needs
from tests.bot.replay.conftest import Bot, results
from tests.bot.replay.prompt_rules import check_prompts

SLUGS = (pytest.param("aerial-cactus-identification", marks=pytest.mark.trial), "bike-sharing-demand")
"""Images, and rows in time. Tables have their real runs in `test_stream_runs` and in the rehearsals, texts in these."""
SECONDS = 120


@pytest.mark.integration
@pytest.mark.parametrize("slug", SLUGS)
def test_a_short_run_is_valid_audited_and_knows_nothing_of_the_future(bot: Bot, slug: str):
    snapshot = needs.snapshots() / slug
    needs.bubblewrap()
    options = ("--model", "builtin", "--steps", 2, "--time", f"{SECONDS}s", "--sandbox", "bubblewrap", "--json")
    done = bot("replay", snapshot, *options)
    assert done.exit_code == 0, done.output
    (result,) = results(done)
    assert result["valid_submission"]
    assert result["isolation"] == "bubblewrap"
    assert result["wall_seconds"] < SECONDS
    folder = Path(result["run"])
    prompts = (folder / "prompts.jsonl").read_text()
    assert "CANARY-AFTER-DEADLINE" not in prompts
    assert "CANARY-LATE-REPLY" not in prompts
    assert {"analyst", "proposer", "coordinator", "coder", "reporter"} <= check_prompts(folder)
    assert all(json.loads(line)["as_of"] for line in prompts.splitlines())
    assert bot("audit", folder).exit_code == 0
    assert sum(f.stat().st_size for f in folder.rglob("*") if f.is_file()) < 300e6
    assert (folder / "report.html").is_file()
