"""Settings of reading a community."""

from pydantic import Field

from state.closed import ClosedModel


class ReadingSettings(ClosedModel):
    """How much of a community is read; tokens are those of prompts and answers together, estimated."""

    share: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="maximum share of a run's time, and of its new tokens, for reading posts, ideas and plans",
    )
    first_tokens: int = Field(
        default=8_000,
        ge=0,
        description="tokens of the first batch and of each batch of new posts; fewer in a short run, as `share` allows",
    )
    growth: float = Field(
        default=2.0,
        ge=1,
        description="factor by which the next batch is larger if the last one was useful, else smaller",
    )
    most_tokens: int = Field(
        default=90_000, ge=0, description="maximum number of tokens of all batches of a run, apart from new posts"
    )
    document_characters: int = Field(default=3_500, ge=500, description="characters of one document in a prompt")
    shown_analyses: int = Field(default=40, ge=1, description="analyses in a prompt for ideas")
    shown_ideas: int = Field(default=60, ge=1, description="ideas in a prompt, best supported first")
    shown_reports: int = Field(default=10, ge=1, description="reports in a prompt: the best, and the last failures")
