"""How often each part of a competition is read, and how much at a time."""

from typing import Annotated, Any

from pydantic import Field

from state.closed_model import ClosedModel

_MINUTE, _HOUR, _DAY = 60.0, 3_600.0, 86_400.0
Interval = Annotated[float, Field(gt=0)]
"""Seconds of the clock."""


def _every(seconds: float, subject: str) -> Any:
    return Field(default=seconds, description=f"how often to read {subject}, in seconds")


class PollingSettings(ClosedModel):
    """How often each part of a competition is read; by default a quiet competition costs three requests in 15 minutes."""

    competitions: Interval = _every(6 * _HOUR, "the list of entered competitions")
    topics: Interval = _every(15 * _MINUTE, "topics with new comments")
    topic_sweep: Interval = _every(_DAY, "all topics, for new votes and deletions")
    rereads: Interval = _every(_HOUR, "a few idle topics, reread")
    kernels: Interval = _every(30 * _MINUTE, "notebooks that ran recently")
    kernel_sweep: Interval = _every(_DAY, "all notebooks, for new votes and deletions")
    scores: Interval = _every(2 * _HOUR, "public scores of notebooks")
    tiers: Interval = _every(_DAY, "tiers of authors")
    pages: Interval = _every(12 * _HOUR, "the competition's pages, including the rules")
    data: Interval = _every(6 * _HOUR, "the data summary (hosts may replace the data)")
    top: Interval = _every(45 * _MINUTE, "the top of the leaderboard")
    board: Interval = _every(_DAY, "the whole leaderboard")
    submissions: Interval = _every(_HOUR, "your submissions and the remaining quota")
    all_submissions: Interval = _every(_DAY, "your old submissions")

    outputs: Interval = _every(6 * _HOUR, "output files of public notebooks (to detect copies)")
    max_outputs_per_cycle: int = Field(default=25, ge=1, description="maximum number of notebooks to check per cycle")

    grouping_window: float = Field(default=_MINUTE, ge=0, description="read this many seconds early to group requests")
    retry: Interval = Field(default=2 * _MINUTE, description="wait after a failure, in seconds; doubled each time")
    max_retry: Interval = Field(default=30 * _MINUTE, description="maximum wait after a failure, in seconds")
    refusal_backoff: Interval = Field(default=6 * _HOUR, description="wait after Kaggle rejects a request, in seconds")

    overlap: float = Field(default=10 * _MINUTE, ge=0, description="overlap between reads of the same list, in seconds")
    max_pages: int = Field(default=500, ge=1, description="maximum number of pages to read from a list")
    max_topics_per_cycle: int = Field(default=30, ge=1, description="maximum number of topics to read per cycle")
    max_rereads_per_cycle: int = Field(default=2, ge=1, description="maximum number of idle topics to reread per cycle")
    min_reread_interval: Interval = Field(default=_DAY, description="minimum seconds between reads of an idle topic")
    max_reread_interval: Interval = Field(
        default=14 * _DAY, description="maximum seconds between reads of an idle topic"
    )
    max_lookups_per_cycle: int = Field(
        default=20, ge=1, description="maximum number of lookups per cycle for topics or notebooks missing from a sweep"
    )
    max_kernels_per_cycle: int = Field(default=30, ge=1, description="maximum number of notebooks to read per cycle")
    max_kernels_per_day: int = Field(default=150, ge=1, description="maximum number of notebooks to read per UTC day")
    top_kernels: int = Field(
        default=100, ge=1, description="number of top notebooks to read by votes, and the same number by score"
    )
    newest_kernels: int = Field(default=30, ge=0, description="number of further, recently run notebooks to read")
    max_missed_versions: int = Field(default=10, ge=0, description="maximum missed versions to read per notebook")
    search_pages: int = Field(default=2, ge=1, description="number of search result pages to read (100 results each)")
    top_size: int = Field(default=50, ge=1, le=200, description="number of top leaderboard teams to read")
