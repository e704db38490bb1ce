"""The community of a snapshot: its files of rows, checked against one another, and handed on to be cleaned and stored.

A field must be there, `null` where it is not known; only what says where a row comes from (`url`, `source`) and the
readings of an observation may be left out. Fields that the format does not name are ignored.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from scrapers.posts.cleaners import LARGEST_SOURCE, RawPost
from scrapers.posts.cleaning import clean
from scrapers.posts.ingest import Raw
from scrapers.posts.kernel_text import language_of_file
from scrapers.snapshots.fields import Identifier, UtcTime, sentences
from scrapers.snapshots.files import resolve_inside
from scrapers.snapshots.problems import Problems, json_object
from state.community import NOTE, TEAM
from state.tables import KernelVersion, Observation, PostedMessage, Topic

COMMUNITY = "community"
TOPICS = f"{COMMUNITY}/topics.jsonl"
MESSAGES = f"{COMMUNITY}/messages.jsonl"
KERNELS = f"{COMMUNITY}/kernels.jsonl"
OBSERVATIONS = f"{COMMUNITY}/observations.jsonl"
PUBLIC_LEADERBOARD = f"{COMMUNITY}/public_leaderboard.jsonl"

TIERS = {
    "0": "NOVICE",
    "1": "CONTRIBUTOR",
    "2": "EXPERT",
    "3": "MASTER",
    "4": "GRANDMASTER",
    "5": "STAFF",
    "11": "ORGANIZATION",
}
"""Kaggle's numbers of tiers, and their names."""


def _of_strangers(reserved: str, value: str) -> str:
    """Return a value that does not begin as one that the bot gives to the owner's notes; raises ValueError."""
    if value.casefold().startswith(reserved.casefold()):
        raise ValueError(f"{value[:40]!r} is reserved for the owner's notes, which are read from a separate folder")
    return value


Text = Annotated[str, AfterValidator(clean)]
_PLAIN_WORD = Field(pattern="^[A-Za-z0-9_./:@+-]{1,200}$")
Tier = Annotated[Text, Field(pattern="^[A-Za-z0-9]*$"), AfterValidator(partial(_of_strangers, TEAM))]
PostId = Annotated[Identifier, _PLAIN_WORD, AfterValidator(partial(_of_strangers, NOTE))]
Ref = Annotated[str, _PLAIN_WORD, AfterValidator(partial(_of_strangers, f"notes/{NOTE}"))]
Score = Annotated[float, Field(allow_inf_nan=False)]
Votes = Annotated[int, Field(ge=-(2**31), lt=2**31)]


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True, strict=True)


class TopicRow(_Row):
    """One line of `topics.jsonl`."""

    id: PostId
    title: Text | None
    author: Text | None
    tier: Tier | None
    posted_at: UtcTime | None
    votes: Votes | None
    url: Text | None = None
    source: Text | None = None

    def table_row(self, competition: str) -> Topic:
        """Return the row that the database holds."""
        values = self.model_dump(exclude={"source"}) | {"title": self.title or ""}
        return Topic(competition=competition, **values)


class MessageRow(_Row):
    """One line of `messages.jsonl`."""

    id: PostId
    topic_id: Identifier
    parent_id: Identifier | None
    author: Text | None
    tier: Tier | None
    posted_at: UtcTime | None
    edited_at: UtcTime | None
    votes: Votes | None
    markdown: Text | None
    deleted: bool | None
    source: Text | None = None

    def table_row(self, competition: str) -> PostedMessage:
        """Return the row that the database holds, still without its text."""
        values = self.model_dump(exclude={"source", "markdown"}) | {"deleted": bool(self.deleted)}
        return PostedMessage(competition=competition, **values)


class KernelRow(_Row):
    """One line of `kernels.jsonl`: a kernel version; `path` and `output` are relative to `community/`."""

    id: PostId
    ref: Ref
    version: int | None
    title: Text | None
    author: Text | None
    tier: Tier | None
    created_at: UtcTime | None
    votes: Votes | None
    public_score: Score | None
    language: Text | None
    kind: Text | None
    datasets: list[Any] | None
    parent_ref: Text | None
    path: Annotated[str, Field(min_length=1)] | None
    url: Text | None = None
    source: Text | None = None
    output: Annotated[str, Field(min_length=1)] | None = None
    """The submission file that its run wrote."""

    def table_row(self, competition: str) -> KernelVersion:
        """Return the row that the database holds, still without its text."""
        values = self.model_dump(exclude={"source", "output"})
        values |= {"title": self.title or "", "datasets": self.datasets or []}
        return KernelVersion(competition=competition, **values)


class ObservationRow(_Row):
    """One line of `observations.jsonl`: how a reading stood at a time; None means that it was not read."""

    target: Literal["topic", "message", "kernel"]
    id: Identifier
    at: UtcTime
    votes: Votes | None = None
    public_score: Score | None = None
    tier: Tier | None = None

    def table_row(self, competition: str) -> Observation:
        """Return the row that the database holds."""
        return Observation(competition=competition, target_id=self.id, **self.model_dump(exclude={"id"}))


class PublicScoreRow(_Row):
    """One line of `public_leaderboard.jsonl`: a team's best public score from a time on, until its next line."""

    at: UtcTime
    team: Identifier
    score: Score


RowT = TypeVar("RowT", TopicRow, MessageRow, KernelRow, ObservationRow, PublicScoreRow)
PostT = TypeVar("PostT", TopicRow, MessageRow, KernelRow)


