"""Notebooks that really run: pushed on the public tenth of the test rows, submitted on all of them, with our own client."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest

from bot.simulator.site.faults import Fault, Faults
from bot.simulator.site.settings import SiteSettings
from sandbox.bubblewrap import BubblewrapSandbox
from scrapers.kaggle.client import KaggleClient, open_http
from scrapers.kaggle.credentials import Credentials
from scrapers.kaggle.datasets import DataSets, DataSetStatus
from scrapers.kaggle.notebooks import Notebooks, PushedKernel, Session, SessionStatus
from scrapers.kaggle.pacing import Tally
from scrapers.kaggle.settings import KaggleSection, Pace, Timeouts
from scrapers.kaggle.submissions import Created, Submissions
from state.errors import KaggleError
from tests import needs
from tests.bot.simulator.site.parts import Served, served, tiny

T = TypeVar("T")
WEIGHTS, REF = "rehearsal/bot-weights", "rehearsal/best-one"
HEAD = """
import csv, glob, os
[test] = glob.glob("/kaggle/input/**/test.csv", recursive=True)
rows = list(csv.DictReader(open(test)))
print(len(rows), "rows")
"""
INFER = f"""{HEAD}
[weights] = glob.glob("/kaggle/input/**/model.txt", recursive=True)
slope = float(open(weights).read())
with open("/kaggle/working/submission.csv", "w") as file:
    file.write("id,label\\n")
    file.writelines(f"{{row['id']}},{{min(max(0.5 + slope * float(row['a']), 0.01), 0.99)}}\\n" for row in rows)
"""
FIXED = f"""{HEAD}
with open("submission.csv", "w") as file:
    file.write("id,label\\n" + "".join(f"{{row['id']}},0.5\\n" for row in rows[:6]))
