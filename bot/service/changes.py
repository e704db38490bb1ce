"""Changes to a machine, each of which is made only where it is not made yet, and told in a sentence."""

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
    def said(self) -> str:
        """What is done, as an order: `write /etc/…`."""
        ...

    def is_due(self) -> bool:
        """Return whether anything is to be done; raises OSError where that cannot be seen."""
        ...

    def make(self) -> None:
        """Do it; raises OSError or an error of ours."""
        ...


@dataclass(frozen=True)
class Folder:
    """A folder is there."""

    path: Path
    private: bool = False
    """Whether nobody else may look into it."""

    @property
    def said(self) -> str:
        """What is done."""
        return f"{'close' if self.path.is_dir() else 'make'} the folder {self.path}"

    def is_due(self) -> bool:
        """Whether it is absent, or open to others."""
        if not self.path.is_dir():
            return True
        return self.private and bool(stat.S_IMODE(self.path.stat().st_mode) & 0o077)

    def make(self) -> None:
        """Make it, and what it lies in."""
        _make_parents(self.path)
        self.path.mkdir(0o700, exist_ok=True)
        self.path.chmod(0o700 if self.private else 0o755)


@dataclass(frozen=True)
class Text:
    """A file holds a text."""

    path: Path
    content: str
    keep: bool = False
    """Whether one that is there already stays as it is: it is its owner's."""
    mode: int = 0o644

    @property
    def said(self) -> str:
        """What is done."""
        return f"write {self.path}"

    def is_due(self) -> bool:
        """Whether it is absent, or holds something else."""
        if self.keep and self.path.exists():
            return False
        try:
            return self.path.is_symlink() or self.path.read_bytes() != self.content.encode()
        except FileNotFoundError:
            return True

    def make(self) -> None:
        """Write it, so that a reader sees either the old text or the new one."""
        _make_parents(self.path)
        partial = self.path.with_name(f".{self.path.name}.partial")
        partial.unlink(missing_ok=True)
        partial.touch(0o600, exist_ok=False)
        partial.write_bytes(self.content.encode())
        partial.chmod(self.mode)
        partial.replace(self.path)


@dataclass(frozen=True)
class Gone:
    """A file, or a folder, is not there."""

    path: Path
    with_content: bool = False
    """Of a folder: whether it goes with all in it, or only when it is empty."""

    @property
    def said(self) -> str:
        """What is done."""
        return f"remove {self.path}" + (" with all in it" if self.with_content else "")

    def is_due(self) -> bool:
        """Whether it is there and may go."""
        if not (self.path.exists() or self.path.is_symlink()):
            return False
        return self.with_content or not self._is_folder() or not any(self.path.iterdir())

    def make(self) -> None:
        """Remove it; of a link the link alone."""
        if not self._is_folder():
            self.path.unlink()
        elif self.with_content:
            shutil.rmtree(self.path)
        else:
            self.path.rmdir()

    def _is_folder(self) -> bool:
        return self.path.is_dir() and not self.path.is_symlink()


@dataclass(frozen=True)
class Act:
    """Something that is not a file's matter."""

    said: str
    is_due: Callable[[], bool]
    make: Callable[[], None]


def make(changes: Iterable[Change], *, dry_run: bool) -> Iterator[str]:
    """Make those changes that are due, in their order, and yield of each what was done.

    Args:
        changes: all that shall hold in the end.
        dry_run: only say what would be done.

    Raises:
        UsageError: this user may not do it.
        InfrastructureFailure: the machine does not do it.
    """
    for change in changes:
        with sentences():
            if not change.is_due():
                continue
            said = change.said
            if not dry_run:
                change.make()
        yield said


def _make_parents(path: Path) -> None:
    """Make the folders that a path lies in, open to all whatever root's own umask is."""
    for parent in reversed(path.parents):
        if not parent.is_dir():
            parent.mkdir()
            parent.chmod(0o755)


@contextmanager
def sentences() -> Iterator[None]:
    """Turn what the machine does not allow or do into an error with a sentence; raises as `make`."""
    try:
        yield
    except PermissionError as error:
        raise UsageError(f"this user may not look into or change {error.filename}: run it with sudo") from None
    except OSError as error:
        raise InfrastructureFailure(f"{error.filename}: {error.strerror}") from error


def due(changes: Iterable[Change]) -> bool:
    """Return whether any of them is to be made; raises OSError where that cannot be seen."""
    return any(change.is_due() for change in changes)
