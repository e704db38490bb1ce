"""A run's folder: where everything of a run lies."""

import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any


class RunFolder:
    """The paths in a run's folder, as the command-line contract names them."""

    def __init__(self, path: Path, shared: Path | None = None) -> None:
        """Name them; nothing is made.

        Args:
            path: the folder.
            shared: the database that holds the run's rows among those of others; None: the run has one of its own.
        """
        self.path = path
        self.database = shared or path / "state.db"
        """Where the run's rows are."""
        self.result = path / "result.json"
        """What came of the run."""
        self.config = path / "config.json"
        """Every setting used, with versions and a hash."""
        self.submission = path / "submission.csv"
        """The file that was graded."""
        self.views = path / "views"
        """Data as executions saw it, a folder a view."""
        self.evaluator = path / "evaluator"
        """Withheld labels, a folder a view; no execution ever sees it."""
        self.grader = self.evaluator / "grader" / "grade.py"
        """The competition's grade.py, with the modules that it imports beside it; only where its metric is not the registry's."""
        self.executions = path / "executions"
        """What executions left, a folder each."""
        self.bank = path / "bank"
        """Predictions of nodes with a score, as arrays under the hash of their content; made with the first one."""
        self.hints = path / "hints"
        """Out-of-fold predictions of labs' experiments, kept alike; nothing leads from them to a submission."""
        self.labs = path / "labs"
        """What labs worked with and left, a folder each; made when the first one opens."""
        self.solution = path / "solution"
        """The script that made the submission, and how to run it."""
        self.report = path / "report.html"
        """The self-contained page."""
        self.events = path / "events.jsonl"
        """Every event, exported from the database."""
        self.prompts = path / "prompts.jsonl"
        """Every model call, exported from the database."""

    def make(self) -> None:
        """Make the folder and its fixed subfolders.

        Raises:
            FileExistsError: the folder exists.
        """
        self.path.mkdir(parents=True)
        for folder in (self.views, self.evaluator, self.executions, self.solution):
            folder.mkdir()
        # Labels are for the evaluator alone.
        self.evaluator.chmod(0o700)


def run_id(slug: str, agent: str, model: str, seed: int, at: datetime) -> str:
    """Return `<slug>-<agent>-<model>-<seed>-<UTC time>`; every character but letters, digits and dots becomes `_`."""
    return "-".join(map(_plain, (slug, agent, model, str(seed), at.strftime("%Y%m%dT%H%M%S%fZ"))))


def is_of(run: str, slug: str) -> bool:
    """Return whether a run with this id is one on this competition."""
    return run.startswith(f"{_plain(slug)}-")


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]", "_", text)


def run_folders(paths: Sequence[Path]) -> list[RunFolder]:
    """Return the runs at these paths (each a run's folder, or one that holds such), in the order they were prepared."""
    configs = [
        config
        for path in paths
        for config in ([path / "config.json"] if (path / "config.json").is_file() else path.glob("*/config.json"))
    ]
    return [RunFolder(config.parent) for config in sorted(configs, key=lambda file: (file.stat().st_mtime_ns, file))]


def lower_is_better(config: Any) -> bool | None:
    """Return which way a run's scores point, by the card in its configuration; None where that does not say."""
    try:
        return {"minimize": True, "maximize": False}.get(config["card"]["metric"]["direction"])
    except (KeyError, TypeError):
        return None


def is_live(config: Any) -> bool:
    """Whether config.json is that of a run of the daemon's."""
    return isinstance(config, dict) and config.get("live") is True
