"""Plots: a PNG from a process of its own, or nothing at all."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.notify import Plot
from bot.notify.drawing import draw

START = datetime(2026, 1, 1, tzinfo=UTC)


def line(title: str, *values: float) -> Plot:
    return Plot(title, tuple(START + timedelta(hours=i) for i in range(len(values))), values)


@pytest.mark.integration
async def test_every_plot_is_drawn_whatever_its_title_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_URL", "slack://secret")
    pictures = await draw([line("$\\bad{ $", 1, 2, 3), line("one point", 1.0), line("none")], 100)
    assert len(pictures) == 3
    assert all(picture.startswith(b"\x89PNG") and picture.endswith(b"IEND\xaeB`\x82") for picture in pictures)


async def test_what_takes_too_long_is_left_out() -> None:
    assert await draw([line("slow", 1, 2)], 0.01) == []
