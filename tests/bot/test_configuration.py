"""Tests of bot.toml: each table is read where it belongs, and every wrong key is named."""

from pathlib import Path

import pytest

from bot.coder.monitor import WatchSettings
from bot.configuration import SECTIONS, read_section
from bot.weights.folder import WeightsSettings
from state.errors import UsageError


def test_without_a_file_or_a_table_all_is_as_by_default(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text("[models]\nretries = 1\n")
    assert read_section(None, "watch", WatchSettings) == WatchSettings()
    assert read_section(tmp_path / "bot.toml", "watch", WatchSettings) == WatchSettings()


def test_a_table_is_read(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text(
        '[watch]\ninspect_interval = 60\nloss = false\n[weights]\ndir = "/srv/w"\noffer = false\n'
    )
    watch = read_section(tmp_path / "bot.toml", "watch", WatchSettings)
    assert (watch.inspect_interval, watch.loss, watch.silent_minutes) == (60.0, False, 10.0)
    weights = read_section(tmp_path / "bot.toml", "weights", WeightsSettings)
    assert (weights.folder, weights.offer) == (Path("/srv/w"), False)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[watch]\nsilent = 3", "unknown key watch.silent"),
        ("[watch]\ninspect_interval = -1", "watch.inspect_interval: Input should be greater than or equal to 0"),
        ("[watch]\nloss_growth = 1", "watch.loss_growth"),
        ("[watcher]\nloss = true", "unknown section or key watcher; known is"),
        ("[watch", "cannot be read"),
    ],
)
def test_a_wrong_file_is_refused_with_what_is_wrong(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "bot.toml").write_text(text)
    with pytest.raises(UsageError, match=told):
        read_section(tmp_path / "bot.toml", "watch", WatchSettings)


def test_every_table_is_told_of_an_unknown_one(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text("[other]\n")
    with pytest.raises(UsageError) as error:
        read_section(tmp_path / "bot.toml", "watch", WatchSettings)
    assert all(f"[{name}]" in str(error.value) for name in SECTIONS)
