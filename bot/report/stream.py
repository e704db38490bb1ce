"""What became known when, and which node used it: the series of a replay whose clock moved, as result.json holds it."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class ClockMove(_Row):
    """One time at which the clock stood; the first is that of the start."""

    seconds: float
    """Time in the run at which it came there."""
    as_of: datetime
    topics: int
    messages: int
    kernels: int
    """How many may be known from then on; kernels: versions."""


class NodeStart(_Row):
    """When a node was begun, in the run and by its clock."""

    node: int
    seconds: float
    as_of: datetime


class PostUse(_Row):
    """A post that was read."""

    item: str
    """Such as `message/233009`."""
    posted: datetime
    """From when it may be known: when it was posted, or edited."""
    seconds: float
    """Time in the run at which the clock passed that."""
    as_of: datetime
    """Where the clock stood then."""
    ideas: tuple[int, ...]
    """Ideas that name it as a source."""
    nodes: tuple[int, ...]
    """Nodes of the drafts that are made of these."""


class StreamRecord(_Row):
    """The series."""

    start: datetime
    cutoff: datetime
    moved_with: str
    """`nodes` or `time`."""
    moves: tuple[ClockMove, ...]
    nodes: tuple[NodeStart, ...]
    posts: tuple[PostUse, ...]

    @property
    def reached(self) -> datetime:
        """How far the clock came."""
        return self.moves[-1].as_of
