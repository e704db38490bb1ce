"""Adding weights of the owner's choice: fetched as they come, then pinned."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

from pydantic import ValidationError

from bot.weights.catalog import Weights, add_own
from bot.weights.folder import WeightsFolder, fetch
from scrapers.http.download import Opener, Pin
from state.errors import UsageError

_ANY = Pin(1, "0" * 64)


async def add_weights(
    folder: WeightsFolder,
    open_: Opener,
    facts: Mapping[str, Any],
    sources: Sequence[str],
    progress: Callable[[str, int], None],
) -> Weights:
    """Fetch the files, take their hashes, and add them to the owner's list.

    Args:
        folder: Their folder.
        open_: Opens their addresses.
        facts: All fields of `Weights` except its files.
        sources: Addresses, or `FILE=ADDRESS`; without a name the address's last part is used.
        progress: Receives a file's name and its bytes so far.

    Raises:
        UsageError: the name is taken, or a fact or address is invalid.
        DownloadFailed: a file could not be fetched.
    """
    files = [_named(source) for source in sources]
    draft = _weights(facts, files, {name: _ANY for name, _ in files})
    if any(weights.name == draft.name for weights in folder.catalog):
        raise UsageError(f"{draft.name} is in the list already")
    target = folder.path / draft.name
    target.mkdir(parents=True, exist_ok=True)
    target.chmod(0o755)
    pins = {}
    for name, url in files:
        pins[name] = await fetch(open_, url, target / name, None, partial(progress, name))
    added = _weights(facts, files, pins)
    add_own(folder.path, added)
    for file in added.files:
        folder.mark_checked(added.name, file.name, file.sha256)
    return added


def _named(source: str) -> tuple[str, str]:
    name, separator, url = source.partition("=")
    if separator and "/" not in name:
        return name, url
    return PurePosixPath(urlsplit(source).path).name, source


def _weights(facts: Mapping[str, Any], files: Sequence[tuple[str, str]], pins: Mapping[str, Pin]) -> Weights:
    if len(pins) < len(files):
        raise UsageError("two files have the same name: give one as FILE=URL")
    pinned = [{"name": n, "url": url, "bytes": pins[n].bytes, "sha256": pins[n].sha256} for n, url in files]
    try:
        return Weights.model_validate({**facts, "files": pinned})
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
