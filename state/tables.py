"""Tables: what the database holds, one class a table.

Every time is aware UTC. Community rows are keyed by competition, everything else by run. Derived rows carry
`known_at`, the latest time among their inputs, and obey the clock as posts do.
"""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import JSON, Index, UniqueConstraint, text
from sqlmodel import Field, SQLModel

__all__ = [
    "Analysis",
    "Approval",
    "Blob",
    "CommunityRow",
    "Draft",
    "Evaluation",
    "Event",
    "Execution",
    "Idea",
    "IdeaUse",
    "KeptSketch",
    "KernelVersion",
    "LedgerEntry",
    "Letter",
    "LetterPart",
    "Likeness",
    "Message",
    "ModelCall",
    "Node",
    "Notification",
    "Observation",
    "Report",
    "Run",
    "SketchBand",
    "Step",
    "Submission",
    "Topic",
    "Wish",
]


class Topic(SQLModel, table=True):
    """A forum topic; its text is its messages. Without `posted_at` it is never visible."""

    competition: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    title: str = ""
    author: str | None = None
    tier: str | None = None
    posted_at: datetime | None = None
    votes: int | None = None
    url: str | None = None
    sticky: bool = False
    deleted: bool = False
    first_seen_at: datetime | None = None
    """Our time, where it was polled."""


class Message(SQLModel, table=True):
    """A forum message; `votes` and `tier` are as of its collection. An edit's older text is not known."""

    __table_args__: ClassVar[Any] = (
        Index("ix_message_topic", "competition", "topic_id", "posted_at", "edited_at", "deleted"),
        Index("ix_message_posted", "competition", "posted_at", "id"),
        Index("ix_message_edited", "competition", "edited_at", "id"),
    )

    competition: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    topic_id: str
    parent_id: str | None = None
    author: str | None = None
    tier: str | None = None
    posted_at: datetime | None = None
    edited_at: datetime | None = None
    votes: int | None = None
    markdown: str = ""
    deleted: bool = False
    first_seen_at: datetime | None = None
    """Our time, where it was polled."""
    html_sha: str | None = None
    """sha256 of the HTML and of the markdown as the site gave them, by which an edit is noticed."""
    markdown_sha: str | None = None


class KernelVersion(SQLModel, table=True):
    """One version of a kernel; `text` is its cleaned text and code, `raw_sha` the blob of its file."""

    __table_args__: ClassVar[Any] = (
        Index("ix_kernelversion_ref", "competition", "ref", "created_at"),
        Index("ix_kernelversion_created", "competition", "created_at"),
    )

    competition: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    ref: str
    version: int | None = None
    title: str = ""
    author: str | None = None
    tier: str | None = None
    created_at: datetime | None = None
    votes: int | None = None
    public_score: float | None = None
    language: str | None = None
    kind: str | None = None
    """`notebook`, `script`, `writeup`, or what else the source says."""
    datasets: list[Any] = Field(default_factory=list, sa_type=JSON)
    parent_ref: str | None = None
    path: str | None = None
    url: str | None = None
    text: str = ""
    raw_sha: str | None = None
    first_seen_at: datetime | None = None
    """Our time, where it was polled."""


class Observation(SQLModel, table=True):
    """One reading of what changes: votes, public score, tier; None means not read."""

    # Scores and tiers are read far less often than votes: an index of their own leads past all other readings.
    __table_args__: ClassVar[Any] = (
        Index("ix_observation_target", "competition", "target", "target_id", "at", "votes"),
        Index(
            "ix_observation_score",
            *("competition", "target", "target_id", "at", "public_score"),
            sqlite_where=text("public_score IS NOT NULL"),
        ),
        Index(
            "ix_observation_tier",
            *("competition", "target", "target_id", "at", "tier"),
            sqlite_where=text("tier IS NOT NULL"),
        ),
    )

    pk: int | None = Field(default=None, primary_key=True)
    competition: str
    target: str
    """`topic`, `message` or `kernel` (a kernel version)."""
    target_id: str
    at: datetime
    """Our clock's."""
    served_at: datetime | None = None
    """The site's clock at the same moment, where it tells."""
    votes: int | None = None
    public_score: float | None = None
    tier: str | None = None


