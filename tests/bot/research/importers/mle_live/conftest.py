"""What the tests of whole imports share: one competition with its task, and what an import of it has made."""

import json
from pathlib import Path
from typing import Any

import pytest

from bot.research.importers.mle_live.importing import ImportRequest, LiveImportResult, import_mle_live
from tests.bot.research.importers.mle_live.hand_written import SLUG, write_newer, write_tasks
from tests.scrapers.small import METRICS
from tests.state.conftest import StandingClock


@pytest.fixture
def wanted(tmp_path: Path) -> ImportRequest:
    return ImportRequest(write_newer(tmp_path / "live"), write_tasks(tmp_path / "tasks"), tmp_path / "out")


def run(wanted: ImportRequest) -> list[LiveImportResult]:
    return list(import_mle_live(wanted, METRICS, StandingClock(), lambda _: None))


def only(wanted: ImportRequest) -> LiveImportResult:
    (outcome,) = run(wanted)
    return outcome


def rows(wanted: ImportRequest, name: str) -> list[dict[str, Any]]:
    text = (wanted.out / SLUG / f"community/{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]
