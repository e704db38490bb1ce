"""The record of a replay's moving clock in result.json: what became known when, and which nodes used it."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class ClockMove(_Row):
    """One time that the clock was set to; the first is its start."""

    seconds: float
    """Time in the run at which it was set."""
    as_of: datetime
    topics: int
    messages: int
    kernels: int
    """How many are visible from then on; kernels: versions."""


class NodeStart(_Row):
    """When a node was started, in the run and by its clock."""

    node: int
    seconds: float
    as_of: datetime


class PostUse(_Row):
    """A post that was read."""

    item: str
    """Such as `message/233009`."""
    posted: datetime
    """From when it is visible: when it was posted, or edited."""
    seconds: float
    """Time in the run at which the clock passed `posted`."""
    as_of: datetime
    """The clock's time then."""
    ideas: tuple[int, ...]
    """Ideas that name it as a source."""
    nodes: tuple[int, ...]
    """Nodes of the drafts that use these ideas."""


class StreamRecord(_Row):
    """The record of a moving clock."""

    start: datetime
    cutoff: datetime
    moved_with: str
    """`nodes` or `time`."""
    moves: tuple[ClockMove, ...]
    nodes: tuple[NodeStart, ...]
    posts: tuple[PostUse, ...]

    @property
    def reached(self) -> datetime:
        """The clock's last time."""
        return self.moves[-1].as_of