CommunityRow = Topic | Message | KernelVersion | Observation


class KeptSketch(SQLModel, table=True):
    """One text's sketch, once for all posts of a competition that have the text."""

    __table_args__: ClassVar[Any] = (Index("ix_keptsketch_text", "competition", "kind", "sha256", unique=True),)

    id: int | None = Field(default=None, primary_key=True)
    competition: str
    kind: str
    """`message` or `kernel`."""
    sha256: str
    """Hex, of the text without layout."""
    code: bytes | None = None
    """MinHash signatures, see `scrapers.posts.sketches`; None where there is too little to compare."""
    prose: bytes | None = None


class SketchBand(SQLModel, table=True):
    """A part of a signature by its hash: two sketches that share one are worth comparing."""

    __table_args__: ClassVar[Any] = {"sqlite_with_rowid": False}

    digest: int = Field(primary_key=True)
    sketch: int = Field(primary_key=True)


class Likeness(SQLModel, table=True):
    """Which earlier post a message or a kernel version repeats, if any."""

    __table_args__: ClassVar[Any] = (Index("ix_likeness_sketch", "sketch", "known_at", "post_id"),)

    competition: str = Field(primary_key=True)
    kind: str = Field(primary_key=True)
    """`message` or `kernel`."""
    post_id: str = Field(primary_key=True)
    sketch: int
    known_at: datetime
    """Since when the post's text is known."""
    original: str | None = None
    """Id of the earliest post of the kind whose text is the same or nearly so."""
    original_at: datetime | None = None
    similarity: float | None = None
    """Of the two texts, 1 where they are the same."""


class Run(SQLModel, table=True):
    """One agent on one competition with one configuration, seed and clock; `cutoff` None means live."""

    id: str = Field(primary_key=True)
    competition: str
    agent: str
    model: str
    seed: int
    cutoff: datetime | None = None
    signals: str = "asof"
    created_at: datetime
    status: str = "running"
    config: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    gaps: list[Any] = Field(default_factory=list, sa_type=JSON)
    """[time of a resume in ISO 8601, seconds in which nobody worked on the run before it], oldest first."""


class Analysis(SQLModel, table=True):
    """What a post version says; the four scores go from 0 to 10."""

    run_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    post_kind: str
    """`message` or `kernel`."""
    post_id: str
    summary: str
    suggestions: list[Any] = Field(default_factory=list, sa_type=JSON)
    code_abstract: str = ""
    resources: list[Any] = Field(default_factory=list, sa_type=JSON)
    novelty: float = 0.0
    feasibility: float = 0.0
    effectiveness: float = 0.0
    efficiency: float = 0.0
    known_at: datetime


class Idea(SQLModel, table=True):
    """One atomic strategy; `sources` are items such as `message/233009` or `report/r1`."""

    run_id: str = Field(primary_key=True)
    id: int = Field(primary_key=True)
    text: str
    sources: list[str] = Field(default_factory=list, sa_type=JSON)
    known_at: datetime
    created_at: datetime


class IdeaUse(SQLModel, table=True):
    """A draft uses an idea."""

    run_id: str = Field(primary_key=True)
    idea_id: int = Field(primary_key=True)
    draft_id: str = Field(primary_key=True)


class Draft(SQLModel, table=True):
    """A plan made of selected ideas, perhaps on top of a report's code (`codebase_report`, a report's id)."""

    run_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    title: str
    description: str
    idea_ids: list[int] = Field(default_factory=list, sa_type=JSON)
    codebase_report: str | None = None
    novel: bool = False
    round: int = 0
    known_at: datetime
    created_at: datetime


