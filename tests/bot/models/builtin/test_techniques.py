"""The vocabulary: every technique's own sentence names that technique and no other."""

import pytest

from bot.models.builtin.config import plain_config
from bot.models.builtin.techniques import TECHNIQUES, Technique, dropped, kind_of, recognised, suits, unquoted
from tests.bot.models.builtin.parts import TASK


@pytest.mark.parametrize("technique", TECHNIQUES, ids=lambda t: t.title)
def test_a_techniques_sentence_names_it_alone(technique: Technique) -> None:
    assert recognised(technique.how) == (technique,)


@pytest.mark.parametrize("technique", TECHNIQUES, ids=lambda t: t.title)
def test_a_technique_changes_the_plain_config_once(technique: Technique) -> None:
    once = technique.applied(plain_config(TASK))
    assert technique.applied(once) == once


def test_a_quotation_is_taken_out_to_the_end_of_its_line() -> None:
    assert unquoted('Use a. The post: "or b or "c"."\nUse d.') == "Use a.\nUse d."


def test_only_calendar_parts_and_known_quoted_columns_are_dropped() -> None:
    assert dropped("drop the month and no `width`, without hope or the year", "id, width") == ("month", "width")
    assert dropped("I drop `shape`", "shape1, shape2") == ()


def test_each_kind_of_data_has_techniques_of_its_own() -> None:
    by_title = {t.title: t for t in TECHNIQUES}
    assert not suits(by_title["Mirror images"], "table", classes=True)
    assert suits(by_title["Mirror images"], "image", classes=True)
    assert not suits(by_title["Power calibration"], "table", classes=False)
    assert kind_of("Tell whether a photo shows a cat.") == "table+image"
