"""Settings of reading a community."""

from pydantic import BaseModel, ConfigDict, Field

NEWEST_POSTS = 10
"""Newest posts that are analysed at each look where posts come in mid-run, whatever their votes: what is new has none yet."""


class ReadingSettings(BaseModel):
    """How much of a community is read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kernels: int = Field(default=20, ge=0, description="kernels analysed a run: half by score, half by votes")
    messages: int = Field(default=40, ge=0, description="messages analysed a run, most voted first")
    newest: int = Field(
        default=0, ge=0, description="newest posts that are analysed at each look, besides those: for a live run"
    )
    post_characters: int = Field(default=12_000, ge=500, description="characters of one post that a prompt shows")
    shown_analyses: int = Field(default=40, ge=1, description="analyses that one prompt for ideas shows")
    shown_ideas: int = Field(default=60, ge=1, description="ideas that one prompt shows, best supported first")
    shown_reports: int = Field(
        default=10, ge=1, description="reports that one prompt shows: the best, and the last failures"
    )
