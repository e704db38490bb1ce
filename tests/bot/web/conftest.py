"""The page over a daemon's database of a busy day and a folder with a run, asked without a socket."""

import json
import tempfile
from collections.abc import AsyncIterator
from functools import cache
from pathlib import Path

import httpx2
import pytest

from bot.configuration.web import WebSettings
from bot.web.guard import Keys
from bot.web.serving import guarded
from bot.web.sources import Sources
from sandbox.gpu import Gpus
from state.approvals import ask_approval
from state.store import Store
from tests.bot.report.finished_runs import RUN as RUN_ID
from tests.bot.report.finished_runs import FakeRun, write_run
from tests.bot.status import parts
from tests.bot.status.parts import NOMAD, NOW, RUN, SPOOKY
from tests.state.rows import add_submission

KEYS = Keys("a-token", 8765)
HOST = "http://127.0.0.1:8765"
TOML = f"[daemon]\ndir = 'state'\n\n[competitions.{SPOOKY}]\nsubmit = true\n\n[competitions.{NOMAD}]\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bot.toml, and its daemon's database with a submission that waits."""
    monkeypatch.setenv("LOGNAME", "ada")
    (tmp_path / "bot.toml").write_text(TOML, encoding="utf-8")
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "bot.db").write_bytes(day())
    return tmp_path


@cache
def day() -> bytes:
    """Return the file of the database."""
    with tempfile.TemporaryDirectory() as made:
        with parts.opened(Path(made), parts.busy(Path(made))) as store, store.write() as tx:
            add_submission(
                tx, RUN, "3", node=3, tag="t3", status="intended", prediction_source="refit", file_sha="d" * 64
            )
            ask_approval(tx, RUN, "3", reason="it is the best so far")
        return (Path(made) / "bot.db").read_bytes()


@pytest.fixture
def runs(folder: Path) -> Path:
    """A folder with a run, which the page shows too."""
    run = write_run(folder / "runs" / RUN_ID, FakeRun(nodes=6))
    config = {"run_id": RUN_ID, "settings": {"time": 60.0}}
    (run / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder / "runs"


@pytest.fixture
def sources(folder: Path) -> Sources:
    return Sources(folder / "bot.toml", (folder / "runs",))


@pytest.fixture
async def stranger(sources: Sources) -> AsyncIterator[httpx2.AsyncClient]:
    """A client without the cookie."""
    transport = httpx2.ASGITransport(app=guarded(sources, WebSettings(), KEYS, Gpus()))
    async with httpx2.AsyncClient(transport=transport, base_url=HOST) as client:
        yield client


@pytest.fixture
async def owner(stranger: httpx2.AsyncClient) -> httpx2.AsyncClient:
    """A client with the cookie."""
    stranger.cookies.set(KEYS.cookie, KEYS.session)
    return stranger


def reopened(folder: Path) -> Store:
    """Open the daemon's database, with a clock that stands at the day's end."""
    return parts.opened(folder / "state", parts.StandingClock(NOW))
