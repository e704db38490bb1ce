"""A run: its nodes, executions and scores, its steps, model calls, spending and events."""

from datetime import datetime
from typing import Any, ClassVar

from sqlalchemy import JSON, Index, UniqueConstraint
from sqlmodel import Field, SQLModel


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
    """[time of a resume in ISO 8601, seconds before it in which no process worked on the run], oldest first."""


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
    infer_sha: str | None = None
    """Its second script, which predicts in a notebook with what the first one has saved; None: it has none."""
    families: list[str] = Field(default_factory=list, sa_type=JSON)
    """Families of models that its script uses; none where nobody looked."""
    status: str = "running"
    """`running`, `valid`, `buggy`, or `failed` where the engine failed, not the code."""
    score: float | None = None
    error: str | None = None
    created_at: datetime
    ended_at: datetime | None = None
    seconds: float | None = None
    model: str | None = None
    withdrawn: bool = False
    """Whether a coder took it out of the choice: it stays on the board, and nothing is made of it."""


class Lab(SQLModel, table=True):
    """One lab: a sandboxed workplace where a coder works on one draft; `id` is the number of the first node it makes."""

    run_id: str = Field(primary_key=True)
    id: int = Field(primary_key=True)
    draft_id: str | None = None
    parents: list[int] = Field(default_factory=list, sa_type=JSON)
    """The nodes that it starts from."""
    title: str = ""
    started_at: datetime
    ended_at: datetime | None = None
    """None while it is open."""
    reason: str | None = None
    """Why it was closed, in one sentence."""
    turns: int = 0
    notes: list[Any] = Field(default_factory=list, sa_type=JSON)
    """Lines that other labs are shown."""
    report: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    """What the coder reported when it ended its work: method, components, limitations, next steps."""


class ExperimentRow(SQLModel, table=True):
    """Predictions with a score: logged in a lab, or made by the engine; its node has the same number."""

    __tablename__: ClassVar[Any] = "experiment"

    run_id: str = Field(primary_key=True)
    node: int = Field(primary_key=True)
    name: str
    """Unique in its run."""
    kind: str
    """`model`, `stack` (fitted on other experiments' predictions), `portfolio` or `ensemble`."""
    lab: int | None = None
    """The lab that logged it; None: the engine made it."""
    turn: int = 0
    note: str = ""
    uses: list[str] = Field(default_factory=list, sa_type=JSON)
    """Names of the experiments that it is built on."""
    sources: dict[str, str] = Field(default_factory=dict, sa_type=JSON)
    """The files that made it: hash of the text by name."""
    retrain: str = ""
    """Shell command that makes its test predictions from all labelled rows; empty: none was given."""
    result: dict[str, Any] = Field(default_factory=dict, sa_type=JSON)
    """A `ScoredExperiment` of the evaluator."""
    seconds: float | None = None
    """That it took, as its coder says."""
    logged_at: datetime


class Execution(SQLModel, table=True):
    """One run of a node's code on one view; `reason` is None while it runs."""

    __table_args__: ClassVar[Any] = (Index("ix_execution_node", "run_id", "node"),)

    run_id: str = Field(primary_key=True)
    id: str = Field(primary_key=True)
    node: int
    view: str
    reason: str | None = None
    exit_code: int | None = None
    seconds: float | None = None
    cpu_seconds: float | None = None
    peak_memory_bytes: int | None = None
    log_sha: str | None = None
    started_at: datetime
    ended_at: datetime | None = None


class Evaluation(SQLModel, table=True):
    """The evaluator's score of one execution, or the message why there is none."""

    run_id: str = Field(primary_key=True)
    execution_id: str = Field(primary_key=True)
    node: int
    view: str
    score: float | None = None
    valid: bool
    message: str | None = None
    at: datetime


class LedgerEntry(SQLModel, table=True):
    """One item of spending; `cost_usd` None means unknown price, `seconds` are wall seconds.

    `amount` is what no other column holds: GPU seconds of `gpu`, bytes of `disk`, the number of `execution` and
    `submission`; otherwise None.
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
    cached_tokens: int = 0
    """Those of the prompt that the endpoint had read before."""
    completion_tokens: int = 0
    cost_usd: float | None = None
    seconds: float | None = None
    amount: float | None = None


class ModelCall(SQLModel, table=True):
    """One call of a model; `items` are {id, time} of everything in its prompt, the texts are blobs."""

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
    cached_tokens: int = 0
    """Those of the prompt that the endpoint had read before."""
    completion_tokens: int = 0
    cost_usd: float | None = None
    node: int | None = None
    at: datetime


class Step(SQLModel, table=True):
    """One effect that happens once; `node` 0 means none."""

    run_id: str = Field(primary_key=True)
    node: int = Field(primary_key=True, default=0)
    name: str = Field(primary_key=True)
    attempt: int = Field(primary_key=True, default=0)
    status: str = "started"
    """`started` or `finished`."""
    result: Any = Field(default=None, sa_type=JSON, nullable=True)
    """JSON, as the step's kind turns it into a result; None until it has finished."""
    prompt_hash: str | None = None
    started_at: datetime
    ended_at: datetime | None = None


class Event(SQLModel, table=True):
    """An event; `seq` counts from 1 without gaps within a run."""

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
