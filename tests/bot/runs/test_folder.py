"""Names of runs."""

from datetime import UTC, datetime

from bot.runs.folder import run_id


def test_every_character_but_letters_digits_and_dots_becomes_an_underscore():
    name = run_id("bike-sharing", "aide", "openai:org/model-4.1", 3, datetime(2026, 1, 2, 3, 4, 5, 6, UTC))
    assert name == "bike_sharing-aide-openai_org_model_4.1-3-20260102T030405000006Z"
