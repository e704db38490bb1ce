"""The process's own secrets: all values given to it that must not appear in its output."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, unquote, urlsplit

from bot.configuration.secret_texts import SECRET_NAME, SECRET_PATTERNS
from scrapers.kaggle.credentials import find_credentials
from state.errors import UsageError
from state.redaction import SHORTEST, Redactor, can_be_secret

if TYPE_CHECKING:
    from bot.configuration import Settings

_LONGEST_FILE = 64_000


def open_redactor(settings: "Settings", environment: Mapping[str, str] | None = None) -> Redactor:
    """Return the redactor of the process's secrets, and of whatever looks like one."""
    return Redactor(collect_secrets(settings, environment), SECRET_PATTERNS)


def collect_secrets(
    settings: "Settings", environment: Mapping[str, str] | None = None, home: Path | None = None
) -> dict[str, str]:
    """Return all secrets given to the process, each with the name of its variable or its other source.

    They are the values of variables that are named like secrets, or that the configuration names (models' keys, addresses of
    services), the content of their files, systemd's credentials, Kaggle's key, and passwords and tokens in addresses, without
    unreadable values and those that cannot be secrets (see `can_be_secret`).
    """
    variables = os.environ if environment is None else environment
    name_of: dict[str, str] = {}
    for name, value in (*_variables(settings, variables), *_credentials(variables), *_of_kaggle(variables, home)):
        for part in (value, value.strip(), *_lines(value), *_of_address(value.strip())):
            name_of.setdefault(part, name)
    for name, value in variables.items():
        # A password in the address of a proxy, or of an endpoint, whatever the variable is called.
        for match in re.finditer(r"://[^\s/:@]{0,256}:([^\s/@]{1,256})@", value):
            name_of.setdefault(match[1], name)
            name_of.setdefault(unquote(match[1]), name)
    return {secret: name for secret, name in sorted(name_of.items()) if can_be_secret(secret)}


def _variables(settings: "Settings", variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    configured = {*settings.notify.services, *(f.key for f in settings.models.fallback if f.key)}
    for name, value in variables.items():
        if name.removesuffix("_FILE") in configured and name.endswith("_FILE"):
            yield name, _file(Path(value))
        elif (name in configured or SECRET_NAME.search(name)) and value.strip():
            # Some variables name the file that holds the secret.
            is_file = False
            with suppress(OSError):  # too long for a name
                is_file = os.sep in value and Path(value).is_file()
            yield name, _file(Path(value)) if is_file else value


def _credentials(variables: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    if folder := variables.get("CREDENTIALS_DIRECTORY"):
        with suppress(OSError):
            for file in sorted(Path(folder).iterdir()):
                yield f"the systemd credential {file.name}", _file(file)


def _of_kaggle(variables: Mapping[str, str], home: Path | None) -> Iterator[tuple[str, str]]:
    try:
        credentials = find_credentials(variables, home)
    except UsageError:
        return
    yield credentials.source, credentials.secret
    if credentials.refresh is not None:
        yield credentials.source, credentials.refresh


def _of_address(value: str) -> Iterator[str]:
    """Yield the parts of an address that grant access."""
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", value):
        return
    try:
        parts = urlsplit(value)
        host = (parts.hostname and parts.netloc.rpartition("@")[2]) or ""
    except ValueError:
        return
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    parameters = [g for name, g in parse_qsl(parts.query) if SECRET_NAME.search(name) or name == "auth"]
    yield from (password, unquote(password), *parameters)
    # The host is often the first token; a user without a password may be one, too.
    places = [*parts.path.split("/"), parts.fragment, "" if password else user, "" if "." in host else host]
    for place in places:
        yield from (place, unquote(place))


def _lines(value: str) -> list[str]:
    """Return the lines of a multi-line secret, such as a private key, which may be shown one by one."""
    lines = [line.strip() for line in value.strip().splitlines()]
    long_lines = [line for line in lines if len(line) >= 2 * SHORTEST and not line.startswith("-----")]
    return long_lines if len(lines) > 1 else []


def _file(path: Path) -> str:
    """Return a file's content, empty if it cannot be read."""
    try:
        with path.open(encoding="utf-8") as file:
            return file.read(_LONGEST_FILE)
    except (OSError, UnicodeDecodeError, ValueError):
        return ""
