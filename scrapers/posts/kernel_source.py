"""A kernel's source as text, whether it comes from a file or from a live site."""

from scrapers.posts.cleaning import readable
from scrapers.posts.languages import language_named
from scrapers.posts.notebooks import notebook_text

_LARGEST_NOTEBOOK = 64_000_000
"""Characters; a longer one is read as text."""


def text_of(source: str, *, language: str | None = None, kernel_type: str | None = None) -> str:
    """Return what a kernel's source says, as clean text of at most `cleaning.LARGEST_TEXT` bytes.

    A notebook (of any format) becomes its markdown and its code in fences, each with the text of its output: without
    images and progress bars, long logs cut. A script, R markdown and prose are text as they are. What does not turn out
    to be what it is said to be is read as text, so that nothing raises; encoded data is left out of all.

    Args:
        source: such as `GetKernel` gives as `blob.source`.
        language: as the site names it, such as `python`, `r`, `rmarkdown`; what a notebook says of itself counts more.
        kernel_type: `notebook` or `script`; None, or a notebook's source in a script: as it looks.
    """
    looks = source[:200].lstrip("\ufeff \t\r\n").startswith("{") and '"cells"' in source
    if (looks or kernel_type == "notebook") and len(source) <= _LARGEST_NOTEBOOK:
        source = notebook_text(source.removeprefix("\ufeff"), language_named(language))
    return readable(source)
