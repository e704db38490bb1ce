"""Wording: sparklines, cut texts, and foreign text that stays text."""

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from bot.notify.wording import cut, escaped, link, sparkline


def test_a_sparkline_rises_and_falls_with_its_values() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert sparkline([5, 5]) == "▁▁"
    assert sparkline([]) == sparkline([math.nan]) == ""


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats()))
def test_a_sparkline_is_short_and_ends_with_the_newest(values: list[float]) -> None:
    finite = [value for value in values if math.isfinite(value)]
    line = sparkline(values)
    assert len(line) == min(len(finite), 40)
    if finite and min(finite) < max(finite) == finite[-1] and len(finite) <= 40:
        assert line[-1] == "█"


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=50))
def test_escaped_text_holds_nothing_that_begins_html_a_mention_or_a_link(text: str) -> None:
    shown = escaped(text)
    assert not any(sign in shown for sign in ("<", ">", "://"))
    assert all(shown[i + 1 : i + 2] == "\u200b" for i, sign in enumerate(shown) if sign in "@!")


def test_only_an_address_is_a_link() -> None:
    assert escaped(link("https://www.kaggle.com/c/a_b")) == "https://www.kaggle.com/c/a_b"
    assert escaped(link("https://x.y/ <!channel>")) == "https:\u200b//x.y/ ‹!\u200bchannel›"


def test_a_text_that_is_cut_ends_with_by_how_much() -> None:
    assert cut("abcdef", 4) == "abcd [2 more characters]"
    assert cut("abcd", 4) == "abcd"
