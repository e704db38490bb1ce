"""The vocabulary: every technique's own words name that technique and no other."""

import pytest

from bot.agents.builtin.config import plain_config
from bot.agents.builtin.techniques import how, kinds_in, named_in, suits, vocabulary
from tests.bot.agents.builtin.parts import TABLE, TASK, TEXTS

TITLES = [*vocabulary(), "without month"]


@pytest.mark.parametrize("title", TITLES)
def test_a_techniques_sentence_and_title_name_it_alone(title: str) -> None:
    assert named_in(how(title)) == (title,)
    assert title in named_in(f"Add: {title}.")


@pytest.mark.parametrize("title", TITLES)
def test_a_technique_changes_the_config_once_and_brings_what_it_needs(title: str) -> None:
    config = plain_config(TASK)
    once = config.using((*config.use, title))
    assert title in once.use
    assert once.using((*once.use, title)) == once
    assert all(b in once.use for b in (vocabulary()[title].brings if title in vocabulary() else ()))


def test_a_quotation_is_passed_over_to_the_end_of_its_line() -> None:
    assert named_in('Use LDA. The post: "an SVM or "boosting"."\nUse extra trees.') == ("LDA", "extra trees")


def test_only_calendar_parts_and_named_columns_are_left_out() -> None:
    assert named_in("drop the month, remove the column `width`, without hope") == ("without month", "without width")


def test_each_kind_of_data_has_techniques_of_its_own() -> None:
    assert kinds_in("Tell whether a photo shows a cat.") == {"image"}
    assert kinds_in("train.zip: 100 files, a/1.png") == {"image"}
    assert (kinds_in(TABLE), kinds_in(TEXTS), kinds_in("")) == ({"table"}, {"text"}, {"table"})
    assert not suits("local contrast", frozenset({"table"}), "auc")
    assert suits("local contrast", frozenset({"image"}), "auc")
    assert not suits("power calibration", frozenset({"table"}), "rmsle")
    assert suits("without month", frozenset({"table"}), "rmsle")
