"""A run's views: built once, under safe names; data that cannot be split serves whole, and says why, also after a restart."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest
import pytest_asyncio

from bot.evaluation.client.worker import Worker
from bot.execution.folder import RunFolder
from bot.execution.run_views import RunViews
from bot.execution.stopwatch import Stopwatch
from state.errors import UnsupportedLayout, UsageError
from tests.bot.evaluation.parts import card, column, competition

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def worker() -> AsyncIterator[Worker]:
    async with aclosing(Worker()) as one:
        yield one


def views(place: Path, worker: Worker) -> RunViews:
    return RunViews(card(), place / "data", 0, RunFolder(place / "run"), worker, Stopwatch())


async def test_a_view_lies_in_a_folder_of_its_name(tmp_path: Path, worker: Worker) -> None:
    competition(tmp_path / "data", [[f"r{n}", n, n] for n in range(100)], [["t", 0]])
    found = views(tmp_path, worker)
    full = await found.view("full")
    assert full.data == tmp_path / "run" / "views" / "full"
    assert full.truth.is_file() and found.self_reported is None
    with pytest.raises(UsageError, match="Unknown view"):
        await found.view("../holdout")


async def test_data_that_cannot_be_split_serves_every_view_whole(tmp_path: Path, worker: Worker) -> None:
    data = competition(tmp_path / "data", [[f"r{n}", n, n] for n in range(5)], [["t", 0]])
    for found in (views(tmp_path, worker), views(tmp_path, worker)):  # the second as after a restart
        places = {(await found.view(name)).data for name in ("holdout", "sample", "full")}
        assert places == {tmp_path / "run" / "views" / "holdout"}
        assert found.self_reported == "train.csv has 5 rows with labels; at least 10 are needed."
    shown = places.pop()
    assert {path.name for path in shown.iterdir()} == {path.name for path in data.iterdir()}


async def test_without_a_sample_submission_nothing_can_be_run(tmp_path: Path, worker: Worker) -> None:
    competition(tmp_path / "data", [[f"r{n}", n, n] for n in range(50)], [["t", 0]])
    (tmp_path / "data" / "sample_submission.csv").unlink()
    with pytest.raises(UnsupportedLayout, match=r"no sample_submission.csv"):
        await views(tmp_path, worker).view("holdout")


async def test_folds_are_cut_once_and_lie_where_no_view_does(tmp_path: Path, worker: Worker) -> None:
    competition(tmp_path / "data", [[f"r{n}", n, n] for n in range(100)], [["t", 0]])
    first = await views(tmp_path, worker).folds()
    assert first is not None
    written = (first.data / "folds.csv").stat().st_mtime_ns
    again = await views(tmp_path, worker).folds()  # as after a restart
    assert again == first and (first.data / "folds.csv").stat().st_mtime_ns == written
    assert not first.data.is_relative_to(tmp_path / "run" / "views"), "no script sees labels.csv beside it"


async def test_all_views_and_the_folds_of_a_lab_withhold_the_same_few_rows(tmp_path: Path, worker: Worker) -> None:
    competition(tmp_path / "data", [[f"r{n}", n, n] for n in range(1_000)], [["t", 0]])
    found = RunViews(card(), tmp_path / "data", 0, RunFolder(tmp_path / "run"), worker, Stopwatch(), None, "lab")
    trained = [set(column((await found.view(name)).data / "train.csv", "id")) for name in ("holdout", "swap")]
    folds = await found.folds()
    assert folds is not None
    assert trained[0] == trained[1] == set(column(folds.data / "folds.csv", "id"))
    assert len(trained[0]) == 900 and found.growth == pytest.approx(1 / 0.9)


async def test_data_that_cannot_be_split_has_no_folds(tmp_path: Path, worker: Worker) -> None:
    competition(tmp_path / "data", [[f"r{n}", n, n] for n in range(5)], [["t", 0]])
    assert await views(tmp_path, worker).folds() is None
