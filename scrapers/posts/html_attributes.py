"""Attributes of one HTML tag, as far as they say something: where a link leads, what an image shows, what is hidden."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit, urlunsplit

from scrapers.posts.cleaning import clean, without_references

_LONGEST = 4_000
"""Characters of a tag that are read."""
_LONGEST_ADDRESS = 2_000
_LONGEST_ALT = 300

# A name begins where the last one has ended, so that each is looked at once.
_ATTRIBUTE = re.compile(r"(?<![^\s\"'/])([a-zA-Z-]{1,30}+)(?:\s*+=\s*+(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]++)))?")
_UNSEEN = re.compile(r"display\s{0,9}:\s{0,9}none|visibility\s{0,9}:\s{0,9}hidden", re.IGNORECASE)
_LANGUAGE = re.compile(r"(?:language|lang|highlight-source|brush)[-:]([A-Za-z0-9+#]{1,20})")
_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]{0,30}:")
_SCHEMES = ("http:", "https:", "mailto:")
_TRACKING = re.compile(r"(?:utm_\w{1,30}|gclid|fbclid|msclkid|mc_cid|mc_eid|_hsenc|_hsmi|igshid)(?:=|$)")
_HIGHLIGHTERS = frozenset({"hljs", "prettyprint", "sourcecode", "highlight", "code"})


@dataclass(frozen=True)
class Attributes:
    """What one tag says besides its name; values are as they are meant, references resolved."""

    values: Mapping[str, str]

    @classmethod
    def of(cls, text: str) -> "Attributes":
        """Read what stands between a tag's name and its end; of two of one name the first counts."""
        values: dict[str, str] = {}
        for match in _ATTRIBUTE.finditer(text[:_LONGEST]):
            value = match[2] or match[3] or match[4] or ""
            values.setdefault(match[1].lower(), clean(without_references(value)))
        return cls(values)

    def get(self, name: str) -> str:
        """Return a value, empty where there is none."""
        return self.values.get(name, "")

    def number(self, name: str, default: int) -> int:
        """Return a small number, the default where it is none."""
        return int(value) if re.fullmatch(r"[0-9]{1,6}", value := self.get(name)) else default

    @property
    def hidden(self) -> bool:
        """Whether a reader is not shown what is within, or is shown it by other means: drawn formulas."""
        return (
            "hidden" in self.values
            or self.get("aria-hidden") == "true"
            or self.get("class").startswith("MathJax")
            or _UNSEEN.search(self.get("style")) is not None
        )

    @property
    def language(self) -> str:
        """The language of code that a class names; empty where none does."""
        names = self.get("class").split()
        found = _LANGUAGE.fullmatch(next(filter(_LANGUAGE.fullmatch, names), ""))
        if found:
            return found[1].lower()
        others = [name for name in names if name.lower() not in _HIGHLIGHTERS]
        known = len(others) < len(names) and others and re.fullmatch(r"[A-Za-z0-9+#]{1,20}", others[0])
        return others[0].lower() if known else ""

    @property
    def image(self) -> str:
        """An image as words: what it shows; nothing for one that only counts who looks."""
        if "0" in (size := (self.get("width"), self.get("height"))) or "1" in size:
            return ""
        shown = (
            " ".join((self.get("alt") or self.get("title")).split())[:_LONGEST_ALT].replace("]", ")").replace("[", "(")
        )
        return f"[image: {shown}]" if shown else "[image]"


def safe_address(address: str) -> str:
    """Return an address that markdown can hold, without what only tracks; empty for one that is no page or mailbox."""
    address = re.sub(r"\s+", "", address)
    scheme = _SCHEME.match(address)
    if len(address) > _LONGEST_ADDRESS or (scheme and scheme[0].lower() not in _SCHEMES):
        return ""
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    if parts.query:
        kept = [part for part in parts.query.split("&") if not _TRACKING.match(part)]
        address = urlunsplit(parts._replace(query="&".join(kept)))
    return re.sub(r"[()<>\"\\]", lambda found: f"%{ord(found[0]):02X}", address)
