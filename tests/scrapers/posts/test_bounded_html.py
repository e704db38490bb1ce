"""What reaches the parser is well-formed, known, and bounded, whatever came."""

from html.parser import HTMLParser

from hypothesis import given, settings

from scrapers.posts.bounded_html import DEEPEST, DEEPEST_INDENT, LARGEST_HTML, MOST_TAGS, bounded
from tests.scrapers.posts.test_hostile_text import html_like

KNOWN = {
    *("a", "blockquote", "br", "code", "dd", "del", "div", "dl", "dt", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr"),
    *("li", "ol", "p", "pre", "q", "strong", "sub", "sup", "table", "td", "th", "tr", "ul"),
}


class Tags(HTMLParser):
    """Counts tags and their depth, and refuses what is not closed where it should be."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.count = self.deepest = self.indents = 0

    def handle_starttag(self, tag: str, attrs: object) -> None:
        assert tag in KNOWN
        self.count += 1
        if tag in ("br", "hr"):
            return
        self.open.append(tag)
        self.deepest = max(self.deepest, len(self.open))
        indents = [one for one in self.open if one in ("ul", "ol", "dl", "table", "blockquote")]
        self.indents = max(self.indents, len(indents))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a comment")


def tags(html: str) -> Tags:
    found = Tags()
    found.feed(bounded(html))
    found.close()
    assert found.open == []
    return found


@settings(deadline=None, max_examples=60)
@given(html_like)
def test_whatever_comes_is_well_formed_and_of_known_tags(html: str) -> None:
    assert tags(html).deepest <= DEEPEST + 1


def test_no_tag_is_deeper_than_the_bound_and_its_text_stays() -> None:
    found = tags("<div><b>" * 500 + "text")
    assert found.deepest == DEEPEST + 1
    assert "text" in bounded("<div><b>" * 500 + "text")


def test_no_more_lists_and_quotes_lie_in_one_another_than_the_bound() -> None:
    assert tags("<blockquote><ul><li>" * 100 + "text").indents == DEEPEST_INDENT


def test_no_more_tags_pass_than_the_bound() -> None:
    assert tags("<i>x</i>" * 30_000).count == MOST_TAGS + 1


def test_of_a_long_text_both_ends_are_read() -> None:
    html = bounded("start" + "<i>x</i>" * LARGEST_HTML + "end")
    assert html.startswith("<div>start") and html.endswith("end</div>")
    assert "characters left out" in html


def test_a_tag_that_was_left_out_closes_nothing_around_it() -> None:
    deep = "<div>" * (DEEPEST + 5) + "x" + "</div>" * 5 + "y"
    assert bounded(deep) == "<div>" * (DEEPEST + 1) + "xy" + "</div>" * (DEEPEST + 1)
