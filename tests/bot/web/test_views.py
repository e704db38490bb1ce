"""The pages: what `bot status` and the report know of competitions and runs, also where there is little or much."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest
from bs4 import BeautifulSoup

from bot.cli.status_lines import detail_lines
from bot.engine.run_record import RunRecord
from bot.report.nodes import OngoingRun
from bot.status.accounts import Allowance
from bot.status.status import status_of
from bot.web.run_view import MOST_BOXES, drawn_nodes, progress
from bot.web.sources import Sources
from bot.web.views import Views
from sandbox.gpu import Gpus
from state.notebooks import record_stage
from state.progress import create_node, end_node, end_run
from state.series import take_reading
from state.store import Store
from tests.bot.report.finished_runs import RUN as RUN_ID
from tests.bot.status import parts
from tests.bot.status.parts import NOMAD, SPOOKY
from tests.bot.web.conftest import reopened
from tests.state.rows import create_run


def text(page: httpx2.Response, part: str) -> str:
    """Return the words of a part of a page."""
    assert page.status_code == 200, page.text
    found = BeautifulSoup(page.text, "html.parser").select_one(f"#{part}")
    assert found is not None
    return " ".join(found.get_text(" ").split())


async def test_all_competitions_are_shown_with_rank_scores_money_and_trouble(owner: httpx2.AsyncClient) -> None:
    page = await owner.get("/")
    shown = text(page, "competitions")
    for words in (
        SPOOKY,
        NOMAD,
        "84 of 1,241",
        "bronze",
        "1 to approve",
        "its rules are not accepted",
        "kernels failed 1×",
    ):
        assert words in shown
    assert "validation 0.4 public 0.3217" in shown and "$1.00" in shown
    problems = text(page, "problems")
    assert f"accept the rules of {NOMAD}" in problems
    assert f"Abandoned after repeated failures: 1 task ( learn of {SPOOKY} )" in problems
    assert "The daemon is not running" in problems and "daemon stopped" in shown
    assert problems.index(f"1 submission to {SPOOKY} to approve") < problems.index("accept the rules")
    assert '<path class="steps"' in page.text


@pytest.mark.integration
async def test_one_competition_is_shown_with_all_that_is_known(owner: httpx2.AsyncClient) -> None:
    page = await owner.get(f"/competition/{SPOOKY}")
    assert "node 4 : improve, runs on the hold-out view , when the daemon stopped" in text(page, "working")
    assert "The daemon is not running" in text(page, "standing")
    assert "read Kaggle (in progress)" in text(page, "working")
    assert "Submit node 3 (refitted on all data)" in text(page, "pending") and "it is the best so far" in text(
        page, "pending"
    )
    assert "4 improve" in text(page, "tree") and "Draft 1: Letters" not in text(page, "tree")
    assert "84 of 1,241" in text(page, "board")
    assert "Count letters beside words." in text(page, "ideas") and "message/71 Which words tell?" in text(
        page, "ideas"
    )
    assert "confirmed" in text(page, "submissions") and "awaiting approval" in text(page, "submissions")
    assert "look at punctuation" in text(page, "steering") and "read by the planner" in text(page, "steering")
    assert "node 5 is failed" in text(page, "events")


async def test_a_competition_without_a_run_has_a_page_too(owner: httpx2.AsyncClient) -> None:
    page = await owner.get(f"/competition/{NOMAD}")
    assert "its rules are not accepted" in text(page, "standing")
    assert text(page, "tree") == text(page, "labs") == text(page, "pending") == ""
    assert "The leaderboard has not been read yet." in text(page, "board")


async def test_where_a_notebook_stands_is_shown_on_the_page_and_in_the_status(
    owner: httpx2.AsyncClient, folder: Path
) -> None:
    with reopened(folder) as store:
        with store.write() as tx:
            record_stage(tx, parts.RUN, 3, "ab" * 32, "pushed", ref="ann/bot-spooky", version=1)
        (found,) = status_of(store, Allowance(), [SPOOKY]).competitions
    lines = " ".join(" ".join(detail_lines(found, parts.NOW)).split())
    said = "it is running on Kaggle as ann/bot-spooky, version 1"
    assert "node 3: it is running on Kaggle as ann/bot-spooky, version 1 (for " in lines
    assert said in text(await owner.get(f"/competition/{SPOOKY}"), "submissions")


async def test_the_leaderboards_movement_is_drawn_and_counted(owner: httpx2.AsyncClient, folder: Path) -> None:
    with reopened(folder) as store, store.write() as tx:
        for rank in (80, 91):
            take_reading(tx, SPOOKY, "watch", "", {"standing": {"rank": rank, "teams": 1300, "score": 0.3}})
    page = await owner.get(f"/competition/{SPOOKY}")
    board = text(page, "board")
    assert "91 of 1,300 -11" in board and "80 of 1,300 +4" in board
    assert '<path class="steps"' in page.text.partition("Our rank over time")[2]


async def test_a_replay_is_shown_with_its_verdict_tree_and_files(owner: httpx2.AsyncClient, runs: Path) -> None:
    (runs / RUN_ID / "report.html").write_text("<!doctype html><p>the report</p>", encoding="utf-8")
    assert RUN_ID in text(await owner.get("/"), "runs")
    page = await owner.get(f"/run/{RUN_ID}")
    assert "finished" in text(page, "replay") and "report.html" in text(page, "replay")
    assert "Baseline" in text(page, "tree") and f"run {RUN_ID} is finished" in text(page, "events")
    report = await owner.get(f"/run/{RUN_ID}/file/report.html")
    assert "the report" in report.text
    assert "sandbox" in report.headers["content-security-policy"]
    assert "script-src" not in report.headers["content-security-policy"]


@pytest.mark.parametrize("file", ["state.db", "config.json", "..%2F..%2Fbot.toml", "..%2fstate.db"])
async def test_no_other_file_of_a_run_is_served(owner: httpx2.AsyncClient, runs: Path, file: str) -> None:
    assert (await owner.get(f"/run/{RUN_ID}/file/{file}")).status_code == 404


@pytest.mark.parametrize(
    "path", ["/competition/titanic", "/run/none", f"/competition/{SPOOKY}/node/99", "/x", "/static/x.js"]
)
async def test_what_there_is_not_has_a_page_that_says_so(owner: httpx2.AsyncClient, path: str) -> None:
    page = await owner.get(path)
    assert page.status_code == 404 and "Back" in page.text


async def test_a_node_is_shown_with_its_plan_and_error(owner: httpx2.AsyncClient) -> None:
    assert "no sandbox" in text(await owner.get(f"/competition/{SPOOKY}/node/5"), "node")


def test_where_there_is_nothing_yet_the_page_says_how_to_begin(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text("[daemon]\ndir = 'state'\n", encoding="utf-8")
    views = Views(Sources(tmp_path / "bot.toml"), Gpus(), "")
    assert "bot run" in views.home().parts[0].markup
    assert "No database yet" in views.system().parts[0].markup


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with parts.opened(tmp_path, parts.StandingClock()) as opened:
        yield opened


@pytest.mark.integration
def test_of_a_large_tree_the_best_the_running_and_the_newest_nodes_are_drawn(store: Store) -> None:
    with store.write() as tx:
        create_run(
            tx, "r", competition="wine", agent="aide", model="m", seed=0, cutoff=None,
            config={"card": {"metric": {"name": "rmse", "direction": "minimize"}}},
        )  # fmt: skip
        for number in range(1, 301):
            create_node(tx, "r", action="improve", parents=[number - 1] if number % 10 != 1 else [])
            if number != 50:
                end_node(tx, "r", number, "valid", score=0.1 if number == 17 else 1.0)
    with store.read() as session:
        run = RunRecord.load(session, "r")
        drawn = set(drawn_nodes(run, OngoingRun(True, live=True)))
        goes_on = progress(run, store.clock.now() + timedelta(days=9))
    assert len(drawn) <= MOST_BOXES
    assert {11, 17, 41, 50, 291, 300} <= drawn, "the best and what runs, with what they grew from, and the newest"
    assert 150 not in drawn
    with store.write() as tx:
        end_run(tx, "r", "finished")
    with store.read() as session:
        over = progress(RunRecord.load(session, "r"), store.clock.now() + timedelta(days=9))
    assert goes_on is not None and goes_on.x_axis.label.startswith("days")
    assert over is not None and not over.x_axis.label.startswith("days"), "the scores of a run that is over end with it"
