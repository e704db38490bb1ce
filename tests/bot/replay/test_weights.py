"""A whole run whose scripts find the weights that existed in time."""

import hashlib
import json
from pathlib import Path

import pytest

from bot.weights.folder import WeightsFolder
from tests.bot.replay.conftest import results
from tests.bot.replay.scripted_answers import Answers
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint

LOOKS = """Look first.
```python
import os
print("weights:", sorted(os.listdir("weights")), open("weights/early/w.txt").read(), flush=True)
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
    kept = WeightsFolder(folder)
    weights = kept.find(name)
    kept.mark_checked(weights, weights.files[0])


@pytest.fixture
def configured(tmp_path: Path) -> None:
    """A bot.toml with weights of before and after the tiny snapshot's deadline."""
    folder, digest = tmp_path / "kept", hashlib.sha256(b"abcd").hexdigest()
    folder.mkdir()
    dated = {"early": "2019-06-01", "late": "2020-06-01"}
    (folder / "weights.toml").write_text(
        "".join(LIST.format(name=name, released=day, hash=digest) for name, day in dated.items())
    )
    for name in dated:
        keep(folder, name)
    (tmp_path / "bot.toml").write_text(f'[weights]\ndir = "{folder}"\n')


@pytest.mark.integration
@pytest.mark.usefixtures("configured")
def test_scripts_are_given_the_weights_that_existed_at_the_clock(bot, tiny, monkeypatch) -> None:
    answers = Answers()

    def answer(request: Request) -> Reply | str:
        reply = answers(request)
        return LOOKS if isinstance(reply, Reply) and answers.scripts == 1 else reply

    with ScriptedEndpoint(answer) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        options = ("--model", "openai:scripted", "--no-community", "--steps", 2, "--time", "5m")
        done = bot("replay", tiny, *options, "--sandbox", "process", "--json")
    (result,) = results(done)
    folder = Path(result["run"])
    prompts = [json.loads(line) for line in (folder / "prompts.jsonl").read_text().splitlines()]
    written = [str(p["messages"][-1]["content"]) for p in prompts if p["prompt"] == "write_script"]
    assert "state = open('weights/early/w.txt').read()" in written[0]
    assert "late" not in written[0].split("# Your ")[0].split("Pretrained weights")[1]
    logs = [path.read_text() for path in (folder / "executions").glob("n2-*/log.txt")]
    assert any("weights: ['early'] abcd" in log for log in logs)
    assert bot("audit", folder).exit_code == 0
