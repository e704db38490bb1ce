"""The section `[kaggle]` of bot.toml, and the client that it describes."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from pydantic import BaseModel, ConfigDict, Field

from scrapers.kaggle.client import KAGGLE, KaggleClient, Patience, open_http
from scrapers.kaggle.credentials import Credentials, find_credentials
from scrapers.kaggle.pacing import Meter, Pace
from state.clock import Clock

__all__ = ["KaggleSection", "open_client"]


class KaggleSection(BaseModel):
    """Where Kaggle is, and how carefully it is asked; its key is never in a file of settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(default=KAGGLE, description="address of the interface; that of `bot rehearse` for a rehearsal")
    hosts: tuple[str, ...] = Field(
        default=(),
        description="hosts that the site may name for downloads and uploads, besides its own and Kaggle's storage",
        examples=[["storage.example"]],
    )
    pace: Pace = Field(default=Pace(), description="How often Kaggle is asked.")
    patience: Patience = Field(
        default=Patience(),
        description="How long an answer may take, in seconds, and how often a question is put again.",
    )


@asynccontextmanager
async def open_client(
    section: KaggleSection, clock: Clock, meter: Meter, credentials: Callable[[], Credentials] = find_credentials
) -> AsyncIterator[KaggleClient]:
    """Open a client; nothing is asked yet. Raises UsageError where the key would travel in the clear."""
    async with open_http(section.patience) as http:
        yield KaggleClient(
            http,
            credentials,
            clock,
            meter,
            url=section.url,
            hosts=section.hosts,
            pace=section.pace,
            patience=section.patience,
        )
