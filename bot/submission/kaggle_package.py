"""The submitter that sends with the `kaggle` package: in a process of its own, with its own home, for a limited time."""

import asyncio
import json
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bot.submission import Quota
from bot.submission.kaggle import KaggleSubmitter, refusal
from scrapers.kaggle.credentials import Credentials
from scrapers.kaggle.failures import failure
from scrapers.kaggle.settings import KAGGLE
from state.errors import KaggleError, NotSent, SiteUnavailable, UsageError

__all__ = ["PackageSubmitter"]

_CHILD = "bot.submission.kaggle_child"
_LARGEST_RESULT = 200_000
_PROXY_PORT_PATH = "http://{host}:{port}"


class PackageSubmitter:
    """Submits files with the unmodified `kaggle` package; all else is asked by our own client. A `Submitter`.

    The package has no time-outs, prints, and may end its process, so it never runs in ours.
    """

    def __init__(self, ours: KaggleSubmitter, credentials: Credentials, *, seconds: float = 600.0) -> None:
        """Set it up.

        Args:
            ours: asks Kaggle for the quota, for what it has, and for scores.
            credentials: the key that the package is given.
            seconds: after which it is killed.

        Raises:
            UsageError: the package cannot be led to this site.
        """
        self._ours = ours
        self._credentials = credentials
        self._seconds = seconds
        self._site = _environment_of_site(ours.client.url)

    async def quota(self) -> Quota:
        """Return what Kaggle still takes; see `KaggleSubmitter.quota`."""
        return await self._ours.quota()

    async def find(self, tag: str) -> str | None:
        """Return Kaggle's number of what was submitted under a tag."""
        return await self._ours.find(tag)

    async def score(self, ref: str) -> float | None:
        """Return the public score; see `Submitter.score`."""
        return await self._ours.score(ref)

    async def submit(self, file: Path, tag: str) -> str:
        """Send a file; see `Submitter.submit`. It is confirmed by our own client."""
        await self._ours.ensure_open()
        with self._home(file) as (home, copy):
            told = await self._sent(home, {"file": str(copy), "tag": tag, "competition": self._ours.slug})
        if told is None:
            raise SiteUnavailable("the kaggle package ended without saying what came of it")
        if "status" in told:
            error = failure(told["status"], told["body"], method="the kaggle package", subject=self._ours.slug)
            raise refusal(error) if isinstance(error, KaggleError | NotSent) else error
        if not isinstance(told.get("ref"), int) or told["ref"] <= 0:
            raise SiteUnavailable(f"the kaggle package says: {str(told.get('message'))[:300]}")
        return await self._ours.confirmed(told["ref"], tag)

    async def _sent(self, home: Path, order: Mapping[str, str]) -> dict[str, Any] | None:
        """Let the child send, and return its result; none where it has none, as after it was killed for its time."""
        result, result_end = os.pipe()
        try:
            child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", _CHILD, json.dumps({**order, "parent": os.getpid(), "to": result_end})),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.DEVNULL,  # where it prints warnings, page tokens and worse
                stderr=asyncio.subprocess.DEVNULL,
                env=self._environment(home),
                cwd=home,
                pass_fds=(result_end,),
                start_new_session=True,
            )
        except OSError as error:
            os.close(result)
            raise NotSent(f"nothing was sent: the kaggle package could not be started: {error}") from error
        finally:
            os.close(result_end)
        try:
            async with asyncio.timeout(self._seconds):
                await child.wait()
        except TimeoutError:
            raise SiteUnavailable(f"the kaggle package was killed after {self._seconds:g} s") from None
        finally:
            if child.returncode is None:
                os.killpg(child.pid, signal.SIGKILL)
                await child.wait()
            told = _read(result)
        return told

    @contextmanager
    def _home(self, file: Path) -> Iterator[tuple[Path, Path]]:
        """Make the package's home, and in it the file under the name that the competition wants."""
        try:
            home = Path(tempfile.mkdtemp(prefix="bot-kaggle-"))
        except OSError as error:
            raise NotSent(f"nothing was sent: {error}") from error
        try:
            (home / "cfg").mkdir()
            copy = home / self._ours.file_name
            try:
                shutil.copy2(file, copy)
            except OSError as error:
                raise NotSent(f"nothing was sent: {error}") from error
            yield home, copy
        finally:
            shutil.rmtree(home, ignore_errors=True)

    def _environment(self, home: Path) -> dict[str, str]:
        """Return all of the child's variables: nothing of ours but where programs and certificates are."""
        kept = ("PATH", "LANG", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "https_proxy", "HTTPS_PROXY")
        key = self._credentials
        return {
            **{name: os.environ[name] for name in kept if name in os.environ},
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "HOME": str(home),
            "TMPDIR": str(home),
            "KAGGLE_CONFIG_DIR": str(home / "cfg"),
            **({"KAGGLE_API_TOKEN": key.secret} if key.user is None else {}),
            **({"KAGGLE_USERNAME": key.user, "KAGGLE_KEY": key.secret} if key.user is not None else {}),
            **self._site,
        }


def _environment_of_site(url: str) -> dict[str, str]:
    """Return what leads the package to a site: nothing for Kaggle itself; a stand-in on loopback acts as its proxy."""
    if url == KAGGLE:
        return {}
    parts = urlsplit(url)
    if parts.scheme != "http" or not parts.port:
        raise UsageError(f"The kaggle package cannot be led to {url}: submit to it without the package.")
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    proxy = _PROXY_PORT_PATH.format(host=host, port=parts.port)
    # It knows one other place, http://localhost, and goes through a proxy even there if it is told of no exception.
    return {"KAGGLE_API_ENVIRONMENT": "LOCALHOST", "http_proxy": proxy, "NO_PROXY": "", "no_proxy": ""}


def _read(descriptor: int) -> dict[str, Any] | None:
    with os.fdopen(descriptor, "rb") as result:
        text = result.read(_LARGEST_RESULT)
    try:
        told = json.loads(text)
    except ValueError:
        return None
    return told if isinstance(told, dict) else None
