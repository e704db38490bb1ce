"""Whole runs with a folder of notes: read once, dated, audited, and after a kill as they were when the run began."""

import json
import os
import shutil
from pathlib import Path

import pytest

from state.errors import UsageError
from tests import needs
from tests.bot.cli.test_resume import killed
from tests.bot.replay.conftest import results
from tests.bot.replay.scripted_answers import Answers, LabAnswers
from tests.scripted_endpoint import ScriptedEndpoint

LATE = "the zebra quartz marmalade ensemble of seventeen unusual kangaroo embeddings won everything afterwards"
EARLY = "ten folds stratified by the label and averaged over four different seeds agreed with the public board"


def some_notes(folder: Path) -> Path:
    folder.mkdir()
    (folder / "plan.md").write_text(f"---\ndate: 2020-01-10\nvotes: 50\n---\n# The plan\n{EARLY}.")
    (folder / "undated.txt").write_text(
        "A linear model on the columns a and b has been the best so far in all our trials, by far; tune C."
    )
    (folder / "late.md").write_text(f"---\ndate: 2021-01-01\n---\n{LATE}")
    (folder / "big.md").write_bytes(b"")
    os.truncate(folder / "big.md", 100_000_000)
    return folder


@pytest.mark.integration
def test_a_killed_run_finds_its_notes_as_they_were_when_it_began(bot, tiny, tmp_path, monkeypatch) -> None:
    notes = some_notes(tmp_path / "notes")
    options = ("--model", "openai:scripted", "--steps", "2", "--sandbox", "process", "--json", "--notes", str(notes))
    with ScriptedEndpoint(Answers()) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        killed(tiny, tmp_path, *options)
        shutil.rmtree(notes)
        done = bot("resume", tmp_path / "runs", "--json")
    assert done.exit_code == 0, done.output
    (result,) = results(done)
    assert result["notes"] == {
        "read": 3,
        "undated": 1,
        "later": 1,
        "left_out": ["big.md was skipped: it has 100 MB, but the limit is 20 MB"],
    }
    prompts = (Path(result["run"]) / "prompts.jsonl").read_text()
    assert EARLY in prompts and "tune C" in prompts
    assert LATE not in prompts
    page = (Path(result["run"]) / "report.html").read_text()
    assert "1 undated note is treated as known from the start." in page
    assert "dated after the simulated time and not shown: 1" in page
    assert bot("audit", result["run"]).exit_code == 0
    path = Path(result["run"]) / "prompts.jsonl"
    first, *others = (json.loads(line) for line in path.read_text().splitlines())
    first["messages"][-1]["content"] += LATE
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in (first, *others)))
    audited = bot("audit", result["run"])
    assert audited.exit_code == 1
    assert "contains words from message/note-" in audited.stdout


class Looking(LabAnswers):
    COMMANDS = (
        "cat /lab/community/index.md /lab/community/topics/note-* /lab/community/kernels/note-*",
        *LabAnswers.COMMANDS[2:3],
        *LabAnswers.COMMANDS[-1:],
    )


@pytest.mark.integration
@pytest.mark.trial
@pytest.mark.usefixtures("light")
def test_a_lab_finds_notes_among_the_communitys_files(bot, tiny, tmp_path, monkeypatch) -> None:
    needs.bubblewrap()
    tmp_path.chmod(0o755)
    notes = some_notes(tmp_path / "notes")
    (notes / "ours.py").write_text("# ---\n# date: 2020-01-10\n# ---\nfit_our_own_model(depth=7)\n")
    with ScriptedEndpoint(Looking()) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        options = ("--sandbox", "bubblewrap", "--steps", 2, "--time", "20m", "--json", "--notes", notes)
        (result,) = results(bot("replay", tiny, "--model", "openai:scripted", *options))
        seen = "\n".join(str(m["content"]) for one in endpoint.requests for m in one.body["messages"])
    assert 'ours-py_v1.py · a note from our team · 0 kB · "ours"' in seen
    assert "fit_our_own_model(depth=7)" in seen
    assert '## "somebody", a note from our team, 50 votes' in seen
    assert EARLY in seen and LATE not in seen
    assert bot("audit", result["run"]).exit_code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [(("--no-community",), "cannot be combined"), (("{tiny}",), "one snapshot"), ((), "folder not found")],
)
def test_notes_that_make_no_sense_are_one_clear_sentence(bot, tiny, tmp_path, options, words) -> None:
    more = [option.format(tiny=tiny) for option in options]
    notes = tmp_path if options else tmp_path / "none"
    with pytest.raises(UsageError, match=words):
        bot("replay", tiny, "--model", "builtin", "--sandbox", "process", "--notes", notes, *more)
