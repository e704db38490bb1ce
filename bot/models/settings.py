"""Which models answer, at which endpoint and under which limits: the environment, and `[models]` of bot.toml."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from bot.configuration import read_section
from bot.models.pricing import Price
from state.errors import UsageError

DUMMY_KEY = "none"
"""What is sent beside a configured address without a key: local servers want some key and check none."""


def _http_address(value: str) -> str:
    if not value.startswith(("http://", "https://")):
        raise ValueError("must start with http:// or https://")
    return value


Address = Annotated[str, AfterValidator(_http_address)]


class Environment(BaseSettings):
    """The variables that are read; the only place that a key comes from."""

    model_config = SettingsConfigDict(extra="ignore", frozen=True, env_ignore_empty=True, hide_input_in_errors=True)

    openai_base_url: Address | None = None
    openai_api_key: SecretStr | None = None
    openai_model: str | None = None

    @classmethod
    def read(cls) -> Self:
        """Read the process's environment and, under systemd, its credentials (files named as the variables).

        Raises:
            UsageError: the address is not one.
        """
        try:
            return cls(_secrets_dir=os.environ.get("CREDENTIALS_DIRECTORY"))
        except ValidationError as error:
            raise UsageError(f"OPENAI_BASE_URL: {error.errors()[0]['msg']}") from None


class ModelsSection(BaseModel):
    """The section `[models]` of bot.toml."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    base_url: Address | None = None
    """The endpoint's address; the variable OPENAI_BASE_URL goes before it."""
    model: str | None = None
    """The model of every role that `roles` does not name; the variable OPENAI_MODEL goes before it."""
    roles: dict[str, str] = {}
    """The model of a role, by the role's name."""
    prices: dict[str, Price] = {}
    """USD per million tokens, by the model's name."""
    timeout: float = Field(default=300.0, gt=0, allow_inf_nan=False)
    """Seconds that one request may take."""
    max_tokens: int | None = Field(default=None, gt=0)
    """Most tokens of one answer; not sent unless set."""
    retries: int = Field(default=5, ge=0, le=20)
    """How often a failed request is sent again."""


@dataclass(frozen=True)
class ModelChoice:
    """Who answers: the built-in model, a recording, or an endpoint's models."""

    kind: Literal["builtin", "openai", "recorded"]
    name: str | None = None
    """The model of every role that `roles` does not name."""
    roles: Mapping[str, str] | None = None
    folder: Path | None = None

    @property
    def spec(self) -> str:
        """The choice as it is written after `--model`."""
        if self.kind == "openai":
            return f"openai:{self.name}"
        return f"recorded:{self.folder}" if self.kind == "recorded" else "builtin"

    def model_for(self, role: str) -> str:
        """Return the name of the model that answers for a role."""
        return (self.roles or {}).get(role) or self.name or self.kind

    @property
    def models(self) -> tuple[str, ...]:
        """The names of all models that may be asked, each once."""
        names = [self.name or self.kind, *(self.roles or {}).values()]
        return tuple(dict.fromkeys(names))


@dataclass(frozen=True)
class ModelSettings:
    """All that is configured about models."""

    environment: Environment
    section: ModelsSection

    @property
    def base_url(self) -> str | None:
        """The endpoint's address; None is OpenAI's own."""
        return self.environment.openai_base_url or self.section.base_url

    @property
    def key(self) -> SecretStr:
        """The endpoint's key.

        Raises:
            UsageError: there is neither a key nor an address that may do without one.
        """
        if self.environment.openai_api_key is not None:
            return self.environment.openai_api_key
        if self.base_url is None:
            raise UsageError(
                "no model can be reached: set OPENAI_API_KEY (or OPENAI_BASE_URL for a server of yours), "
                "or use --model builtin"
            )
        return SecretStr(DUMMY_KEY)

    def resolve(self, spec: str | None) -> ModelChoice:
        """Return who answers.

        Args:
            spec: `builtin`, `openai:NAME` (NAME serves every role), `recorded:DIR`, or None: the configured models
                where a key is there (or an address and a model's name), else the built-in one.

        Raises:
            UsageError: the spec is none of these, names nothing, or its endpoint or folder is not there.
        """
        if spec is None:
            return self._configured()
        kind, _, rest = spec.partition(":")
        if spec == "builtin":
            return ModelChoice("builtin")
        if kind == "openai" and rest:
            _ = self.key
            return ModelChoice("openai", rest)
        if kind == "recorded" and rest:
            if not Path(rest).is_dir():
                raise UsageError(f"there is no folder {rest} with a recording")
            return ModelChoice("recorded", folder=Path(rest))
        raise UsageError(f"{spec!r} is not a model: use builtin, openai:NAME or recorded:DIR")

    def _configured(self) -> ModelChoice:
        name = self.environment.openai_model or self.section.model
        if self.environment.openai_api_key is None and (self.base_url is None or name is None):
            return ModelChoice("builtin")
        if name is None:
            raise UsageError(
                "there is a key, but no model's name: use --model openai:NAME, or set OPENAI_MODEL "
                "or `model` under [models] in bot.toml; --model builtin needs no key"
            )
        return ModelChoice("openai", name, dict(self.section.roles))


def load_settings(path: Path | None = None, environment: Environment | None = None) -> ModelSettings:
    """Read the settings.

    Args:
        path: a bot.toml; None means that there is none.
        environment: the variables; None means those of this process.

    Raises:
        UsageError: the file cannot be read, or holds an unknown or wrong key; the text names each.
    """
    section = read_section(path, "models", ModelsSection)
    return ModelSettings(environment or Environment.read(), section)
