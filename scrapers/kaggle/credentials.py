"""Kaggle credentials: found where people keep them, and shown only to Kaggle."""

import base64
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from state.errors import UsageError

_TOKEN = "KAGGLE_API_TOKEN"  # noqa: S105 - the name of a variable
_USER_AND_KEY = "KAGGLE_USERNAME and KAGGLE_KEY"
_EARLY = timedelta(minutes=10)
"""Time before its end at which a token is renewed."""
_KEY_HINT = (
    "put a token (kaggle.com/settings/api) in the variable KAGGLE_API_TOKEN, the systemd credential of that name, or "
    "~/.kaggle/access_token"
)


@dataclass(frozen=True)
class Credentials:
    """An API token, or a user's name and legacy key."""

    secret: str = field(repr=False)
    user: str | None = None
    """For a legacy key only; a token names nobody."""
    source: str = "given"
    """Where it was found, for the doctor."""
    refresh: str | None = field(default=None, repr=False)
    """What renews a token that expires; only tokens of `kaggle auth login` have one."""
    expires_at: datetime | None = None
    """When such a token expires; None: it never does, or is to be renewed at once."""

    def __post_init__(self) -> None:
        """Refuse what cannot be sent in a header."""
        for part in (self.secret, self.user or "x", self.refresh or "x"):
            if not (part and part.isascii() and part.isprintable() and " " not in part):
                raise UsageError(f"Invalid Kaggle key in {self.source}: {_KEY_HINT}.")

    @property
    def authorization(self) -> str:
        """The header's value."""
        if self.user is None:
            return f"Bearer {self.secret}"
        return "Basic " + base64.b64encode(f"{self.user}:{self.secret}".encode()).decode()

    def is_expiring(self, now: datetime) -> bool:
        """Return whether it must be renewed first."""
        return self.refresh is not None and (self.expires_at is None or now >= self.expires_at - _EARLY)

    def renewed(self, token: str, now: datetime, seconds: int) -> "Credentials":
        """Return it with a new token; it is kept in memory only. Raises UsageError if that cannot be one."""
        return replace(self, secret=token, expires_at=now + timedelta(seconds=seconds))

    @property
    def account(self) -> str:
        """An identifier of the account: the user's name, or a hash of the token, which names nobody."""
        return self.user or hashlib.sha256((self.refresh or self.secret).encode()).hexdigest()

    @property
    def variables(self) -> str | None:
        """The variables that name it, which other processes need, too; None: it is in a file that they find as well."""
        if self.source == _USER_AND_KEY:
            return _USER_AND_KEY
        return _TOKEN if self.source in (_TOKEN, f"the file of {_TOKEN}") else None

    def hide(self, text: str) -> str:
        """Return the text without the secret, should it hold it."""
        for secret in filter(None, (self.secret, self.authorization, self.refresh)):
            text = text.replace(secret, "[the key]")
        return text


def find_credentials(environment: Mapping[str, str] | None = None, home: Path | None = None) -> Credentials:
    """Find them in systemd's credentials, else the environment, else the usual files, tokens before legacy keys in each.

    Raises UsageError: there are none, or they cannot be valid; the text states what to do.
    """
    variables = os.environ if environment is None else environment
    for credentials in _places(variables, home or Path(variables.get("HOME") or Path.home())):
        return credentials
    raise UsageError(f"No Kaggle key: {_KEY_HINT}.")


def _places(variables: Mapping[str, str], home: Path) -> Iterator[Credentials]:
    if folder := variables.get("CREDENTIALS_DIRECTORY"):
        for name in (_TOKEN, _TOKEN.lower()):
            yield from _token_file(Path(folder) / name, f"the systemd credential {name}")
        for name in ("kaggle.json", "KAGGLE_JSON"):
            yield from _legacy_file(Path(folder) / name, f"the systemd credential {name}")
    if value := variables.get(_TOKEN, "").strip():
        # As the kaggle package has it: a value, or a path.
        yield from _token_file(Path(value), f"the file of {_TOKEN}") if os.sep in value else ()
        if os.sep not in value:
            yield Credentials(value, source=_TOKEN)
    user, key = variables.get("KAGGLE_USERNAME", "").strip(), variables.get("KAGGLE_KEY", "").strip()
    if user and key:
        yield Credentials(key, user, _USER_AND_KEY)
    for name in ("access_token", "access_token.txt"):
        yield from _token_file(home / ".kaggle" / name, f"~/.kaggle/{name}")
    configured = variables.get("KAGGLE_CONFIG_DIR")
    for place in (*([Path(configured)] if configured else []), home / ".kaggle", home / ".config" / "kaggle"):
        yield from _legacy_file(place / "kaggle.json", "kaggle.json")
    yield from _login_file(home / ".kaggle" / "credentials.json", "~/.kaggle/credentials.json")


def _token_file(path: Path, source: str) -> Iterator[Credentials]:
    if text := _read(path, source).strip():
        yield Credentials(text, source=source)


def _legacy_file(path: Path, source: str) -> Iterator[Credentials]:
    if not (text := _read(path, source)):
        return
    try:
        content = json.loads(text)
        yield Credentials(str(content["key"]), str(content["username"]), source)
    except (ValueError, KeyError, TypeError):
        raise UsageError(f"No valid Kaggle key in {source}: {_KEY_HINT}.") from None


def _login_file(path: Path, source: str) -> Iterator[Credentials]:
    """Read what `kaggle auth login` leaves: a token that expires after hours, and what renews it."""
    if not (text := _read(path, source)):
        return
    try:
        content = json.loads(text)
        refresh, until = str(content["refresh_token"]), str(content.get("access_token_expiration") or "")
        token, expires = str(content.get("access_token") or refresh), datetime.fromisoformat(until) if until else None
        if expires is not None and expires.tzinfo is None:
            expires = expires.replace(tzinfo=UTC)
        # Without a token what renews it stands in its place, and is never sent as one: it is renewed first.
        yield Credentials(token, source=source, refresh=refresh, expires_at=expires if token != refresh else None)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise UsageError(f"No valid Kaggle key in {source}: run `kaggle auth login` again, or {_KEY_HINT}.") from None


def _read(path: Path, source: str) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{source} cannot be read ({type(error).__name__}).") from None
