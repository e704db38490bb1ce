"""Reading a TOML file of settings, such as a bot.toml, with all of its mistakes reported together."""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from bot.agents.settings import RunOptions
from bot.configuration.competition import CompetitionSettings
from bot.configuration.contradictions import contradictions
from bot.configuration.fields import name_of
from bot.configuration.lines import KeyPath, Lines, scan
from bot.configuration.mistakes import Mistake, TomlFile, invalid
from bot.configuration.secret_texts import Secret, find_secrets, masked
from bot.configuration.settings import Settings
from state.errors import ConfigurationError
from state.settings_paths import FOLDER

ModelT = TypeVar("ModelT", bound=BaseModel)

_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


@dataclass(frozen=True)
class Configuration:
    """The settings, and their lines in the file."""

    file: Path | None
    settings: Settings
    lines: Lines
    """The lines of the file's content; empty without a file."""


def read_settings(file: Path | None) -> Settings:
    """Return the settings in a bot.toml; errors as of `read_configuration`."""
    return read_configuration(file).settings


def read_configuration(file: Path | None) -> Configuration:
    """Read a bot.toml.

    Without a file all settings have their defaults.

    Raises:
        ConfigurationError: it cannot be read, or something in it is wrong; the error holds every mistake.
    """
    if file is None:
        return Configuration(None, Settings(), Lines({}))
    settings, lines = read_toml(file, Settings, contradictions)
    of_all = settings.run.model_dump(exclude_unset=True, include=set(RunOptions.model_fields))
    competitions = {
        slug: CompetitionSettings.model_validate(merge(of_all, of_competition.model_dump(exclude_unset=True)))
        for slug, of_competition in settings.competitions.items()
    }
    return Configuration(file, settings.model_copy(update={"competitions": competitions}), lines)


def merge(*tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return one table of several: later ones take precedence, key by key, in inner tables too."""
    merged: dict[str, Any] = {}
    for table in tables:
        for key, value in table.items():
            merged_value = merged.get(key)
            if isinstance(value, Mapping) and isinstance(merged_value, Mapping):
                value = merge(merged_value, value)
            merged[key] = value
    return merged


def read_toml(
    file: Path, model: type[ModelT], check_together: Callable[[ModelT], Iterable[tuple[KeyPath, str]]]
) -> tuple[ModelT, Lines]:
    """Read a TOML file as a model; return it with its lines.

    Relative paths in it start at its folder. `check_together` returns the key of each contradiction between valid keys, and
    the rest of a sentence that begins with that key.

    Raises:
        ConfigurationError: it cannot be read, or something in it is wrong; the error holds every mistake.
    """
    text = _text(file)
    lines = scan(text)
    toml = TomlFile(file, lines)
    # Secrets are reported wherever they are, even in comments and in invalid TOML.
    keys = {line: path for path, line in lines.line_of.items()}
    mistakes = [
        _secret(file, number, keys.get(number, ()), secret)
        for number, line in enumerate(text.split("\n"), 1)
        for secret in find_secrets(line)
    ]
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigurationError(_sorted([*mistakes, _syntax(file, text, error)])) from None
    mistakes += _hidden_secrets(content, toml, text)
    settings, validation_mistakes = _validated(content, toml, model, check_together)
    # Mistakes with secrets are reported already.
    secret = {m.line for m in mistakes if m.kind == "secret"}
    mistakes += [m for m in validation_mistakes if m.kind == "unknown" or m.line not in secret]
    if mistakes or settings is None:
        raise ConfigurationError(_sorted(mistakes))
    return settings, lines


def _text(file: Path) -> str:
    try:
        content = file.read_bytes()
    except OSError as error:
        sentence = f"cannot be read: {error.strerror or error}"
        raise ConfigurationError([Mistake(str(file), None, sentence, "unreadable")]) from error
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ConfigurationError([Mistake(str(file), line, "must be UTF-8 text", "unreadable")]) from None


def _syntax(file: Path, text: str, error: Exception) -> Mistake:
    if isinstance(error, RecursionError):
        return Mistake(str(file), None, "is nested too deeply", "syntax")
    message = masked(str(error))
    place = _PLACE.search(message)
    at_end = len(text.split("\n")), len(text.rsplit("\n", 1)[-1]) + 1
    line, column = (int(place[1]), int(place[2])) if place and place[1] else at_end
    return Mistake(str(file), line, f"column {column}: invalid TOML: {_PLACE.sub('', message)}", "syntax")


def _hidden_secrets(content: object, toml: TomlFile, text: str, path: KeyPath = ()) -> Iterator[Mistake]:
    """Find secrets that are visible only when the text's escapes are resolved."""
    if isinstance(content, str):
        for secret in find_secrets(content):
            if secret.text not in text:
                yield _secret(toml.file, toml.lines.line(path), path, secret)
    elif isinstance(content, Mapping):
        for key, value in content.items():
            yield from _hidden_secrets(key, toml, text, (*path, key))
            yield from _hidden_secrets(value, toml, text, (*path, key))
    elif isinstance(content, list):
        for number, value in enumerate(content):
            yield from _hidden_secrets(value, toml, text, (*path, number))


def _secret(file: Path, line: int | None, path: KeyPath, secret: Secret) -> Mistake:
    key = masked(name_of(path)) or None
    beginning = f"{key} contains" if key else "this line contains"
    sentence = f"{beginning} {secret.kind}; secrets do not belong in this file: move it to {secret.place}"
    return Mistake(str(file), line, sentence, "secret", key)


def _validated(
    content: dict[str, Any],
    toml: TomlFile,
    model: type[ModelT],
    check_together: Callable[[ModelT], Iterable[tuple[KeyPath, str]]],
) -> tuple[ModelT | None, list[Mistake]]:
    """Return the settings of all valid tables, and all mistakes; no settings if a required key is wrong."""
    mistakes: list[Mistake] = []
    folder = toml.file.absolute().parent
    settings: ModelT | None
    try:
        settings = _settings(content, folder, model)
    except ValidationError as error:
        errors = error.errors(include_url=False)
        mistakes += invalid(errors, toml, model)
        wrong = {e["loc"][0] for e in errors}
        try:
            settings = _settings({name: table for name, table in content.items() if name not in wrong}, folder, model)
        except ValidationError:
            settings = None
    if settings is not None:
        mistakes += [toml.mistake("together", path, sentence) for path, sentence in check_together(settings)]
    return settings, mistakes


def _settings(content: dict[str, Any], folder: Path, model: type[ModelT]) -> ModelT:
    # As JSON, for pydantic's strict mode of JSON: no text for a number, but lists, paths and times, TOML's only other values.
    text = json.dumps(content, default=lambda time: time.isoformat())
    return model.model_validate_json(text, strict=True, context={FOLDER: folder})


def _sorted(mistakes: list[Mistake]) -> list[Mistake]:
    return sorted(mistakes, key=lambda m: (m.line or 0, m.key or ""))
