"""A quote stands on a page if its words do, in a row; marks, capitals and the addresses of links do not matter."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.live.reading.quotes import ReadPage, not_found

PAGE = ReadPage(
    "evaluation",
    "# Evaluation\nSubmissions are **not** scored on [RMSE](https://en.wikipedia.org/wiki/RMSE),\nbut on R² (`r2`).",
)


@pytest.mark.parametrize(
    ("quote", "stands"),
    [
        ("Submissions are not scored on RMSE, but on R2 (r2).", True),
        ("submissions are *not*\nscored", True),
        ("Submissions are scored on RMSE", False),
        ("Submissions are not scored on RMS", False),
        ("", False),
        ("...", False),
    ],
)
def test_words_must_stand_in_a_row(quote: str, stands: bool) -> None:
    assert not_found([quote], [PAGE]) == ([] if stands else [quote])


WORDS = st.lists(st.sampled_from(["score", "RMSE", "not", "MAE", "is"]), min_size=1, max_size=8)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(WORDS, st.integers(0, 7), st.integers(1, 8), st.sampled_from([" ", "\n", " **", ", "]))
def test_any_words_in_a_row_stand_whatever_is_between_them(words: list[str], at: int, many: int, mark: str) -> None:
    page, first = ReadPage("x", mark.join(words)), at % len(words)
    assert not_found([" ".join(words[first : first + many])], [page]) == []
    assert not_found([" ".join([*words, "never"])], [page]) != []
