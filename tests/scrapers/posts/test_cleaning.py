"""Laws of cleaning: what comes out can be stored and shown, and is not too long."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from scrapers.posts.cleaning import clean, cut_middle


@given(st.text(alphabet=st.characters(codec=None, categories=None)))
def test_clean_text_can_be_stored_and_has_no_controls_but_tab_and_newline(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode("utf-8")
    assert {char for char in cleaned if unicodedata.category(char) == "Cc"} <= {"\n", "\t"}
    assert clean(cleaned) == cleaned


@given(st.text(), st.integers(200, 400))
def test_a_cut_text_is_never_longer_than_its_bound(part: str, largest: int) -> None:
    text = part * 50
    cut = cut_middle(text, largest)
    assert len(cut.encode()) <= largest
    if len(text.encode()) <= largest:
        assert cut == text
    else:
        assert "bytes cut from the middle" in cut


def test_line_ends_become_newlines() -> None:
    assert clean("a\r\nb\rc\n") == "a\nb\nc\n"