class Report(SQLModel, table=True):
    """What came of a draft; `best_node` is a node's id and `score` its score."""

    run_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    draft_id: str | None = None
    title: str
    method: str
    components: list[Any] = Field(default_factory=list, sa_type=JSON)
    numbers: str = ""
    limitations: str = ""
    next_steps: str = ""
    best_node: int | None = None
    score: float | None = None
    known_at: datetime
    created_at: datetime


class Node(SQLModel, table=True):
    """One scored script of the search; ids count from 1; `score` is the official metric on the hold-out part."""

    run_id: str = Field(primary_key=True)
    id: int = Field(primary_key=True)
    action: str
    """`draft`, `debug`, `improve`, `merge`, `reproduce` or `ensemble`."""
    parents: list[int] = Field(default_factory=list, sa_type=JSON)
    draft_id: str | None = None
    plan: str = ""
    code_sha: str | None = None
    status: str = "running"
    """`running`, `valid`, `buggy`, or `failed` where the engine failed, not the code."""
    score: float | None = None
    error: str | None = None
    created_at: datetime
    ended_at: datetime | None = None
    seconds: float | None = None
    model: str | None = None


class Execution(SQLModel, table=True):
    """One run of a node's code on one view; `reason` is None while it runs."""

    __table_args__: ClassVar[Any] = (Index("ix_execution_node", "run_id", "node"),)

    run_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    node: int
    view: str
    attempt: int = 0
    reason: str | None = None
    exit_code: int | None = None
    seconds: float | None = None
    cpu_seconds: float | None = None
    peak_memory_bytes: int | None = None
    log_sha: str | None = None
    started_at: datetime
    ended_at: datetime | None = None


class Evaluation(SQLModel, table=True):
    """The evaluator's score of one execution, or the message that says why there is none."""

    run_id: str = Field(primary_key=True)
    execution_id: str = Field(primary_key=True)
    node: int
    view: str
    score: float | None = None
    valid: bool
    message: str | None = None
    at: datetime


class Submission(SQLModel, table=True):
    """One handing in; `handed_in` is `refit`, `fold-average` or `holdout`, `tag` what it is found by at the site."""

    run_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    """A number, counted from 1 within the run."""
    node: int
    tag: str = Field(index=True, unique=True)
    status: str
    """See `state.outward.SubmissionStatus`."""
    handed_in: str
    score: float | None = None
    at: datetime
    ref: str | None = None
    """The site's own name for it, once it is confirmed."""
    file_sha: str | None = None
    """sha256 (hex) of the file that is to be sent."""
    message: str | None = None
    """Why it is in doubt, or the site's words where it was refused."""
    sent_at: datetime | None = None
    """When it was last begun to be sent, or seen at the site without that; None: it was not."""


class Notification(SQLModel, table=True):
    """Something to tell the owner, at least once; `run_id` None: of no run."""

    id: int | None = Field(default=None, primary_key=True)
    run_id: str | None = None
    key: str = Field(index=True, unique=True)
    """By which whoever gets it twice can tell that it is the same."""
    kind: str
    title: str
    body: str
    markdown: str = ""
    urgent: bool = False
    created_at: datetime
    sent_at: datetime | None = Field(default=None, index=True)
    """When the last of the services had it."""


class Letter(SQLModel, table=True):
    """One message to one service: one notification, or several together; it stays as it was first tried."""

    __table_args__: ClassVar[Any] = (Index("ix_letter_key", "service", "key", unique=True),)

    id: int | None = Field(default=None, primary_key=True)
    service: str
    """The name under which its address is kept, never the address."""
    run_id: str | None = None
    key: str
    kind: str
    title: str
    body: str
    markdown: str = ""
    urgent: bool = False
    created_at: datetime
    due_at: datetime
    """Not tried before."""
    tried_at: datetime | None = Field(default=None, index=True)
    """When the last attempt began."""
    sent_at: datetime | None = Field(default=None, index=True)
    attempts: int = 0
    last_error: str | None = None


