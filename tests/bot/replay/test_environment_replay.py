"""Whole runs in containers, and with packages that the bot itself has not."""

import json
from pathlib import Path

import pytest

from sandbox.image import IMAGE
from sandbox.make_environment import Recipe, make_environment
from sandbox.share import usable_memory
from tests import needs
from tests.bot.replay.conftest import Bot, results
from tests.scripted_endpoint import Reply, Request, ScriptedEndpoint

GIB = 1024**3

SCRIPT = """A boosted model.

```python
import os
import lightgbm
import numpy as np
import pandas as pd

train, test, validation = (pd.read_csv(f"data/{{name}}.csv") for name in ("train", "test", "validation"))
# Once: not in a debug run, which has little time, nor in the refit on all of the 240 rows.
gib = {gib} if float(os.environ["BOT_TIME_LIMIT"]) > 600 and len(train) < 240 else 0
held = np.ones(gib * 2**27)  # 8 bytes each
model = lightgbm.LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1).fit(train[["a", "b", "c"]], train["label"])
for table, name in ((test, "submission"), (validation, "validation_predictions")):
    predicted = model.predict_proba(table[["a", "b", "c"]])[:, 1]
    pd.DataFrame({{"id": table["id"], "label": predicted}}).to_csv(f"{{name}}.csv", index=False)
print("held", held.nbytes)
```
"""


@pytest.fixture
def environments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("environments")
    for part in (folder, *list(folder.parents)[:2]):
        part.chmod(0o755)  # scripts may run as another user
    (folder / "requirements.txt").write_text(
        "lightgbm\npandas\npillow\nscikit-learn\n"
    )  # with what the baseline imports
    make_environment(folder, "default", Recipe((), False, folder / "requirements.txt", "uv"))
    return folder


def answer(request: Request) -> Reply | str:
    reviewing = "You review runs" in str(request.body["messages"][0]["content"])
    return json.dumps({"summary": "it works"}) if reviewing else SCRIPT.format(gib=8)


@pytest.mark.integration
@pytest.mark.trial
@pytest.mark.parametrize("kind", ["bubblewrap", "docker"])
@pytest.mark.usefixtures("light")
def test_nodes_use_the_environment_and_eight_gigabytes(bot, tiny, environments, monkeypatch, kind) -> None:
    (needs.docker if kind == "docker" else needs.bubblewrap)()
    if usable_memory() < 12 * GIB:
        needs.missing("a script of 8 GiB wants a machine with 12")
    Path("bot.toml").write_text(f'[sandbox]\nenvironments = "{environments}"\n')
    options = ("--agent", "aide", "--model", "openai:scripted", "--steps", 2, "--time", "3h", "--json")
    with ScriptedEndpoint(answer) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        done = bot("replay", tiny, *options, "--sandbox", kind)
    assert done.exit_code == 0, done.output
    (result,) = results(done)
    run = Path(result["run"])
    assert result["valid_nodes"] == 2, run
    assert json.loads((run / "config.json").read_text())["settings"]["environment"] == "default"
    logs = [path.read_text() for path in (run / "executions").glob("*/log.txt")]
    assert any(f"held {8 * GIB}" in log for log in logs)
    assert "lightgbm 4." in (run / "prompts.jsonl").read_text()


@pytest.mark.integration
def test_a_replay_of_the_demo_in_containers_is_valid_and_audited(bot: Bot, tmp_path: Path) -> None:
    needs.docker()
    assert bot("snapshot", "demo", tmp_path / "demo").exit_code == 0
    options = ("--model", "builtin", "--steps", 2, "--time", "90s", "--sandbox", "docker", "--json")
    done = bot("replay", tmp_path / "demo", *options)
    assert done.exit_code == 0, done.output
    (result,) = results(done)
    assert result["valid_submission"]
    assert result["isolation"] == "docker"
    folder = Path(result["run"])
    settings = json.loads((folder / "config.json").read_text())["settings"]
    assert IMAGE in settings["image"]
    assert "scikit-learn" in (folder / "prompts.jsonl").read_text()
    assert bot("audit", folder).exit_code == 0
