"""How often each part of a competition is read, and how much at a time."""

from typing import Annotated

from pydantic import Field

from state.closed import ClosedModel

_MINUTE, _HOUR, _DAY = 60.0, 3_600.0, 86_400.0
Interval = Annotated[float, Field(gt=0)]
"""Seconds of the clock."""


class PollingSettings(ClosedModel):
    """Intervals in seconds; with these a competition without news costs three requests in a quarter of an hour."""

    competitions: Interval = Field(default=6 * _HOUR, description="list of entered competitions")
    topics: Interval = Field(default=15 * _MINUTE, description="topics with new comments")
    topic_sweep: Interval = Field(default=_DAY, description="all topics, for votes and deletions")
    rereads: Interval = Field(default=_HOUR, description="messages of unchanged topics, a few at a time")
    kernels: Interval = Field(default=30 * _MINUTE, description="notebooks that ran recently")
    kernel_sweep: Interval = Field(default=_DAY, description="all notebooks, for votes and deletions")
    scores: Interval = Field(default=2 * _HOUR, description="public scores of notebooks")
    tiers: Interval = Field(default=_DAY, description="tiers of authors")
    pages: Interval = Field(default=12 * _HOUR, description="the competition's pages, including the rules")
    data: Interval = Field(default=6 * _HOUR, description="summary of the data, which hosts may replace")
    top: Interval = Field(default=45 * _MINUTE, description="top of the leaderboard")
    board: Interval = Field(default=_DAY, description="the whole leaderboard")
    submissions: Interval = Field(default=_HOUR, description="own submissions and the remaining quota")
    all_submissions: Interval = Field(default=_DAY, description="old submissions")

    outputs: Interval = Field(
        default=6 * _HOUR, description="output files of public notebooks, which no submission may copy"
    )
    max_outputs_per_cycle: int = Field(default=25, ge=1, description="notebooks whose files are requested at a time")

    grouping_window: float = Field(default=_MINUTE, ge=0, description="read now what is due within this time")
    retry: Interval = Field(default=2 * _MINUTE, description="wait after a part's first failure; doubled each time")
    max_retry: Interval = Field(default=30 * _MINUTE, description="maximum wait after a failure")
    refusal_backoff: Interval = Field(default=6 * _HOUR, description="wait after Kaggle rejects a request")

    overlap: float = Field(default=10 * _MINUTE, ge=0, description="overlap when reading lists again")
    max_pages: int = Field(default=500, ge=1, description="maximum pages of one list")
    max_topics_per_cycle: int = Field(default=30, ge=1, description="maximum topics read per cycle")
    max_rereads_per_cycle: int = Field(default=2, ge=1, description="unchanged topics read again per cycle")
    min_reread_interval: Interval = Field(
        default=_DAY, description="minimum age before an unchanged topic is read again"
    )
    max_reread_interval: Interval = Field(default=14 * _DAY, description="and not later")
    max_lookups_per_cycle: int = Field(
        default=20, ge=1, description="topics or notebooks missed by a sweep and looked up"
    )
    max_kernels_per_cycle: int = Field(default=30, ge=1, description="maximum notebook sources read per cycle")
    max_kernels_per_day: int = Field(default=150, ge=1, description="maximum notebook sources read per UTC day")
    top_kernels: int = Field(
        default=100, ge=1, description="read only this many notebooks by votes, and as many by score"
    )
    newest_kernels: int = Field(default=30, ge=0, description="and this many that ran last")
    max_missed_versions: int = Field(
        default=10, ge=0, description="maximum versions of a notebook fetched between two readings"
    )
    search_pages: int = Field(default=2, ge=1, description="pages of 100 search results")
    top_size: int = Field(default=50, ge=1, le=200, description="teams read from the top of the leaderboard")
