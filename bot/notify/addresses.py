"""Addresses of services, which are secrets: where they are read from, and how they are masked."""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from pydantic import SecretStr

from state.errors import UsageError

_LONGEST = 4_096
_HIDDEN = "****"


def find_address(name: str, environment: Mapping[str, str] | None = None) -> SecretStr:
    """Return the address that is kept under a name: systemd's credential, else the variable, else the file in NAME_FILE.

    Args:
        name: such as SLACK_URL.
        environment: the variables; None: this process's.

    Raises:
        UsageError: there is none, or it is not an address; the message never quotes it.
    """
    variables = os.environ if environment is None else environment
    for text, source in _places(variables, name):
        text = text.strip()
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*://[^\s\x00-\x1f\x7f]+", text) or len(text) > _LONGEST:
            raise UsageError(f"{source} does not hold one address, such as slack://TOKEN/TOKEN/TOKEN or mailtos://…")
        return SecretStr(text)
    raise UsageError(
        f"[notify] services names {name}, and there is neither a systemd credential nor a variable of that name, "
        f"nor a file in {name}_FILE"
    )


def masked(address: SecretStr, shown: str) -> str:
    """Mask what is still secret in Apprise's own masked form of an address.

    Apprise hides what it knows to be secret; the path and parameters of a web hook may be secret too.

    Args:
        address: the address.
        shown: Apprise's own masked form of it.
    """
    shown = shown.split("?")[0]
    for secret in sorted(_secrets(address.get_secret_value()), key=len, reverse=True):
        shown = shown.replace(secret, _HIDDEN)
    return shown


def _secrets(address: str) -> set[str]:
    """Return all parts of an address that may be secret: everything but scheme, host, port and a mail's user."""
    parts = urlsplit(address)
    places, _, _ = parts.netloc.rpartition("@")
    found = {places.partition(":")[2], *parts.path.split("/"), parts.fragment}
    if ":" not in places:
        found.add(places)
    if not (parts.hostname or "").count("."):
        # What stands where a host would is often the first token.
        found.add(re.sub(r":\d+$", "", parts.netloc.rpartition("@")[2]))
    found |= {value for _, value in parse_qsl(parts.query, keep_blank_values=True)}
    return {one for part in found for one in (part, unquote(part)) if len(one) > 1 and one != "localhost"}


def _places(variables: Mapping[str, str], name: str) -> Iterator[tuple[str, str]]:
    if folder := variables.get("CREDENTIALS_DIRECTORY"):
        for file in (name, name.lower()):
            if text := _read(Path(folder) / file, f"the systemd credential {file}"):
                yield text, f"the systemd credential {file}"
    if text := variables.get(name, "").strip():
        yield text, f"the variable {name}"
    if path := variables.get(f"{name}_FILE", "").strip():
        if not Path(path).is_file():
            raise UsageError(f"{name}_FILE names a file that is not there")
        yield _read(Path(path), f"the file of {name}_FILE"), f"the file of {name}_FILE"


def _read(path: Path, source: str) -> str:
    """Return a file's text, empty if there is no file."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{source} cannot be read ({type(error).__name__})") from None
