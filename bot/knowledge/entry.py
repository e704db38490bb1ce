"""An entry of the knowledge base: a Markdown file whose front matter, in TOML, says where it comes from and since when."""

import json
import re
import tomllib
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError, model_validator

from bot.knowledge.labels import checked
from state.closed_model import ClosedModel
from state.errors import FileProblems, Problem

EntryKind = Literal["trick", "paper", "lesson"]
Support = Literal["repeated", "measured", "reported"]

ITEM = "knowledge"
"""The kind of the items that entries are: `knowledge/<id>`."""
_FENCE = "+++"
_PARTS = re.compile(r"\A\+\+\+\n(.*?\n)\+\+\+\n(.*)\Z", re.DOTALL)
_ARXIV = re.compile(r"https?://arxiv\.org/(?:abs|pdf)/(\d\d)(0[1-9]|1[0-2])\.\d{4,5}")
"""Its identifiers begin with the year and month in which a paper was first there."""
_ID = r"[a-z0-9][a-z0-9-]{2,79}"
_SLUG = r"[a-z0-9][a-z0-9._-]*"


def _last_moment(value: Any) -> Any:
    """Return a bare date as its last second: what was published that day is known when it is over."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return datetime.combine(value, time(23, 59, 59), UTC)
    return value


def _utc(value: datetime) -> datetime:
    if value.tzinfo is None:
        raise ValueError("must be a date, or a time with a time zone")
    return value.astimezone(UTC)


KnownAt = Annotated[datetime, BeforeValidator(_last_moment), AfterValidator(_utc)]
Labels = Annotated[tuple[Annotated[str, AfterValidator(checked)], ...], Field(min_length=1, max_length=6)]


class EntrySource(ClosedModel):
    """Where an entry's claim can be read: a public address, or a file of one's own."""

    title: str = Field(min_length=3, max_length=300)
    url: str | None = Field(default=None, pattern=r"^https?://[^\s/]+\.[^\s/]+(/\S*)?$")
    path: str | None = Field(
        default=None, min_length=1, description="a file, a post in a snapshot, or the report of a run"
    )
    licence: str = Field(min_length=2, max_length=100)

    @model_validator(mode="after")
    def _is_traceable(self) -> Self:
        if (self.url is None) == (self.path is None):
            raise ValueError("requires either a url or a path")
        return self


class PaperFields(ClosedModel):
    """What AutoMind keeps of a paper (section 3.1.2): its data, task, technique and contribution."""

    data_type: str = Field(min_length=2)
    data_domain: str = Field(min_length=2)
    data_name: str = ""
    task: str = Field(min_length=3)
    technique: str = Field(min_length=3)
    contribution: str = Field(min_length=3)


class Entry(ClosedModel):
    """One entry."""

    id: str = Field(pattern=f"^{_ID}$")
    kind: EntryKind
    title: str = Field(min_length=3, max_length=160)
    labels: Labels
    known_at: KnownAt
    """The latest time among its sources."""
    competitions: tuple[Annotated[str, Field(pattern=f"^{_SLUG}$")], ...] = ()
    """Every competition that it was drawn from, by the last part of its address."""
    sources: tuple[EntrySource, ...] = Field(min_length=1)
    support: Support
    """`repeated`: by several independent sources; `measured`: with and without it; `reported`: by one source."""
    evidence: str = Field(min_length=3, max_length=1_000)
    """What supports it, in a sentence or two."""
    paper: PaperFields | None = None
    claim: str = Field(min_length=20, max_length=6_000)
    """What to do, when, and what it brings: the file's text."""

    @model_validator(mode="after")
    def _has_a_papers_fields(self) -> Self:
        if (self.kind == "paper") != (self.paper is not None):
            raise ValueError("the table [paper] is required for papers and not allowed elsewhere")
        return self

    @model_validator(mode="after")
    def _is_no_older_than_its_sources(self) -> Self:
        for source in self.sources:
            month = _ARXIV.match(source.url or "")
            if month is not None and self.known_at < datetime(2000 + int(month[1]), int(month[2]), 1, tzinfo=UTC):
                raise ValueError(f"is dated before its source {source.url}")
        return self

    @property
    def item(self) -> str:
        """What prompts and the audit call it."""
        return f"{ITEM}/{self.id}"

    @property
    def searched(self) -> str:
        """The text that queries are compared with."""
        facts = () if self.paper is None else tuple(filter(None, self.paper.model_dump().values()))
        return "\n".join((self.title, *facts, self.claim, " ".join(self.labels).replace("-", " ").replace("/", " ")))

    def drawn_from(self, competition: str) -> bool:
        """Return whether it was drawn from a competition."""
        return competition.lower() in self.competitions


def read_entry(path: Path) -> Entry:
    """Read an entry's file.

    Raises FileProblems: it is none; the problems say all that is wrong with it; OSError: it cannot be read.
    """
    try:
        return parse_entry(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise FileProblems([Problem(str(path), None, f"is not UTF-8: {error}")]) from error
    except FileProblems as error:
        raise FileProblems([Problem(str(path), problem.line, problem.message) for problem in error.problems]) from error


def parse_entry(text: str) -> Entry:
    """Read an entry from its text; raises FileProblems."""
    match = _PARTS.match(text.replace("\r\n", "\n"))
    if match is None:
        raise FileProblems([Problem("", 1, f"must start with TOML between two {_FENCE} lines, followed by the text")])
    try:
        facts = tomllib.loads(match[1])
        return Entry.model_validate({**facts, "claim": match[2].strip()})
    except tomllib.TOMLDecodeError as error:
        raise FileProblems([Problem("", None, f"its front matter is not valid TOML: {error}")]) from error
    except ValidationError as error:
        faults = error.errors()
        # A list whose only element is wrong counts as too short, which is no news.
        inner = [fault["loc"] for fault in faults]
        innermost = [
            fault for fault in faults if not any(loc[: len(fault["loc"])] == fault["loc"] != loc for loc in inner)
        ]
        wrong = [(".".join(map(str, fault["loc"])) or "the entry", fault["msg"]) for fault in innermost]
        raise FileProblems([Problem("", None, f"{field_name}: {message}") for field_name, message in wrong]) from error


def format_entry(entry: Entry) -> str:
    """Return an entry as the text of its file, from which `parse_entry` reads the same entry."""
    facts = entry.model_dump(mode="json", exclude={"claim", "paper", "known_at"}, exclude_defaults=True)
    sources = facts.pop("sources")
    lines = [f"{name} = {_toml(value)}" for name, value in facts.items()]
    lines.insert(3, f"known_at = {entry.known_at.isoformat()}")
    for source in sources:
        lines += ["", "[[sources]]", *(f"{name} = {_toml(value)}" for name, value in source.items())]
    if entry.paper is not None:
        fields = entry.paper.model_dump(exclude_defaults=True)
        lines += ["", "[paper]", *(f"{name} = {_toml(value)}" for name, value in fields.items())]
    return "\n".join((_FENCE, *lines, _FENCE, entry.claim, ""))


def _toml(value: object) -> str:
    # JSON's escapes are TOML's, but that TOML wants one for the last control character as well.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
