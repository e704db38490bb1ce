"""Tests of how written language is made comparable."""

import pytest

from scrapers.kaggle.card.wording import comparable, formulas, sentences, uncamel, visible


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ('on [the **RMSE**](https://x.org/wiki/MAE_(statistics) "MAE").', "on the rmse ."),
        ("![MAE](https://x.org/a.png) [![b](c)](d) https://x.org/mae", "mae b"),
        ("Root\u2011Mean\u2013Square&nbsp;Error", "root mean square error"),
        ("on ~~RMSE~~ <del>AUC</del> MAE", "on mae"),
        ("the $R^2$ of $x_{i}$, for $20,000 or $5", "the r^2 of x i, for $20,000 or $5"),
        (r"error \\(\text{RMSE}\\) $$\sum_i x$$ is", "error rmse is"),
        ("we don\u2019t, can't and isn't", "we do not, can not and is not"),
    ],
)
def test_a_text_is_what_a_reader_sees(written: str, read: str) -> None:
    assert comparable(visible(written)) == comparable(read)


def test_columns_in_code_marks_are_no_words() -> None:
    assert comparable("`mae` is not `MAE`", frozenset({"mae"})) == "codespan is not mae"


def test_sentences_end_at_stops_colons_and_lines_but_not_at_abbreviations() -> None:
    assert sentences("One, e.g. this. Two: three; four\nfive 0.5 vs. six?") == [
        "One, eg this.",
        "Two:",
        "three;",
        "four",
        "five 0.5 vs six?",
    ]


def test_words_that_stand_together_are_taken_apart() -> None:
    assert [uncamel(one) for one in ("MulticlassLoss", "RMSLE", "ROCAUCScore")] == [
        "Multiclass Loss",
        "RMSLE",
        "ROCAUC Score",
    ]


def test_long_formulas_are_found_as_they_were_typed() -> None:
    text = "$$\\sqrt{a}$$ and \\(\\frac{1}{2}\\), $n$ is small\n\\text{loss} = -\\sum_i x_i"
    assert formulas(text) == ["$$\\sqrt{a}$$", "\\(\\frac{1}{2}\\)", "\\text{loss} = -\\sum_i x_i"]
