"""How often each part of a competition is read, and how much at a time."""

from typing import Annotated

from pydantic import Field

from state.closed import ClosedModel

_MINUTE, _HOUR, _DAY = 60.0, 3_600.0, 86_400.0
Interval = Annotated[float, Field(gt=0)]
"""Seconds of the clock."""


class PollingSettings(ClosedModel):
    """Intervals in seconds; with these a competition without news costs three requests in a quarter of an hour."""

    competitions: Interval = Field(default=6 * _HOUR, description="the list of competitions entered")
    topics: Interval = Field(default=15 * _MINUTE, description="topics with new comments")
    topic_sweep: Interval = Field(default=_DAY, description="all topics, for votes and for what is gone")
    rereads: Interval = Field(default=_HOUR, description="messages of topics that did not move, a few at a time")
    kernels: Interval = Field(default=30 * _MINUTE, description="kernels that were run")
    kernel_sweep: Interval = Field(default=_DAY, description="all kernels, for votes and for what is gone")
    scores: Interval = Field(default=2 * _HOUR, description="public scores of kernels")
    tiers: Interval = Field(default=_DAY, description="tiers of authors")
    pages: Interval = Field(default=12 * _HOUR, description="the competition's pages, the rules among them")
    data: Interval = Field(default=6 * _HOUR, description="the summary of the data, which hosts may replace")
    top: Interval = Field(default=45 * _MINUTE, description="the top of the leaderboard")
    board: Interval = Field(default=_DAY, description="the whole leaderboard")
    submissions: Interval = Field(default=_HOUR, description="our own submissions and what the quota has left")
    all_submissions: Interval = Field(default=_DAY, description="the old ones among them too")

    outputs: Interval = Field(
        default=6 * _HOUR, description="files that public kernels wrote, which none that is sent may be the same as"
    )
    outputs_at_once: int = Field(default=25, ge=1, description="kernels whose files are asked for at a time")

    slack: float = Field(default=_MINUTE, ge=0, description="what is due within this time is read now")
    retry: Interval = Field(default=2 * _MINUTE, description="pause after a part's first failure; it doubles each time")
    longest_retry: Interval = Field(default=30 * _MINUTE, description="the longest such pause")
    refused: Interval = Field(default=6 * _HOUR, description="pause after the site's own no")

    overlap: float = Field(default=10 * _MINUTE, ge=0, description="how far behind a watermark lists are read")
    most_pages: int = Field(default=500, ge=1, description="pages of one list")
    topics_at_once: int = Field(default=30, ge=1, description="topics whose messages are read in one cycle")
    rereads_at_once: int = Field(default=2, ge=1, description="topics that are read again without having moved")
    first_reread: Interval = Field(default=_DAY, description="a topic is not read again sooner, if it does not move")
    last_reread: Interval = Field(default=14 * _DAY, description="and not later")
    verified_at_once: int = Field(default=20, ge=1, description="topics or kernels that a sweep missed and looks for")
    kernels_at_once: int = Field(default=30, ge=1, description="kernels whose source is read in one cycle")
    kernels_per_day: int = Field(default=150, ge=1, description="kernels whose source is read in a UTC day")
    promising: int = Field(
        default=100, ge=1, description="kernels with the most votes, as many with the best scores: only these are read"
    )
    newest: int = Field(default=30, ge=0, description="and the ones that were run last")
    missed_versions: int = Field(
        default=10, ge=0, description="versions of one kernel between two readings that are fetched, the last ones"
    )
    search_pages: int = Field(default=2, ge=1, description="pages of a hundred found kernels, topics, comments")
    top_size: int = Field(default=50, ge=1, le=200, description="teams of the leaderboard's top")
