"""A competition's pages in markdown, and what agents are told of them."""

import re
from collections.abc import Sequence

from scrapers.kaggle.competitions import CompetitionPage
from scrapers.posts.cleaners import Cleaners, RawPost
from scrapers.posts.cleaning import clean, cut_middle

_BLOCK_TAG = re.compile(r"<(?:p|div|h[1-6]|ul|ol|table|pre|section|article|blockquote)\b", re.IGNORECASE)
_MARKDOWN = re.compile(r"^(?:#{1,6}\s*\S|```|[*+-] \S|\d+\. \S)", re.MULTILINE)
_TYPE = "text/markdown"
_LONGEST_PAGE = 300_000
"""Characters; whatever comes after them is not read."""


async def in_markdown(pages: Sequence[CompetitionPage], cleaners: Cleaners) -> tuple[CompetitionPage, ...]:
    """Return pages with their content in markdown, whether it came as HTML or not; scripts and comments are gone."""
    html = [page for page in pages if _is_html(page)]
    texts = iter(await cleaners.clean([RawPost("html", page.content[:_LONGEST_PAGE]) for page in html]))
    return tuple(
        page.model_copy(update={"content": next(texts).text if _is_html(page) else _plain(page), "mime_type": _TYPE})
        for page in pages
    )


def _is_html(page: CompetitionPage) -> bool:
    text, kind = page.content[:_LONGEST_PAGE], page.mime_type.lower()
    return "html" in kind or ("markdown" not in kind and bool(_BLOCK_TAG.search(text)) and not _MARKDOWN.search(text))


def _plain(page: CompetitionPage) -> str:
    text, parts, place = clean(page.content[:_LONGEST_PAGE]), list[str](), 0
    while (start := text.find("<!--", place)) >= 0:
        parts.append(text[place:start])
        end = text.find("-->", start)
        place = len(text) if end < 0 else end + 3
    return " ".join([*parts, text[place:]])


def description_of(pages: Sequence[CompetitionPage]) -> str:
    """Return what agents are told of the task, by pages in markdown: what it is, how it is scored, what the data is."""
    parts = []
    for page_name in ("description", "evaluation", "data-description"):
        for page in pages:
            if page.name.lower() == page_name and (text := page.content.strip()):
                title = page.post_title or page_name.replace("-", " ").capitalize()
                parts.append(re.sub(r"\n{3,}", "\n\n", text if text.startswith("#") else f"# {title}\n\n{text}"))
    return cut_middle("\n\n".join(parts))