@dataclass(frozen=True)
class Community:
    """All rows of `community/`; empty for a missing file."""

    topics: list[TopicRow] = field(default_factory=list)
    messages: list[MessageRow] = field(default_factory=list)
    kernels: list[KernelRow] = field(default_factory=list)
    observations: list[ObservationRow] = field(default_factory=list)
    public_leaderboard: list[PublicScoreRow] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Whether there is neither a topic nor a message nor a kernel."""
        return not (self.topics or self.messages or self.kernels)

    def posts(self, root: Path, competition: str) -> Iterator[Raw]:
        """Yield the rows for the database, undated ones included, their texts still to be cleaned.

        Which of them may be seen at a time is for queries with `as_of` to say. A kernel's file is read in its turn.
        """
        yield from (Raw(topic.table_row(competition)) for topic in self.topics)
        for message in self.messages:
            source = RawPost("markdown", message.markdown) if message.markdown else None
            yield Raw(message.table_row(competition), source)
        for kernel in self.kernels:
            path = resolve_inside(root / COMMUNITY, kernel.path) if kernel.path else None
            yield Raw(kernel.table_row(competition), kernel_file(path) if path else None)
        yield from (Raw(observation.table_row(competition)) for observation in self.observations)


def kernel_file(path: Path) -> RawPost:
    """Return a kernel's file, or both ends of a large one; bytes that are not UTF-8 are replaced. Raises OSError."""
    size, half = path.stat().st_size, LARGEST_SOURCE // 2
    with path.open("rb") as file:
        data = file.read(min(size, half))
        if size > LARGEST_SOURCE:
            file.seek(size - half)
        data += file.read()
    kind = "notebook" if path.suffix.lower() in (".ipynb", ".irnb") else "script"
    return RawPost("kernel", data.decode("utf-8-sig", errors="replace"), language_of_file(path.name), kind)


def read_community(root: Path, problems: Problems) -> Community:
    """Read and check `community/`; a missing folder or file is legal and empty."""
    topics = _unique(root, TOPICS, TopicRow, problems)
    messages = _unique(root, MESSAGES, MessageRow, problems)
    kernels = _unique(root, KERNELS, KernelRow, problems)
    _check_messages(messages, topics, problems)
    _check_files(root, kernels, problems)
    ids = {"topic": topics.keys(), "message": messages.keys(), "kernel": kernels.keys()}
    observations: list[ObservationRow] = []
    for line, row in read_rows(root / OBSERVATIONS, OBSERVATIONS, ObservationRow, problems):
        observations.append(row)
        if row.id not in ids[row.target]:
            problems.add(OBSERVATIONS, f"no {row.target} has the id {row.id!r}", line, kind="references")
    board = [row for _, row in read_rows(root / PUBLIC_LEADERBOARD, PUBLIC_LEADERBOARD, PublicScoreRow, problems)]
    return Community(_rows(topics), _rows(messages), _rows(kernels), observations, board)


def _unique(root: Path, name: str, model: type[PostT], problems: Problems) -> dict[str, tuple[int, PostT]]:
    rows: dict[str, tuple[int, PostT]] = {}
    for line, row in read_rows(root / name, name, model, problems):
        if row.id in rows:
            first = rows[row.id][0]
            problems.add(name, f"the id {row.id!r} is already used on line {first}", line, kind="duplicate ids")
        else:
            rows[row.id] = line, row
    return rows


def _rows(rows_by_id: dict[str, tuple[int, PostT]]) -> list[PostT]:
    return [row for _, row in rows_by_id.values()]


def _check_messages(
    messages: dict[str, tuple[int, MessageRow]], topics: dict[str, tuple[int, TopicRow]], problems: Problems
) -> None:
    for line, row in messages.values():
        if row.topic_id not in topics:
            problems.add(MESSAGES, f"unknown topic id {row.topic_id!r}", line, kind="references")
        if row.parent_id is None:
            continue
        parent = messages.get(row.parent_id)
        if parent is None or row.parent_id == row.id:
            problems.add(MESSAGES, f"no other message has the id {row.parent_id!r}", line, kind="references")
        elif parent[1].topic_id != row.topic_id:
            problems.add(MESSAGES, f"its parent {row.parent_id!r} is in a different topic", line, kind="references")


def _check_files(root: Path, kernels: dict[str, tuple[int, KernelRow]], problems: Problems) -> None:
    for line, row in kernels.values():
        for path in (row.path, row.output):
            if path is not None and resolve_inside(root / COMMUNITY, path) is None:
                message = f"its file {path!r} is missing or outside {COMMUNITY}/"
                problems.add(KERNELS, message, line, kind="files")


LONGEST_LINE = 64_000_000
"""Bytes; a longer line is refused instead of being held in memory."""


def read_rows(path: Path, name: str, row: type[RowT], problems: Problems) -> Iterator[tuple[int, RowT]]:
    """Yield (line number from 1, row) for each good line of the file, if it is there; blank lines are skipped."""
    if not path.is_file():
        return
    with problems.reading(name), path.open("rb") as file:
        for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
            if len(line) > LONGEST_LINE:
                problems.add(name, f"the line is longer than {LONGEST_LINE:,} bytes; the rest was not read", number)
                return
            if not line.strip():
                continue
            content = json_object(line, name, number, problems)
            if content is None:
                continue
            try:
                yield number, row.model_validate(content)
            except ValidationError as error:
                for sentence in sentences(error):
                    problems.add(name, sentence, number, kind="fields")
