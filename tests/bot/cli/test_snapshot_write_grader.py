import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bot.cli import app
from bot.evaluation.graders.marking import is_model_written, record_of
from tests import needs
from tests.bot.evaluation.graders.parts import CAREFUL
from tests.scripted_endpoint import ScriptedEndpoint
from tests.tiny_snapshot import write_tiny

GRADER = CAREFUL.replace('"y"', '"label"')


@pytest.fixture
def described(tmp_path: Path) -> Path:
    """A snapshot whose metric is known by its description alone; the leaderboard's best is no perfect score."""
    folder = write_tiny(tmp_path / "tiny")
    manifest = json.loads((folder / "snapshot.json").read_text())
    manifest["metric"] = {"name": "root of the mean square", "direction": "minimize", "params": {}}
    (folder / "snapshot.json").write_text(json.dumps(manifest))
    return folder


def bot(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout


@pytest.mark.integration
def test_a_written_grader_is_admitted_marked_and_grades(described: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs.bubblewrap()
    code, said = bot("snapshot", "check", described)
    assert code == 1
    assert "is unknown and there is no private/grade.py" in said
    wrong = GRADER.replace("len(submission) != len(answers) or ", "")
    with ScriptedEndpoint([f"```python\n{wrong}```", f"```python\n{GRADER}```"]) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        code, said = bot("snapshot", "write-grader", described, "--model", "openai:m")
        asked = [request.last for request in endpoint.requests]
    assert code == 0, said
    assert "written by m, admitted at try 2" in said
    assert "wrong ids are refused" in asked[1]
    grader = described / "private" / "grade.py"
    assert is_model_written(grader)
    record = record_of(grader)
    assert record is not None
    assert (record["model"], record["tries"], len(record["passed"])) == ("m", 2, 12)
    answers = (described / "private" / "answers.csv").read_text().splitlines()[1:]
    assert not {line for text in asked for line in text.splitlines()} & set(answers)

    code, said = bot("snapshot", "check", described)
    assert code == 0
    assert "grader: WRITTEN BY A MODEL (m, " in said
    code, said = bot("grade", described, described / "data" / "sample_submission.csv", "--json")
    report = json.loads(said)
    assert (code, report["grader"], report["score"]) == (0, "model-written", 0.5)
    with pytest.raises(Exception, match="pass --replace to have another"):
        bot("snapshot", "write-grader", described, "--model", "openai:m")


def test_a_model_that_declines_leaves_the_snapshot_as_it_is(described: Path) -> None:
    code, said = bot("snapshot", "write-grader", described, "--model", "builtin")
    assert code == 1
    assert "knows the metric 'root of the mean square' by no name" in said
    assert not (described / "private" / "grade.py").exists()


def test_none_is_written_where_none_is_needed(tmp_path: Path, described: Path) -> None:
    with pytest.raises(Exception, match="needs no grader: its metric log_loss is the registry's"):
        bot("snapshot", "write-grader", write_tiny(tmp_path / "known"), "--model", "builtin")
    (described / "private" / "grade.py").write_text("def grade(submission, answers):\n    return 0.0\n")
    with pytest.raises(Exception, match="has the competition's own grader"):
        bot("snapshot", "write-grader", described, "--model", "builtin", "--replace")
