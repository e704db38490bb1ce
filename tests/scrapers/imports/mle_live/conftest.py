"""What the tests of whole imports share: one competition with its task, and what an import of it has made."""

import json
from pathlib import Path
from typing import Any

import pytest

from scrapers.imports.mle_live.importing import Outcome, Wish, import_mle_live
from tests.scrapers.imports.mle_live.hand_written import SLUG, write_newer, write_tasks
from tests.scrapers.small import METRICS
from tests.state.conftest import StandingClock


@pytest.fixture
def wish(tmp_path: Path) -> Wish:
    return Wish(write_newer(tmp_path / "live"), write_tasks(tmp_path / "tasks"), tmp_path / "out")


def run(wish: Wish) -> list[Outcome]:
    return list(import_mle_live(wish, METRICS, StandingClock(), lambda _: None))


def only(wish: Wish) -> Outcome:
    (outcome,) = run(wish)
    return outcome


def rows(wish: Wish, name: str) -> list[dict[str, Any]]:
    text = (wish.out / SLUG / f"community/{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]
