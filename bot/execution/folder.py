"""A run's folder and the paths in it."""

import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Any

from sandbox.locks import holding


class RunFolder:
    """The paths in a run's folder, as the command-line contract names them."""

    def __init__(self, path: Path, shared: Path | None = None) -> None:
        """Set the paths; nothing is created. `shared` is a database that the run shares with others; None: it has its own."""
        self.path = path
        self.database = shared or path / "state.db"
        """The database with the run's rows."""
        self.result = path / "result.json"
        self.so_far = path / "so-far.json"
        """What is known of the result while the run goes on; gone once it has ended."""
        self.config = path / "config.json"
        """Every setting used, with versions and a hash."""
        self.submission = path / "submission.csv"
        """The file that was graded."""
        self.task = path / "task"
        """One's own data as a snapshot-like folder; of `bot solve` alone."""
        self.views = path / "views"
        """The data of executions, a folder for each view."""
        self.empty = path / "views" / "empty"
        """An empty folder: the `data` of what finds its data elsewhere."""
        self.evaluator = path / "evaluator"
        """Withheld labels, a folder for each view; never mounted into an execution."""
        self.grader = self.evaluator / "grader" / "grade.py"
        """The competition's grade.py and the modules beside it; only if its metric is not the registry's."""
        self.executions = path / "executions"
        """The files of executions, a folder each."""
        self.bank = path / "bank"
        """Predictions of nodes with a score, as arrays under the hash of their content; created with the first one."""
        self.experiments = path / "experiments"
        """What labs read of all experiments: arrays and files, a folder each, and index.csv."""
        self.labs = path / "labs"
        """The files of labs, a folder each; created when the first one opens."""
        self.solution = path / "solution"
        """The script that made the submission, with instructions to run it."""
        self.report = path / "report.html"
        """The self-contained page."""
        self.events = path / "events.jsonl"
        """Every event, exported from the database."""
        self.prompts = path / "prompts.jsonl"
        """Every model call, exported from the database."""

    def make(self) -> None:
        """Create the folder and its fixed subfolders. Raises FileExistsError: the folder exists."""
        self.path.mkdir(parents=True)
        for folder in (self.views, self.evaluator, self.executions, self.solution):
            folder.mkdir()
        # Labels are for the evaluator alone.
        self.evaluator.chmod(0o700)

    def running(self) -> AbstractContextManager[None]:
        """Hold the run's lock, which others can see, while this lasts. Raises UsageError: another process runs it."""
        return holding(self.config, f"{self.path} is in use by another process")

    def blends_of(self, node: int) -> tuple[Path, Path]:
        """Return the folders of a blend's two files: of its members' scored files, and of their refits."""
        return self.executions / f"n{node}-blend", self.executions / f"n{node}-full-blend"


def run_id(slug: str, agent: str, model: str, seed: int, time: datetime) -> str:
    """Return `<slug>-<agent>-<model>-<seed>-<UTC time>`; every character but letters, digits and dots becomes `_`."""
    return "-".join(map(_plain, (slug, agent, model, str(seed), time.strftime("%Y%m%dT%H%M%S%fZ"))))


def is_run_on(slug: str, run: str) -> bool:
    """Return whether a run, by its id, works on a competition."""
    return run.startswith(f"{_plain(slug)}-")


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]", "_", text)


def run_folders(paths: Sequence[Path]) -> list[RunFolder]:
    """Return the runs at these paths (each a run's folder, or one that holds such), in the order they were prepared."""
    configs: list[Path] = []
    for path in paths:
        configs += [file] if (file := path / "config.json").is_file() else path.glob("*/config.json")
    return [RunFolder(config.parent) for config in sorted(configs, key=lambda file: (file.stat().st_mtime_ns, file))]


def lower_is_better(config: Any) -> bool | None:
    """Return whether lower scores are better, by the card in a run's configuration; None if unknown."""
    try:
        return {"minimize": True, "maximize": False}.get(config["card"]["metric"]["direction"])
    except (KeyError, TypeError):
        return None


def is_live(config: Any) -> bool:
    """Return whether config.json belongs to a live run."""
    return isinstance(config, dict) and config.get("live") is True
