"""Changes to a machine, each made only if it is needed, and described in a sentence."""

import shutil
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from state.errors import InfrastructureFailure, UsageError


class Change(Protocol):
    """One change."""

    @property
    def sentence(self) -> str:
        """The change as an order: `write /etc/…`."""
        ...

    def is_due(self) -> bool:
        """Return whether the change is needed; raises OSError if that cannot be seen."""
        ...

    def make(self) -> None:
        """Make the change; raises OSError or an error of ours."""
        ...


@dataclass(frozen=True)
class Folder:
    """A folder exists."""

    path: Path
    private: bool = False
    """Whether nobody else may read it."""

    @property
    def sentence(self) -> str:
        """What is done."""
        return f"{'close' if self.path.is_dir() else 'make'} the folder {self.path}"

    def is_due(self) -> bool:
        """Return whether it is missing, or open to others."""
        if not self.path.is_dir():
            return True
        return self.private and bool(stat.S_IMODE(self.path.stat().st_mode) & 0o077)

    def make(self) -> None:
        """Create it, and its parents."""
        _make_parents(self.path)
        self.path.mkdir(0o700, exist_ok=True)
        self.path.chmod(0o700 if self.private else 0o755)


@dataclass(frozen=True)
class Text:
    """A file holds a given text."""

    path: Path
    content: str
    keep: bool = False
    """Whether an existing file stays unchanged, as it is the owner's."""
    mode: int = 0o644

    @property
    def sentence(self) -> str:
        """What is done."""
        return f"write {self.path}"

    def is_due(self) -> bool:
        """Return whether it is missing, or holds something else."""
        if self.keep and self.path.exists():
            return False
        try:
            return self.path.is_symlink() or self.path.read_bytes() != self.content.encode()
        except FileNotFoundError:
            return True

    def make(self) -> None:
        """Write it so that a reader sees either the old text or the new one."""
        _make_parents(self.path)
        partial = self.path.with_name(f".{self.path.name}.partial")
        partial.unlink(missing_ok=True)
        partial.touch(0o600, exist_ok=False)
        partial.write_bytes(self.content.encode())
        partial.chmod(self.mode)
        partial.replace(self.path)


@dataclass(frozen=True)
class Gone:
    """A file or a folder does not exist."""

    path: Path
    with_content: bool = False
    """Whether a folder is removed with its content, or only if it is empty."""

    @property
    def sentence(self) -> str:
        """What is done."""
        return f"remove {self.path}" + (" with its content" if self.with_content else "")

    def is_due(self) -> bool:
        """Return whether it exists and may be removed."""
        if not (self.path.exists() or self.path.is_symlink()):
            return False
        return self.with_content or not self._is_folder() or not any(self.path.iterdir())

    def make(self) -> None:
        """Remove it; for a link, only the link."""
        if not self._is_folder():
            self.path.unlink()
        elif self.with_content:
            shutil.rmtree(self.path)
        else:
            self.path.rmdir()

    def _is_folder(self) -> bool:
        return self.path.is_dir() and not self.path.is_symlink()


@dataclass(frozen=True)
class Action:
    """A change that is not to a file."""

    sentence: str
    is_due: Callable[[], bool]
    make: Callable[[], None]


def make(changes: Iterable[Change], *, dry_run: bool) -> Iterator[str]:
    """Make the changes that are due, in order, and yield each one's sentence.

    Args:
        changes: everything that must hold in the end.
        dry_run: only yield what would be done.

    Raises:
        UsageError: this user may not make a change.
        InfrastructureFailure: a change failed.
    """
    for change in changes:
        with sentences():
            if not change.is_due():
                continue
            sentence = change.sentence
            if not dry_run:
                change.make()
        yield sentence


def _make_parents(path: Path) -> None:
    """Create the folders that a path lies in, readable by all whatever root's umask is."""
    for parent in reversed(path.parents):
        if not parent.is_dir():
            parent.mkdir()
            parent.chmod(0o755)


@contextmanager
def sentences() -> Iterator[None]:
    """Turn the machine's errors into errors of ours with a sentence; raises what `make` raises."""
    try:
        yield
    except PermissionError as error:
        raise UsageError(f"this user may not read or change {error.filename}: run it with sudo") from None
    except OSError as error:
        raise InfrastructureFailure(f"{error.filename}: {error.strerror}") from error


def any_due(changes: Iterable[Change]) -> bool:
    """Return whether any of the changes is due; raises OSError if that cannot be seen."""
    return any(change.is_due() for change in changes)
