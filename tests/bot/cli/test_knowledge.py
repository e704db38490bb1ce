"""`bot knowledge`: list, show, check, add, and build from both sources."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bot.cli import app
from bot.knowledge.entry import format_entry, parse_entry
from state.errors import FileProblems, UsageError
from tests.bot.knowledge.parts import entry
from tests.bot.research.curation.test_lessons import write_run
from tests.bot.research.importers.mle_live.hand_written import write_newer
from tests.scripted_endpoint import Request, ScriptedEndpoint

TRICK = {
    "title": "Means of groups",
    "claim": "Add the mean of each group as a column, out of fold.",
    "labels": ["tabular/regression"],
    "support": "measured",
    "evidence": "0.29 to 0.25.",
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder, with a folder of own entries, and without a key."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL"):
        monkeypatch.delenv(name, raising=False)
    Path("bot.toml").write_text('[knowledge]\ndir = "own"\n', encoding="utf-8")
    return tmp_path


def invoke(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["knowledge", *map(str, arguments)], catch_exceptions=False)


def listed(*arguments: object) -> list[str]:
    return [json.loads(line)["id"] for line in invoke("list", *arguments, "--json").stdout.splitlines()]


def test_entries_are_listed_by_label_kind_time_and_competition():
    everything = listed()
    assert len(everything) >= 40
    audio = listed("--label", "audio")
    assert audio
    assert set(listed("--label", "audio/sound-events")) <= set(audio) < set(everything)
    assert set(listed("--kind", "paper")) | set(listed("--kind", "trick")) == set(everything)
    assert "entity-embeddings" in listed("--as-of", "2016-05-01")
    assert "entity-embeddings" not in listed("--as-of", "2016-04-01")
    assert "entity-embeddings" not in listed("--without", "rossmann-store-sales")
    assert "entity-embeddings" in invoke("list", "--label", "tabular/categorical-features").stdout


def test_an_entry_is_shown_as_its_file_has_it():
    shown = parse_entry(invoke("show", "entity-embeddings").stdout)
    assert shown.competitions == ("rossmann-store-sales",)
    assert json.loads(invoke("show", "entity-embeddings", "--json").stdout)["id"] == "entity-embeddings"
    with pytest.raises(UsageError, match="unknown entry nothing"):
        invoke("show", "nothing")


def test_an_entry_is_checked_added_and_listed():
    Path("some-id.md").write_text(format_entry(entry("some-id")))
    assert invoke("add", "some-id.md").stdout.strip().endswith("own/some-id.md")
    assert "some-id" in listed()
    assert invoke("check").exit_code == 0


def test_of_several_files_none_is_added_where_one_is_wrong():
    Path("some-id.md").write_text(format_entry(entry("some-id")))
    Path("other.md").write_text("no entry")
    with pytest.raises(FileProblems, match=r"other\.md:1"):
        invoke("add", "some-id.md", "other.md")
    assert not Path("own").exists()


def test_what_is_wrong_is_named_and_the_check_fails():
    Path("own").mkdir()
    without_source = format_entry(entry("some-id")).replace('path = "runs/one"\n', "")
    Path("own/some-id.md").write_text(without_source)
    done = invoke("check")
    assert done.exit_code == 1
    assert "own/some-id.md: sources.0: Value error, requires either a url or a path" in done.stdout
    found = json.loads(invoke("check", "own", "--json").stdout)
    assert (found["ok"], found["entries"], len(found["problems"])) == (False, 0, 1)
    assert invoke("check", "own/some-id.md").exit_code == 1
    with pytest.raises(UsageError, match="no entries found"):
        invoke("check", "nowhere")


def test_lessons_are_built_without_a_key():
    write_run(Path("run"))
    assert invoke("build", "lessons", "run").exit_code == 0
    assert len(listed("--kind", "lesson")) == 1
    assert invoke("check").exit_code == 0


def test_tricks_are_drawn_by_a_model_and_no_document_is_paid_for_twice(monkeypatch: pytest.MonkeyPatch):
    live = write_newer(Path("live"))
    text = "# Means\nMeans of each group scored 0.25, plain columns 0.29; the blend of both with a linear model 0.24.\n"
    (live / "small" / "kernels" / "201.txt").write_text(text)

    def answer(request: Request) -> str:
        return json.dumps({"tricks": [TRICK]})

    with ScriptedEndpoint(answer) as endpoint:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        for _ in range(2):
            assert invoke("build", "tricks", "live", "--model", "openai:scripted", "--out", "own").exit_code == 0
        asked = len(endpoint.requests)
    assert asked == 1
    shown = parse_entry(Path("own/small-kernel-201-1.md").read_text())
    assert (shown.claim, shown.competitions, shown.support) == (TRICK["claim"], ("small",), "measured")
