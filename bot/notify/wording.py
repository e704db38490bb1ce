"""The words of a notice, the same for all services; in them, foreign text mentions nobody and links to nothing."""

import math
import re
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from bot.models.quoting import clean, line
from bot.notify import Notice, kinds
from state.words import moment, plural

if TYPE_CHECKING:
    from jinja2 import Environment

_TITLE = 200
"""Characters; a subject line is short, so the rest is cut."""
_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 40
_LOOKALIKES = str.maketrans("<>＜＞﹤﹥", "‹›‹›‹›")
_FILES = "csv|tsv|json|jsonl|toml|yaml|yml|html|txt|log|ipynb|parquet|npy|npz|pkl|pdf|png|jpg|gz|example|test|invalid"
"""What follows a dot, and is no domain that a service would link."""
_CALLING = re.compile(
    "|".join(
        (
            "[@＠﹫!#＃﹟]",  # mentions, images, channels, tags
            # evil.com: many services link it as it stands
            rf"(?<=[^\s.])[.．。｡․﹒](?!(?:{_FILES})\b)(?=[^\W\d_](?:[^\W\d_]|[^\x00-\x7f]))",
            r"(?<=\d)[.](?=\d+[.]\d+[.]\d)",  # an address of four numbers
            r"[+＋](?=\(?\d[\d ().-]{4})|(?<=\d{3})[-.](?=\d{4}\b)",  # telephone numbers
            r"\b[ur]/(?=\w)",  # users and groups of Reddit
            r"(?!(?<=\d):\d\d?Z?:):(?=[\w+-]+:)",  # images by name, which a service may have of its own, but no times
            r"\((?=(?:met|rol|chn|emj|spl)\))",  # mentions, channels and images of Kook
            r"\bGH-(?=\d)|\bn(?:pub|profile|event|ote|addr)1(?=\w{9})",  # issues of GitHub, mentions of Nostr
            r"www(?=[.])|:(?=//)|(?<=[^\W\d_]):(?=\S)",  # addresses, also by a scheme, such as tel:1
            r"\](?=\s?[(\[:])",  # [text](address), [text][name] and [name]: address
            r"~(?=\w)|\$(?=[\[{A-Za-z])|\{(?=[{%])",  # channels of Mattermost, functions of Misskey, stocks, templates
            r"(?<![\w/.])/(?=\w+(?![\w/]|[.]\w))",  # commands of Telegram, Slack and Zulip
            r"&(?=\w{2,31};|#\w|[lg]t|amp|quot)",  # &lt;
            r"([|~`])(?=\1)",  # marks that would strike out or hide the words after them, or show them as code
        )
    ),
    re.IGNORECASE,
)
"""What begins HTML, a mention, a link or an image in any service; a space of no width after it ends that."""


def render(notice: Notice) -> tuple[str, str]:
    """Return a notice's title, which is one line, and its text.

    Raises:
        jinja2.UndefinedError: a fact is missing.
    """
    kind = kinds()[notice.kind]
    facts = {"competition": notice.competition, **notice.facts}
    title, text = (
        notice_environment().from_string(template).render(facts).strip() for template in (kind.title, kind.text)
    )
    if notice.competition:
        title = f"{neutral(notice.competition)}: {title}"
    return " ".join(title.split())[:_TITLE], text


def neutral(text: str) -> str:
    """Return foreign text so that every service shows it as text, whether it reads Markdown, HTML or its own marks.

    Control, invisible and direction-changing characters are left out. Services differ in what escapes a mark, so that
    lookalikes take the place of angle brackets, and a space of no width stands within what would begin a mention, a link
    or an image.
    """
    return _CALLING.sub("\\g<0>\u200b", clean(text).translate(_LOOKALIKES))


def cut(text: str, characters: int = 1_500) -> str:
    """Return the beginning of a text, and how many characters follow."""
    if len(text) <= characters:
        return text
    return f"{text[:characters]} [{len(text) - characters} more characters]"


@cache
def notice_environment() -> "Environment":
    """Return Jinja's environment for the templates of `kinds()`: all texts that they print are made neutral."""
    # Imported here: a bot.toml that names kinds of notices is checked without rendering one.
    from jinja2 import Environment, StrictUndefined

    # No browser reads this: whatever turns it into HTML escapes it.
    environment = Environment(
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701 - see above
        finalize=lambda value: neutral(value) if isinstance(value, str) and not isinstance(value, _Link) else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(cut=cut, figure=_figure, line=line, link=_link)
    environment.filters.update(moment=moment, plural=plural, sparkline=sparkline)
    return environment


class _Link(str):
    """An address that is printed as it is."""


def _link(url: str) -> str:
    """Return one of our own addresses as a link; text that holds more than an address stays text."""
    return _Link(url) if re.fullmatch(r"https?://[\w.:/?=&%~-]+", url) else url


def _figure(value: float | None) -> str:
    """Return a number with six digits; a dash for None."""
    return "–" if value is None else f"{value:.6g}"


def sparkline(values: Sequence[float]) -> str:
    """Return a line of bars, the newest value last; many values are thinned out to the last of each stretch."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return ""
    if len(finite) > _WIDTH:
        finite = [finite[(i + 1) * len(finite) // _WIDTH - 1] for i in range(_WIDTH)]
    low, high = min(finite), max(finite)
    # Halved, as the difference of two large numbers may overflow a float.
    span = high / 2 - low / 2
    places = [0 if span == 0 else round((value / 2 - low / 2) / span * (len(_BARS) - 1)) for value in finite]
    return "".join(_BARS[place] for place in places)
