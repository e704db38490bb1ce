"""The tables of the daemon and of competitions, and where its log goes."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from pydantic import ValidationError

from bot.agents import AGENTS
from bot.configuration.competition import CompetitionSettings
from bot.configuration.daemon import DaemonSettings
from bot.logs import open_logging
from scrapers.kaggle.card.overrides import CardOverrides
from state.redaction import MASK, Redactor


def test_nothing_is_submitted_unless_it_is_configured() -> None:
    assert CompetitionSettings().submit is False
    with pytest.raises(ValidationError):
        CompetitionSettings.model_validate({"submit": "true"}, strict=True)


def test_agents_are_those_that_there_are_but_the_yardstick() -> None:
    assert set(get_args(CompetitionSettings.model_fields["agent"].annotation)) == set(AGENTS) - {"solo"}


def test_a_reserve_is_a_part_of_what_may_be_sent() -> None:
    assert CompetitionSettings(max_submissions=5, reserved_submissions=5).reserved_days == 3.0
    with pytest.raises(ValidationError, match="set max_submissions too"):
        CompetitionSettings(reserved_submissions=1)
    with pytest.raises(ValidationError, match="more reserved_submissions than max_submissions"):
        CompetitionSettings(max_submissions=1, reserved_submissions=2)


@pytest.mark.parametrize("weight", [0.0, -1.0, float("inf")])
def test_a_weight_is_above_zero(weight: float) -> None:
    with pytest.raises(ValidationError):
        CompetitionSettings(weight=weight)


def test_settings_of_the_task_go_to_its_card() -> None:
    settings = CompetitionSettings(metric="mae", prediction_columns=("price",), submit=True)
    assert type(settings.card) is CardOverrides
    assert settings.card == CardOverrides(metric="mae", prediction_columns=("price",))


def test_the_state_is_where_it_is_configured_else_where_systemd_or_the_user_keeps_it(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("STATE_DIRECTORY", raising=False)
    assert DaemonSettings().folder == tmp_path / "state" / "kaggle-bot"
    monkeypatch.setenv("STATE_DIRECTORY", f"{tmp_path}/a:{tmp_path}/b")
    assert DaemonSettings().folder == tmp_path / "a"
    assert DaemonSettings(dir=tmp_path / "own").folder == tmp_path / "own"


SECRET = "hunter2-is-a-s3cret"


def test_a_line_names_its_competition_if_it_is_of_one() -> None:
    stream = io.StringIO()
    with open_logging("json", stream, Redactor({SECRET: "KEY"})) as logs:
        logs.say("titanic", f"polled with {SECRET}")
        logs.say("", "ready")
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (first["event"], first["competition"]) == (f"polled with {MASK}", "titanic")
    assert (second["event"], "competition" in second) == ("ready", False)


@pytest.mark.integration  # it starts the command, which takes seconds
def test_what_ends_the_daemon_at_its_start_shows_no_secret(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text(f'[daemon]\ndir = "{tmp_path}/{SECRET}/x"\n[competitions.titanic]\n')
    (tmp_path / SECRET).write_text("in the way")
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "OPENAI_API_KEY": SECRET}
    environment["PYTHONPATH"] = str(Path(__file__).parents[3])
    command = [sys.executable, "-m", "bot", "run", "--config", str(tmp_path / "bot.toml")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 78, done.stderr
    assert MASK in done.stderr and "hunter2" not in done.stderr
