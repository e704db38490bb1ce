"""Which models answer, at which endpoint and under which limits: the environment, and `[models]` of bot.toml."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, SecretStr, ValidationError, create_model
from pydantic_settings import BaseSettings, SettingsConfigDict

from bot.models.pricing import Pricing
from bot.models.sections import Address, ModelsSection, is_almost_built_in
from state.errors import UsageError
from state.words import did_you_mean

DUMMY_KEY = "none"
"""Sent where an address is configured without a key: local servers require some key, and check none."""


def _sendable(key: SecretStr) -> SecretStr:
    """Return the key without the line end that a file or a shell left on it."""
    value = key.get_secret_value().strip()
    if not (value and value.isascii() and value.isprintable()):
        raise ValueError("is empty or contains invalid characters")
    return SecretStr(value)


Key = Annotated[SecretStr, AfterValidator(_sendable)]
OptionalKey = Annotated[Key | None, BeforeValidator(lambda value: None if value == "" else value)]
"""None for an empty credential file too: the service loads the usual names, filled or not."""


class _Variables(BaseSettings):
    model_config = SettingsConfigDict(extra="ignore", frozen=True, env_ignore_empty=True, hide_input_in_errors=True)


VariablesT = TypeVar("VariablesT", bound=_Variables)


class Environment(_Variables):
    """The environment variables and credentials that are read; keys come from nowhere else."""

    openai_base_url: Address | None = None
    openai_api_key: OptionalKey = None
    openai_model: str | None = None

    @classmethod
    def read(cls) -> Self:
        """Read the process's environment and, under systemd, its credentials (files named as the variables).

        Raises UsageError: the address or the key is invalid.
        """
        return _read(cls)

    def key(self, name: str) -> SecretStr | None:
        """Return the key in a variable, or in systemd's credential of that name; None: there is neither.

        Raises UsageError: its value cannot be a key.
        """
        if name == "OPENAI_API_KEY":
            return self.openai_api_key
        field: Any = (OptionalKey, Field(default=None, validation_alias=name))
        return getattr(_read(create_model("Variable", __base__=_Variables, value=field)), "value", None)


def _read(variables: type[VariablesT]) -> VariablesT:
    try:
        return variables(_secrets_dir=os.environ.get("CREDENTIALS_DIRECTORY"))
    except ValidationError as error:
        wrong = error.errors()[0]
        raise UsageError(f"{str(wrong['loc'][0]).upper()}: {wrong['msg']}") from None


@dataclass(frozen=True)
class ModelChoice:
    """The chosen model: the built-in one, a recording, or an endpoint's models."""

    kind: Literal["builtin", "openai", "recorded"]
    name: str | None = None
    """The model of every role that `roles` does not name."""
    roles: Mapping[str, str] | None = None
    folder: Path | None = None

    @property
    def spec(self) -> str:
        """The choice as the value of `--model`."""
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
        """The endpoint's key. Raises UsageError: there is neither a key nor an address that may work without one."""
        if self.environment.openai_api_key is not None:
            return self.environment.openai_api_key
        if self.base_url is None:
            raise UsageError(
                "no model is configured: set OPENAI_API_KEY (or OPENAI_BASE_URL for your own server), "
                "or use --model builtin"
            )
        return SecretStr(DUMMY_KEY)

    def choice_at(self, choice: ModelChoice, number: int) -> ModelChoice:
        """Return the models at an endpoint: the chosen ones at the first (0), its own at the n-th fallback."""
        if number == 0:
            return choice
        fallback = self.section.fallback[number - 1]
        if fallback.model is None:
            return ModelChoice("openai", choice.name, {**(choice.roles or {}), **fallback.roles})
        return ModelChoice("openai", fallback.model, dict(fallback.roles))

    def pricing_at(self, number: int) -> Pricing:
        """Return the prices at the first endpoint (0), or at the n-th fallback."""
        fallback = self.section.fallback[number - 1] if number else None
        address = self.base_url if fallback is None or fallback.base_url is None else fallback.base_url
        return Pricing({**self.section.prices, **(fallback.prices if fallback else {})}, base_url=address)

    def key_at(self, number: int) -> SecretStr:
        """Return the key of the first endpoint (0), or of the n-th fallback.

        Raises UsageError: the variable named for it holds none.
        """
        if number == 0:
            return self.key
        fallback = self.section.fallback[number - 1]
        if fallback.key is None:
            return self.key if fallback.base_url is None else SecretStr(DUMMY_KEY)
        key = self.environment.key(fallback.key)
        if key is None:
            raise UsageError(
                f"fallback {number} under [models] reads its key from {fallback.key}, which is not set: set it, or remove that "
                "[[models.fallback]] from bot.toml"
            )
        return key

    def resolve(self, spec: str | None) -> ModelChoice:
        """Return the model that a `--model` option names, or the configured one.

        Args:
            spec: `builtin`, `openai:NAME` (NAME serves every role), `recorded:DIR`, or None: the configured models
                where a key is there (or an address and a model's name), else the built-in one.

        Raises:
            UsageError: the spec is none of these, names nothing, or its endpoint, a fallback's key or its folder is
                missing.
        """
        choice = self._configured() if spec is None else self._named(spec)
        if choice.kind == "openai":
            for number in range(1, len(self.section.fallback) + 1):
                _ = self.key_at(number)
        return choice

    def _named(self, spec: str) -> ModelChoice:
        kind, _, model_name = spec.partition(":")
        if spec == "builtin":
            return ModelChoice("builtin")
        if kind == "openai" and model_name:
            _ = self.key
            return ModelChoice("openai", model_name)
        if kind == "recorded" and model_name:
            if not Path(model_name).is_dir():
                raise UsageError(f"recording not found: {model_name}")
            return ModelChoice("recorded", folder=Path(model_name))
        hint = " (did you mean builtin?)" if is_almost_built_in(spec) else ""
        if not hint and model_name:
            hint = f" ({did_you_mean(kind, ('openai', 'recorded'))})"
        raise UsageError(f"unknown model {spec!r}{hint}: use builtin, openai:NAME or recorded:DIR")

    def _configured(self) -> ModelChoice:
        name = self.environment.openai_model or self.section.model
        if self.environment.openai_api_key is None and (self.base_url is None or name is None):
            if self.section.fallback:
                raise UsageError(
                    "fallback endpoints are configured, but no first endpoint: set OPENAI_API_KEY, or base_url and model "
                    "under [models] in bot.toml; --model builtin needs neither"
                )
            return ModelChoice("builtin")
        if name is None:
            raise UsageError(
                "a key is set, but no model: use --model openai:NAME, or set OPENAI_MODEL "
                "or `model` under [models] in bot.toml; --model builtin needs no key"
            )
        return ModelChoice("openai", name, dict(self.section.roles))
