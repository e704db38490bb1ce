"""The table `[models]` of bot.toml: which models answer, at which endpoints, at what price and under which limits."""

import difflib
import re
from typing import Annotated, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from bot.models.pricing import Price
from state.closed_model import ClosedModel


def _http_address(value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ValueError("must start with http:// or https://")
    try:
        parts = urlsplit(value)
        if not parts.hostname or parts.port == 0:
            raise ValueError
    except ValueError:
        raise ValueError("must contain a host; a port, if given, must be from 1 to 65535") from None
    return value


def _variable(value: str) -> str:
    if not re.fullmatch(r"[A-Z][A-Z0-9_]{0,63}", value):
        raise ValueError(
            "must be the name of an environment variable such as OTHER_API_KEY; keys do not belong in this file"
        )
    return value


Address = Annotated[str, AfterValidator(_http_address)]


def is_almost_built_in(model: str) -> bool:
    """Return whether a model's name is a misspelling of `builtin`."""
    return model != "builtin" and bool(
        difflib.get_close_matches(model.lower().replace("-", "").replace("_", ""), ["builtin"], 1, 0.8)
    )


def _role(name: str) -> str:
    if name not in ROLES:
        similar = difflib.get_close_matches(name, ROLES, 1)
        raise ValueError(
            f"is not a role; did you mean {similar[0]}?"
            if similar
            else f"is not a role; valid roles: {', '.join(ROLES)}"
        )
    return name


ROLES = (
    "analyst", "proposer", "coordinator", "coder", "retriever", "reviewer", "reporter", "planner", "improver", "analyzer",
    "verifier",
)  # fmt: skip
"""The roles in which models are asked."""
Roles = dict[Annotated[str, AfterValidator(_role)], str]
Prices = dict[str, Price]


class FallbackSection(ClosedModel):
    """One table `[[models.fallback]]` of bot.toml: an endpoint that is asked when those before it do not answer."""

    base_url: Address | None = Field(
        default=None, description="endpoint address (default: the first endpoint, with its key unless `key` is set)"
    )
    key: Annotated[str, AfterValidator(_variable)] | None = Field(
        default=None,
        description="environment variable or systemd credential that holds the key (default: no key is sent)",
    )
    model: str | None = Field(
        default=None, description="model for all roles not listed in `roles` (default: same as the first endpoint)"
    )
    roles: Roles = Field(default={}, description="model by role")
    prices: Prices = Field(
        default={}, description="prices by model, in USD per million tokens; they override those in [models]"
    )
    timeout: float | None = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="maximum pause within an answer, in seconds (default: the value in [models])",
    )
    retries: int | None = Field(
        default=None,
        ge=0,
        le=20,
        description="maximum number of retries of a failed request (default: the value in [models])",
    )

    @model_validator(mode="after")
    def _is_another(self) -> Self:
        if self.base_url is None and self.key is None and self.model is None and not self.roles:
            raise ValueError("repeats the first endpoint: set a different base_url, key, model or roles")
        return self


class ModelsSection(ClosedModel):
    """The section `[models]` of bot.toml."""

    base_url: Address | None = Field(
        default=None,
        description="endpoint address; the environment variable OPENAI_BASE_URL overrides it (default: OpenAI)",
        examples=["http://localhost:8000/v1"],
    )
    model: str | None = Field(
        default=None,
        description="model for all roles not listed in `roles`; the environment variable OPENAI_MODEL overrides it",
        examples=["large"],
    )
    roles: Roles = Field(default={}, description=f"model by role: {', '.join(ROLES)}", examples=[{"analyst": "small"}])
    prices: Prices = Field(
        default={},
        description="prices by model, in USD per million tokens; they override the list prices",
        examples=[{"large": {"input": 2.0, "output": 8.0, "cached": 0.5}, "small": {"input": 0.2, "output": 0.8}}],
    )
    timeout: float = Field(
        default=300.0,
        gt=0,
        allow_inf_nan=False,
        description="maximum pause within an answer, in seconds; a streamed answer may take longer in total",
    )
    max_tokens: int | None = Field(
        default=None, gt=0, description="maximum number of tokens in an answer (default: not sent)", examples=[16_000]
    )
    retries: int = Field(default=5, ge=0, le=20, description="maximum number of retries of a failed request")
    in_flight: int = Field(default=8, ge=1, description="maximum number of concurrent calls in a run")
    fallback: tuple[FallbackSection, ...] = Field(
        default=(),
        description="endpoints to try in order if the first does not answer; each has a table [[models.fallback]]",
        examples=[[{"base_url": "https://other.example/v1", "key": "OTHER_API_KEY", "model": "large"}]],
    )
    builtin_last: bool = Field(default=False, description="use the built-in model when no endpoint answers")
