"""Settings of reading a community."""

from pydantic import Field

from state.closed import ClosedModel


class ReadingSettings(ClosedModel):
    """How much of a community is read; tokens are those of prompts and answers together, estimated."""

    share: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="most of a run's time, and of its new tokens, that reading posts, ideas and plans may take together",
    )
    first_tokens: int = Field(
        default=8_000,
        ge=0,
        description="tokens of the first batch, and of each look at news; in a short run as few as `share` allows",
    )
    growth: float = Field(
        default=2.0, ge=1, description="a batch is so much larger than the one before it if reading pays, else smaller"
    )
    most_tokens: int = Field(default=90_000, ge=0, description="tokens of all batches of a run, news apart")
    document_characters: int = Field(
        default=3_500, ge=500, description="characters of one document that a prompt shows"
    )
    shown_analyses: int = Field(default=40, ge=1, description="analyses that one prompt for ideas shows")
    shown_ideas: int = Field(default=60, ge=1, description="ideas that one prompt shows, best supported first")
    shown_reports: int = Field(
        default=10, ge=1, description="reports that one prompt shows: the best, and the last failures"
    )
