"""A whole run whose first script is ended by the monitor, and whose scripts find the weights that existed in time."""

import hashlib
import json
from pathlib import Path

import pytest

from bot.weights.folder import WeightsFolder
from tests.bot.replay.conftest import Bot, results
from tests.bot.replay.scripted_answers import Answers
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint

REASON = "The script only waits: do the work at once."
WAITS = """Wait first.
```python
import os, time
print("weights:", sorted(os.listdir("weights")), open("weights/early/w.txt").read(), flush=True)
time.sleep(60)
```"""
LIST = """
[[weights]]
name = "{name}"
released = {released}
licence = "MIT"
load = "state = open('weights/{name}/w.txt').read()"
[[weights.files]]
name = "w.txt"
url = "https://example.org/{name}"
bytes = 4
sha256 = "{hash}"
"""


def keep(folder: Path, name: str) -> None:
    """Lay weights into the folder as `bot weights pull` does."""
    (folder / name).mkdir()
    (folder / name / "w.txt").write_text("abcd")
    WeightsFolder(folder).mark_checked(name, "w.txt", hashlib.sha256(b"abcd").hexdigest())


@pytest.fixture
def configured(tmp_path: Path) -> None:
    """A bot.toml with an impatient monitor, and weights of before and after the tiny snapshot's deadline."""
    folder, digest = tmp_path / "kept", hashlib.sha256(b"abcd").hexdigest()
    folder.mkdir()
    dated = {"early": "2019-06-01", "late": "2020-06-01"}
    (folder / "weights.toml").write_text(
        "".join(LIST.format(name=name, released=day, hash=digest) for name, day in dated.items())
    )
    for name in dated:
        keep(folder, name)
    (tmp_path / "bot.toml").write_text(f'[watch]\ninspect_interval = 1.0\n[weights]\ndir = "{folder}"\n')


@pytest.mark.integration
@pytest.mark.usefixtures("configured")
def test_a_stop_is_kept_with_its_reason_and_weights_obey_the_clock(
    bot: Bot, tiny: Path, monkeypatch: pytest.MonkeyPatch
):
    answers, looks = Answers(), 0

    def answer(request: Request) -> Reply | str:
        nonlocal looks
        if "You look on while" in str(request.body["messages"][0]["content"]):
            looks += 1
            stop = {"action": "stop", "reason": REASON}
            return json.dumps(stop if "weights:" in request.last else {"action": "continue"})
        reply = answers(request)
        return WAITS if isinstance(reply, Reply) and answers.scripts == 1 else reply

    with ScriptedEndpoint(answer) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        options = ("--model", "openai:scripted", "--no-community", "--no-race", "--steps", 2, "--time", "5m")
        done = bot("replay", tiny, *options, "--sandbox", "process", "--json")
    (result,) = results(done)
    assert looks >= 1
    assert result["exit_reasons"]["killed_by_monitor"] == 1
    folder = Path(result["run"])
    prompts = [json.loads(line) for line in (folder / "prompts.jsonl").read_text().splitlines()]
    written = [str(p["messages"][-1]["content"]) for p in prompts if p["prompt"] == "write_script"]
    assert "state = open('weights/early/w.txt').read()" in written[0]
    assert "late" not in written[0].split("# Your ")[0].split("Pretrained weights")[1]
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    (stopped,) = [e for e in events if e["type"] == "node.ended" and e["node"] == 2]
    assert stopped["error"].startswith("on the hold-out view, with ")
    assert stopped["error"].endswith(f": the script was killed early by the monitor, a model that looks on: {REASON}")
    monitored = [p for p in prompts if p["role"] == "monitor"]
    assert any("weights: ['early'] abcd" in p["messages"][-1]["content"] for p in monitored)
    assert all(p["usage"]["completion_tokens"] > 0 for p in monitored)
    assert (folder / "report.html").read_text().count("killed by monitor") >= 1
    assert bot("audit", folder).exit_code == 0
