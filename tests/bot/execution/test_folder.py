"""Names of runs."""

from datetime import UTC, datetime
from pathlib import Path

from bot.execution.folder import RunFolder, run_id


def test_every_character_but_letters_digits_and_dots_becomes_an_underscore():
    name = run_id("bike-sharing", "aide", "openai:org/model-4.1", 3, datetime(2026, 1, 2, 3, 4, 5, 6, UTC))
    assert name == "bike_sharing-aide-openai_org_model_4.1-3-20260102T030405000006Z"


def test_a_run_has_a_database_of_its_own_or_shares_one():
    assert RunFolder(Path("runs/a")).database == Path("runs/a/state.db")
    assert RunFolder(Path("runs/a"), Path("bot.db")).database == Path("bot.db")
