"""Toys: what a page of docs/extending/ says to add, added to a copy of the packages, and tried in there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.installation import entry_points, write_metadata
from tests.source_tree import PACKAGES, ROOT

__all__ = ["PAGES", "Copy"]

PAGES = ROOT / "docs" / "extending"
LONGEST = 40
"""Lines of a page."""

_BLOCK = re.compile(
    r"^```(?:python|jinja|toml)\n(?:# |\{# )(?P<place>.*?)(?: #\})?\n(?P<code>.*?)^```", re.MULTILINE | re.DOTALL
)


class Copy:
    """A copy of the packages with what one page adds; what stays as it is is a link."""

    def __init__(self, folder: Path, page: str) -> None:
        self.folder = folder
        folder.mkdir()
        for package in PACKAGES:
            (folder / package).symlink_to(ROOT / package)
        text = (PAGES / page).read_text(encoding="utf-8")
        assert len(text.splitlines()) <= LONGEST
        (folder / "pyproject.toml").symlink_to(ROOT / "pyproject.toml")
        self.touched = [self._add(found["place"], found["code"]) for found in _BLOCK.finditer(text)]
        write_metadata(folder, entry_points(folder / "pyproject.toml"))

    def _add(self, place: str, code: str) -> str:
        """Put code where the first line of its block says; returns the file."""
        name, _, where = place.partition(", ")
        file = self.folder / name
        for above in reversed(Path(name).parents):
            _open(self.folder / above)
        if not where:
            assert not file.exists()
            file.write_text(code, encoding="utf-8")
            return name
        text = file.read_text(encoding="utf-8")
        how, _, anchor = where.partition(" ")
        if how == "in":
            changed = re.sub(
                rf"^({re.escape(anchor)}(?!\w).*(?<=[\[({{\]])\n)",
                lambda found: found[1] + code,
                text,
                flags=re.MULTILINE,
            )
        elif how == "above":
            changed = re.sub(rf"^{anchor}\b", lambda found: f"{code}\n\n{found[0]}", text, flags=re.MULTILINE)
        else:
            assert where == "at its end"
            changed = f"{text}\n\n{code}"
        assert changed != text, f"{name} has no {anchor} any more"
        file.unlink()
        file.write_text(changed, encoding="utf-8")
        return name

    def python(self, code: str, *arguments: object) -> str:
        """Run code that sees the copy, and the tests' own parts; returns what it prints."""
        return self._run(["-c", code, *map(str, arguments)])

    def bot(self, *arguments: object) -> str:
        """Run the copy's `bot`, with the built-in model alone."""
        return self._run(["-m", "bot", *map(str, arguments)])

    def _run(self, arguments: list[str]) -> str:
        keys = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_MODEL")
        environment = {name: value for name, value in os.environ.items() if name not in keys}
        # The links to compiled files lead into the checkout, where none of a toy's belongs.
        environment["PYTHONDONTWRITEBYTECODE"] = "1"
        environment["PYTHONPATH"] = f"{self.folder}{os.pathsep}{ROOT}"
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=400,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def lint(self) -> None:
        """Check what was added as `make lint` does, without types."""
        files = [str(self.folder / name) for name in self.touched if name.endswith(".py")]
        config = ["--config", str(ROOT / "pyproject.toml"), "--no-cache"]
        for check in (["check", "-q"], ["format", "-q", "--check"]):
            done = subprocess.run(
                [sys.executable, "-m", "ruff", *check, *config, *files], capture_output=True, text=True, check=False
            )
            if done.returncode:
                pytest.fail(done.stdout + done.stderr)


def _open(folder: Path) -> None:
    """Make a folder that is a link, or is not there, a real one that holds links."""
    if not folder.is_symlink():
        folder.mkdir(exist_ok=True)
        return
    real = folder.resolve()
    folder.unlink()
    folder.mkdir()
    for path in real.iterdir():
        (folder / path.name).symlink_to(path)
