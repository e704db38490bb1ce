"""Settings of reading a community."""

from pydantic import Field

from state.closed_model import ClosedModel


class ReadingSettings(ClosedModel):
    """How much of a community is read; tokens are those of prompts and answers together, estimated."""

    share: float = Field(
        default=0.1,
        ge=0,
        le=1,
        description="maximum share of a run's time and new tokens spent on reading, ideas and plans; 1 (comind-paper): no limit",
    )
    first_tokens: int = Field(
        default=8_000,
        ge=0,
        description="number of tokens in the first batch and in each batch of new posts; fewer in a short run, to stay within "
        "`share`",
    )
    growth: float = Field(
        default=2.0,
        ge=1,
        description="factor by which the next batch grows after a useful batch and shrinks after a useless one",
    )
    most_tokens: int = Field(
        default=90_000, ge=0, description="maximum number of tokens in all batches of a run, not counting new posts"
    )
    document_characters: int = Field(default=3_500, ge=500, description="maximum characters per document in a prompt")
    shown_analyses: int = Field(default=40, ge=1, description="maximum number of analyses in a prompt for ideas")
    shown_ideas: int = Field(default=60, ge=1, description="maximum number of ideas in a prompt, best supported first")
    shown_reports: int = Field(
        default=10, ge=1, description="maximum number of reports in a prompt: the best ones and the latest failures"
    )
