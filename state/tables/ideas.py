"""What a run derives from a community: analyses, reproduced kernels, ideas, drafts, reports."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON
from sqlmodel import Field, SQLModel


class Analysis(SQLModel, table=True):
    """What one document was found to hold: a topic with its messages, or a kernel version. The scores go from 0 to 10."""

    run_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    """The document's item, such as `topic/41517` or `kernel/1730048`."""
    post_kind: str
    """`topic` or `kernel`."""
    post_id: str
    posts: list[str] = Field(default_factory=list, sa_type=JSON)
    """Items of the messages or the kernel version whose text was read, the opening one first."""
    digest: str = ""
    """Hash of the document's text, by which a change is noticed."""
    summary: str
    suggestions: list[Any] = Field(default_factory=list, sa_type=JSON)
    fails: list[Any] = Field(default_factory=list, sa_type=JSON)
    """What it measured to bring nothing."""
    suspicion: str = ""
    """Why it looks as if it tried to steer its reader; empty: it does not."""
    resources: list[Any] = Field(default_factory=list, sa_type=JSON)
    novelty: float = 0.0
    feasibility: float = 0.0
    effectiveness: float = 0.0
    efficiency: float = 0.0
    known_at: datetime


class Idea(SQLModel, table=True):
    """One atomic strategy; `sources` are items such as `message/233009` or `report/r1`.

    Its text never changes, and its row is never removed: a closed one is offered no more, and names what took its place.
    """

    run_id: str = Field(primary_key=True)
    id: int = Field(primary_key=True)
    text: str
    sources: list[str] = Field(default_factory=list, sa_type=JSON)
    path: str = ""
    """The solution path that it was thought up for."""
    state: str = "live"
    """`live`, `merged`, `split` or `retired`."""
    successors: list[int] = Field(default_factory=list, sa_type=JSON)
    """The idea that it was merged into, or those that it was split into."""
    reason: str = ""
    """Why it was closed."""
    closed_at: datetime | None = None
    """Latest time among what it was closed for."""
    known_at: datetime
    created_at: datetime


class IdeaUse(SQLModel, table=True):
    """A draft uses an idea."""

    run_id: str = Field(primary_key=True)
    idea_id: int = Field(primary_key=True)
    draft_id: str = Field(primary_key=True)


class Draft(SQLModel, table=True):
    """A plan made of selected ideas, perhaps on top of a node's script (`codebase_node`): one of ours, or a reproduced kernel."""

    run_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    title: str
    aim: str = ""
    """What it is to bring, in one sentence."""
    description: str
    idea_ids: list[int] = Field(default_factory=list, sa_type=JSON)
    codebase_node: int | None = None
    share: float | None = None
    """Of the run's budget (its time, or its scripts where they are counted) that it may use; None: as the settings have it."""
    round: int = 0
    known_at: datetime
    created_at: datetime


class Report(SQLModel, table=True):
    """The outcome of a draft; `best_node` is a node's id and `score` its score."""

    run_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    draft_id: str | None = None
    title: str
    method: str
    components: list[Any] = Field(default_factory=list, sa_type=JSON)
    numbers: str = ""
    limitations: str = ""
    next_steps: str = ""
    lineage: list[str] = Field(default_factory=list, sa_type=JSON)
    """What it was made of: items such as `idea/3`, `kernel/10` and `node/2`."""
    artifacts: list[str] = Field(default_factory=list, sa_type=JSON)
    """Files that its lab left."""
    best_node: int | None = None
    score: float | None = None
    known_at: datetime
    created_at: datetime


class Reproduction(SQLModel, table=True):
    """What came of a public kernel's version (`id`, such as `kernel/10`) in this run: `ran`, `failed` or `recognised`.

    A recognised one was never run, for the `reason`, and has no `node`. Scores are in the metric's own sign.
    """

    run_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    title: str
    state: str
    reason: str = ""
    node: int | None = None
    published: float | None = None
    """Its public score as known when it was chosen."""
    measured: float | None = None
    """The evaluator's score on withheld rows that stood in for the test rows."""
    noise: float | None = None
    """Standard error of `measured`; None: unknown."""
    seconds: float = 0.0
    """Of its last run."""
    repaired: bool = False
    """Whether a model changed its script after a first run had failed."""
    known_at: datetime
