"""A live run's end: its folder holds what a replay leaves too, and speaks of leaderboards."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from bot.evaluation.client.worker import Worker
from tests.bot.leaderboard.boards import placed
from tests.bot.live.live_runs import DEADLINE, LiveRun, live_run
from tests.bot.report.test_page import Page

pytestmark = pytest.mark.asyncio(loop_scope="module")

FIELD = [round(0.3 + 0.002 * place, 5) for place in range(199)]


@pytest.fixture
def run(tmp_path: Path, worker: Worker) -> Iterator[LiveRun]:
    with live_run(tmp_path, worker) as made:
        yield made


def page_of(run: LiveRun) -> Page:
    return Page(run.folder.report.read_text(encoding="utf-8"))


@pytest.mark.integration
async def test_a_run_that_sent_nothing_reports_it_and_leaves_its_best_script(run: LiveRun) -> None:
    result = await run.finish()
    best = min(run.scores, key=lambda node: run.scores[node])
    assert (result.chosen_node, result.prediction_source, result.baseline_submitted) == (best, None, False)
    assert f"node {best}" in (run.folder.solution / "solution.py").read_text()
    assert "nothing was submitted" in (run.folder.solution / "README.md").read_text()
    assert not run.folder.submission.exists()
    shown = page_of(run)
    assert f"Nothing was submitted: nothing was submitted; node {best} has the best validation score." in shown.prose
    for words in ("The full leaderboard was never downloaded", "Nothing was submitted.", "there is no comparison"):
        assert words in shown.prose
    assert "★" not in shown.prose.replace("★ the submission that counts", "")


@pytest.mark.integration
async def test_the_result_names_the_owners_grader(run: LiveRun, tmp_path: Path) -> None:
    assert (await run.finish()).grader == "registry"
    grader = tmp_path / "grade.py"
    grader.write_text("def grade(submission, answers):\n    return 1.0\n")
    executor = run.ended.context.executor
    executor.settings = replace(executor.settings, grader=grader)
    assert (await run.finish()).grader == "competition"
    assert "your grade.py" in page_of(run).prose


@pytest.mark.integration
async def test_it_is_written_while_it_goes_on_and_anew_when_the_private_scores_are_out(run: LiveRun) -> None:
    nodes = sorted(run.scores)[-3:]
    found = [run.send(node) for node in nodes]
    for (ref, tag), public in zip(found, (0.42, 0.36, 0.38), strict=True):
        run.polls.sent(ref, public, tag=tag)
    run.polls.whole(placed(FIELD, 31, 0.36))
    result = await run.finish()

    assert (result.score, result.score_kind, result.rank, result.n_teams) == (0.36, "public", 31, 200)
    assert (result.cutoff, result.pace, result.status) == (None, "live", "finished")
    # By the clock since it began, not what the last start of the bot has measured.
    began = datetime.fromisoformat(json.loads(run.folder.events.read_text().splitlines()[0])["at"])
    assert result.wall_seconds == pytest.approx((run.clock.now() - began).total_seconds(), abs=1.0)
    assert result.wall_seconds > result.seconds_to_first_valid
    assert result.overhead_seconds is None
    assert (result.chosen_node, result.validation_score) == (nodes[1], run.scores[nodes[1]])
    assert result.hidden_scores == dict(zip(nodes, (0.42, 0.36, 0.38), strict=True))
    assert run.folder.submission.read_text() == f"id,label\nnode,{nodes[1]}\n"
    assert {path.name for path in run.folder.path.iterdir()} == {
        *("config.json", "result.json", "report.html", "events.jsonl", "prompts.jsonl", "submission.csv"),
        *("solution", "views", "evaluator", "executions"),
    }
    ids = [json.loads(line)["id"] for line in run.folder.events.read_text().splitlines()]
    assert ids == list(range(1, len(ids) + 1))
    assert len(run.folder.prompts.read_text().splitlines()) == 12
    shown = page_of(run)
    for words in (
        "Rank 31 of 200 teams on the current public leaderboard with a score of 0.36: a silver medal.",
        "Private scores decide the result but are not known yet",
        "Wine, live",
        "public leaderboard score (best on the right)",
        found[0][1],
    ):
        assert words in shown.prose
    assert not [words for words in ("hidden test", "snapshot", "Snapshot", "None") if words in shown.prose]
    assert len([tag for tag, attrs in shown.tags if tag == "svg" and "viewbox" in attrs]) >= 5

    run.clock.time = DEADLINE + timedelta(hours=2)
    for (ref, tag), public, private in zip(found, (0.42, 0.36, 0.38), (0.41, 0.39, 0.37), strict=True):
        run.polls.sent(ref, public, private, tag=tag)
    run.polls.whole(placed([score + 0.01 for score in FIELD], 36, 0.37))
    for file in run.files.glob("*"):
        if f"node,{nodes[2]}" not in file.read_text():
            file.unlink()
    result = await run.finish()
    assert (result.score, result.score_kind, result.chosen_node) == (0.37, "private", nodes[2])
    assert run.folder.submission.read_text() == f"id,label\nnode,{nodes[2]}\n"
    shown = page_of(run)
    assert "Rank 36 of 200 teams on the private leaderboard with a score of 0.37: a silver medal." in shown.prose
    assert "not known yet" not in shown.prose


@pytest.mark.integration
async def test_the_correlation_is_of_validation_with_public_scores_of_what_was_sent(run: LiveRun) -> None:
    nodes = sorted(run.scores, key=lambda node: run.scores[node])[:4]
    sent = [run.send(node) for node in nodes]
    again = run.send(nodes[0], content="again")
    run.polls.sent(again[0], None, tag=again[1], status="PENDING")
    for scores, correlation in (((0.3, 0.4, 0.5, 0.6), 1.0), ((0.6, 0.5, 0.4, 0.3), -1.0)):
        for (ref, tag), public in zip(sent, scores, strict=True):
            run.polls.sent(ref, public, tag=tag)
        assert (await run.finish()).rank_correlation == pytest.approx(correlation)
