"""What marks the owner's notes is no field of the data: a snapshot that claims it is refused, and an import leaves it out."""

from pathlib import Path
from typing import Any

import pytest

from bot.research.importers.mle_live.community import read_thread
from tests.scrapers.small import KERNEL, MESSAGE, OBSERVATION, TOPIC, problems_after, write_rows

ROWS: dict[str, dict[str, Any]] = {
    "topics": TOPIC,
    "messages": MESSAGE,
    "kernels": KERNEL,
    "observations": OBSERVATION,
}
TIERS = ("TEAM", "team", " Team ", "TE\u200bAM", "\uff34\uff25\uff21\uff2d", "TEAM\n")


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("tier", TIERS)
def test_a_reserved_tier_is_a_problem_of_its_line(tmp_path: Path, name: str, tier: str) -> None:
    found = problems_after(tmp_path / "s", lambda s: write_rows(s, name, [ROWS[name] | {"tier": tier}]))
    assert any(one.startswith(f"community/{name}.jsonl:1: field `tier`: ") for one in found)


@pytest.mark.parametrize(("name", "key"), [("topics", "id"), ("messages", "id"), ("kernels", "id"), ("kernels", "ref")])
@pytest.mark.parametrize("value", ["note-0a1b2c3d-baseline", "NOTE-1", "\u200bnote-1", "note-1/v2"])
def test_an_id_of_a_note_is_a_problem_of_its_line(tmp_path: Path, name: str, key: str, value: str) -> None:
    row = ROWS[name] | {key: f"notes/{value}" if key == "ref" else value}
    found = problems_after(tmp_path / "s", lambda s: write_rows(s, name, [row]))
    assert any(one.startswith(f"community/{name}.jsonl:1: field `{key}`: ") for one in found)


def test_a_tier_that_is_none_of_the_reserved_ones_is_legal(tmp_path: Path) -> None:
    assert problems_after(tmp_path / "s", lambda s: write_rows(s, "topics", [TOPIC | {"tier": "RECALC"}])) == []
    assert problems_after(tmp_path / "t", lambda s: write_rows(s, "topics", [TOPIC | {"tier": None}])) == []


@pytest.mark.parametrize(
    ("written", "read"), [("TEAM", None), ("team", None), ("4", "GRANDMASTER"), ("master", "MASTER")]
)
def test_an_import_takes_kaggles_tiers_alone(written: str, read: str | None) -> None:
    thread = read_thread(f"# T\n(a <TIER: {written}>) words\n")
    assert thread is not None and thread.messages[0].tier == read
