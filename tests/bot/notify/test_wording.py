"""Wording: sparklines, and foreign text that stays text in every service."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.notify import Notice
from bot.notify.wording import neutral, render, sparkline


def test_a_sparkline_rises_and_falls_with_its_values() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert sparkline([5, 5]) == "▁▁"
    assert sparkline([]) == sparkline([math.nan]) == ""


@settings(max_examples=40)
@given(st.text(st.sampled_from("<>@!:/[](w.|~`a \u202e\n"), max_size=50) | st.text(max_size=50))
def test_foreign_text_holds_nothing_that_begins_html_a_mention_a_link_or_an_image(text: str) -> None:
    shown = neutral(text)
    assert not any(mark in shown for mark in ("<", ">", "://", "](", "www.", "||", "~~", "``", "\u202e"))
    assert all(shown[i + 1 : i + 2] == "\u200b" for i, sign in enumerate(shown) if sign in "@!")


def test_only_an_address_is_a_link() -> None:
    def shown(url: str) -> str:
        return render(Notice("problem.rules", "wine", {"url": url, "rules_sha": None}))[1]

    assert shown("https://www.kaggle.com/c/a_b").endswith("never does: https://www.kaggle.com/c/a_b")
    assert shown("https://x.y/ <!channel>").endswith("never does: https:\u200b//x.y/ ‹!\u200bchannel›")