class LetterPart(SQLModel, table=True):
    """Which letter to a service holds a notification; there is one at most."""

    notification_id: int = Field(primary_key=True)
    service: str = Field(primary_key=True)
    letter_id: int = Field(index=True)


class Approval(SQLModel, table=True):
    """A submission that is held until a person lets it go, refuses it, or its time is over."""

    __table_args__: ClassVar[Any] = (Index("ix_approval_submission", "run_id", "submission", unique=True),)

    id: int | None = Field(default=None, primary_key=True)
    """By which it is approved."""
    run_id: str
    submission: str
    """Its number within the run."""
    asked_at: datetime
    expires_at: datetime
    why: str = ""
    """Why it is to go, and what is to be looked at."""
    decision: str | None = None
    """See `state.approvals.Verdict`; None: nobody has said a word."""
    decided_at: datetime | None = None
    by: str | None = None
    """Who decided: a user of the machine, or `bot` where its time was over."""


class Wish(SQLModel, table=True):
    """A node whose file a person wants to be submitted."""

    id: int | None = Field(default=None, primary_key=True)
    run_id: str = Field(index=True)
    node: int
    wished_at: datetime
    by: str
    seen_at: datetime | None = None
    """When a daemon looked at it last."""
    state: str = "open"
    """`open`, `intended` (it became a submission) or `refused`."""
    why: str = ""
    """What the daemon said."""
    submission: str | None = None
    """What it became."""


class LedgerEntry(SQLModel, table=True):
    """One item of spending; `cost_usd` None means unknown price, `seconds` are wall seconds.

    `amount` is what no other column holds: GPU seconds of `gpu`, bytes of `disk`, and how many of `execution` and
    `submission`; None where the others say all.
    """

    pk: int | None = Field(default=None, primary_key=True)
    run_id: str = Field(index=True)
    at: datetime
    kind: str
    """`tokens` (a model call), `execution`, `gpu`, `disk` or `submission`."""
    node: int | None = None
    role: str | None = None
    model: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    seconds: float | None = None
    amount: float | None = None


class ModelCall(SQLModel, table=True):
    """One call of a model; `items` are {id, time} of all that its prompt held, the texts are blobs."""

    __table_args__: ClassVar[Any] = (Index("ix_modelcall_step", "run_id", "step"),)

    run_id: str = Field(primary_key=True)
    seq: int = Field(primary_key=True)
    step: str
    role: str
    prompt_name: str
    model: str
    as_of: datetime
    items: list[dict[str, str]] = Field(default_factory=list, sa_type=JSON)
    messages_sha: str
    answer_sha: str
    prompt_hash: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    node: int | None = None
    at: datetime


class Step(SQLModel, table=True):
    """One effect that is done once; `node` 0 means none."""

    run_id: str = Field(primary_key=True)
    node: int = Field(primary_key=True, default=0)
    name: str = Field(primary_key=True)
    attempt: int = Field(primary_key=True, default=0)
    status: str = "started"
    """`started` or `finished`."""
    result: dict[str, Any] | None = Field(default=None, sa_type=JSON)
    prompt_hash: str | None = None
    started_at: datetime
    ended_at: datetime | None = None


class Event(SQLModel, table=True):
    """What happened; `seq` counts from 1 without gaps within a run."""

    __table_args__: ClassVar[Any] = (UniqueConstraint("run_id", "seq", name="uq_event_seq"),)

    id: int | None = Field(default=None, primary_key=True)
    run_id: str
    seq: int
    at: datetime
    type: str
    node: int | None = None
    data: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)


class Blob(SQLModel, table=True):
    """A body by the sha256 (hex) of its plain bytes; `data` is zlib."""

    sha256: str = Field(primary_key=True)
    data: bytes
