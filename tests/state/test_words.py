"""Names that were mistyped, and competitions named by their address."""

import pytest

from state.words import did_you_mean, slug_of


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("comnd", "did you mean comind?"),
        ("AIDE-rgg", "did you mean aide-rag?"),
        ("nothing like it", "known are aide-rag, automind, comind"),
    ],
)
def test_a_mistyped_name_is_answered_with_the_nearest_one_or_else_all(name: str, sentence: str) -> None:
    assert did_you_mean(name, ["comind", "aide-rag", "automind"]) == sentence


def test_where_nothing_is_known_that_is_said() -> None:
    assert did_you_mean("titanic", []) == "there are none"


@pytest.mark.parametrize(
    "address",
    [
        "https://www.kaggle.com/competitions/titanic",
        "https://kaggle.com/c/titanic/",
        "kaggle.com/competitions/titanic/overview?tab=rules",
        "https:/www.kaggle.com/competitions/titanic",
        "titanic",
    ],
)
def test_a_competition_may_be_named_by_its_address(address: str) -> None:
    assert slug_of(address) == "titanic"


@pytest.mark.parametrize("other", ["https://example.org/competitions/titanic", "https://www.kaggle.com/titanic", ""])
def test_any_other_text_stays_what_it_is(other: str) -> None:
    assert slug_of(other) == other