"""
MORE_THAN_SHOWN = f"""{HEAD}
assert len(rows) <= 6
{FIXED}"""


def notebook(code: str) -> str:
    cells = [{"cell_type": "markdown", "source": "# Best"}, {"cell_type": "code", "source": code, "outputs": []}]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})


@pytest.fixture
def sandbox() -> BubblewrapSandbox:
    needs.bubblewrap()
    return BubblewrapSandbox()


@pytest.fixture
def here(tmp_path: Path, sandbox: BubblewrapSandbox) -> Iterator[Served]:
    with served(tiny(tmp_path, kind="code"), SiteSettings(), sandbox=sandbox) as it:
        yield it


def asked(it: Served, ask: Callable[[KaggleClient], Awaitable[T]]) -> T:
    """Ask by our own client."""

    async def run() -> T:
        pace, timeouts = Pace(per_minute=10_000, burst=10_000, min_interval=0), Timeouts(attempts=1)
        async with open_http(timeouts) as http:
            url, key = f"{it.client.url}/v1", Credentials(it.client.token)
            section = KaggleSection(url=url, pace=pace, timeouts=timeouts)
            client = KaggleClient(http, lambda: key, it.clock, Tally(), section)
            return await ask(client)

    return asyncio.run(run())


def with_weights(it: Served, folder: Path) -> None:
    (folder / "model.txt").write_text("0.2")
    asked(it, lambda client: DataSets(client).create(WEIGHTS, "Bot weights", {"model.txt": folder / "model.txt"}))
    it.clock.pass_by(minutes=10)
    assert asked(it, lambda client: DataSets(client).status(WEIGHTS)) is DataSetStatus.READY


def run(it: Served, code: str) -> Session:
    """Push a notebook, and let it run to its end."""
    kernel = PushedKernel(REF, "Best one", notebook(code), "tiny-table", (WEIGHTS,))
    version = asked(it, lambda client: Notebooks(client).push(kernel)).version_number
    it.site.settle()
    it.clock.pass_by(hours=1)
    return asked(it, lambda client: Notebooks(client).session(REF, version))


def submit(it: Served, version: int = 1) -> Created:
    name = "submission.csv"
    return asked(it, lambda client: Submissions(client, "tiny-table").create_from_notebook(REF, version, name, "r-1"))


@pytest.mark.integration
def test_a_pushed_notebook_is_run_again_on_hidden_rows_and_scored(here: Served, tmp_path: Path) -> None:
    with_weights(here, tmp_path)
    assert run(here, INFER).status is SessionStatus.COMPLETE
    output = asked(here, lambda client: Notebooks(client).output(REF, 1))
    assert output.log == "6 rows\n"
    [file] = output.files
    assert len(here.client.http.get(file.url).text.splitlines()) == 7
    assert submit(here).ref > 0
    here.settle()
    [sent] = here.site.submissions
    assert (sent.status, sent.tag) == ("COMPLETE", "r-1")
    assert sent.public_score is not None
    assert sent.public_score < 0.65  # guessing has 0.69


@pytest.mark.integration
@pytest.mark.parametrize(
    ("code", "error"), [(FIXED, "Submission Scoring Error"), (MORE_THAN_SHOWN, "Notebook Threw Exception")]
)
def test_what_counts_on_the_shown_rows_fails_on_the_hidden_ones(here: Served, code: str, error: str) -> None:
    assert run(here, code).status is SessionStatus.COMPLETE
    submit(here)
    here.settle()
    [sent] = here.site.submissions
    assert (sent.status, sent.error) == ("ERROR", error)


@pytest.mark.integration
def test_a_run_that_fails_says_so_and_is_not_submitted(here: Served) -> None:
    failed = run(here, "print('so far'); raise ValueError('too few')")
    assert (failed.status, failed.failure_message) == (SessionStatus.ERROR, "Notebook Threw Exception")
    log = asked(here, lambda client: Notebooks(client).output(REF, 1)).log
    assert log.startswith("so far\n")
    assert "ValueError: too few" in log
    with pytest.raises(KaggleError, match="not completed"):
        submit(here, 1)


@pytest.mark.integration
def test_a_run_that_takes_too_long_says_so(tmp_path: Path, sandbox: BubblewrapSandbox) -> None:
    with served(tiny(tmp_path, kind="code"), SiteSettings(run_seconds=1), sandbox=sandbox) as it:
        late = run(it, "import time; time.sleep(60)")
        assert (late.status, late.failure_message) == (SessionStatus.ERROR, "Notebook Timeout")


@pytest.mark.integration
def test_a_run_is_cancelled(here: Served) -> None:
    kernel = PushedKernel(REF, "Best one", notebook("import time; time.sleep(60)"), "tiny-table")
    asked(here, lambda client: Notebooks(client).push(kernel))
    assert asked(here, lambda client: Notebooks(client).cancel(REF, "Best one"))
    here.site.settle()
    session = asked(here, lambda client: Notebooks(client).session(REF, 1))
    assert session.status is SessionStatus.CANCEL_ACKNOWLEDGED


@pytest.mark.integration
def test_a_lost_machine_fails_a_run_that_was_fine(tmp_path: Path, sandbox: BubblewrapSandbox) -> None:
    faults = Faults([Fault(kind="sessions-fail", method="SaveKernel")])
    with served(tiny(tmp_path, kind="code"), SiteSettings(), faults, sandbox=sandbox) as it:
        assert run(it, FIXED).status is SessionStatus.ERROR
        assert run(it, FIXED).status is SessionStatus.COMPLETE


def test_participants_see_a_tenth_of_the_test_rows(here: Served) -> None:
    answer = here.client.compete("ListDataFiles")
    assert [one["name"] for one in answer["files"]] == ["sample_submission.csv", "test.csv", "train.csv"]
    whole = here.competition.snapshot.data
    for name, rows in (("test.csv", 6), ("sample_submission.csv", 6), ("train.csv", 240)):
        shown = (here.competition.data / name).read_text().splitlines()
        every = (whole / name).read_text().splitlines()
        assert (len(shown), shown[0], set(shown) <= set(every)) == (rows + 1, every[0], True)


@pytest.mark.integration
@pytest.mark.parametrize(
    ("layout", "found"),
    [
        ("short", ["bot-weights/model.txt", "tiny-table/test.csv"]),
        ("long", ["competitions/tiny-table/test.csv", "datasets/rehearsal/bot-weights/model.txt"]),
    ],
)
def test_data_lies_where_either_of_kaggles_layouts_has_it(tmp_path, sandbox, layout, found) -> None:
    code = "import glob; print(*sorted(glob.glob('**/[tm][eo]*.*', root_dir='/kaggle/input', recursive=True)))"
    with served(tiny(tmp_path, kind="code"), SiteSettings(input_layout=layout), sandbox=sandbox) as it:
        with_weights(it, tmp_path)
        run(it, code)
        assert asked(it, lambda client: Notebooks(client).output(REF, 1)).log.split() == found
