"""What the report reads from a run's JSON files: result.json, config.json, and the snapshot's manifest."""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from bot.execution.folder import RunFolder
from bot.report.stream import StreamRecord
from state.errors import UsageError


class _Part(BaseModel):
    # A page shows what it knows of; files may hold more, and those of an earlier version less.
    model_config = ConfigDict(extra="ignore", frozen=True)


class ModelTotals(_Part):
    """What all model calls took; `cost_usd` None if a price is unknown."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None


class SentRow(_Part):
    """One submission of a live run; a score is None where the site has not told it."""

    tag: str
    node: int
    validation: float | None = None
    public: float | None = None
    private: float | None = None
    at: datetime | None = None


class GuardRow(_Part):
    """What one guard found."""

    node: int | None = None
    """None: in the data, whatever is done with it."""
    guard: str
    verdict: Literal["passed", "suspicious", "not run"]
    sentence: str


class RunResult(_Part):
    """result.json, as far as a page shows it."""

    run_id: str
    competition_id: str
    agent: str
    model: str
    seed: int
    cutoff: datetime | None = None
    """None: the run was live."""
    cutoff_note: str | None = None
    """What to bear in mind where the cutoff is an unusual one."""
    pace: str = "all"
    stream: StreamRecord | None = None
    """What became known when; None where the clock stood still, or was the machine's."""
    signals: str = "asof"
    community: dict[str, int] | None = None
    dated_at_deadline: dict[str, int] | None = None
    """Posts by kind that were given the deadline as their time on import."""
    isolation: str
    grader: Literal["registry", "competition"] = "registry"
    """Who says what a score is."""
    sandbox: str | None = None
    stopped_by: str | None = None
    misconfigured: bool = False

    is_lower_better: bool
    n_teams: int
    gold_threshold: float | None = None
    silver_threshold: float | None = None
    bronze_threshold: float | None = None
    median_threshold: float | None = None

    submission_exists: bool
    valid_submission: bool
    score: float | None = None
    score_kind: Literal["public", "private"] | None = None
    """Of which leaderboard a live run's score is; None: there is none yet, or it is of a hidden test."""
    rank: int | None = None
    submissions: tuple[SentRow, ...] = ()
    gold_medal: bool = False
    silver_medal: bool = False
    bronze_medal: bool = False
    above_median: bool = False
    win_rate: float = 0.0
    message: str | None = None
    note: str | None = None

    chosen_node: int | None = None
    handed_in: str | None = None
    handed_in_note: str | None = None
    baseline_handed_in: bool = False
    self_reported: str | None = None
    """Why validation scores are what scripts printed; None: they are the evaluator's."""
    validation_score: float | None = None
    validation_interval: tuple[float, float] | None = None
    """In which the hidden score was to be expected in 95 of 100 cases."""
    validation_interval_note: str | None = None
    score_in_interval: bool | None = None
    guards: tuple[GuardRow, ...] = ()
    final_score: float | None = None
    final_note: str | None = None

    wall_seconds: float | None = None
    overhead_seconds: float | None = None
    training_share: float | None = None
    llm: ModelTotals = ModelTotals()
    best_over_time: tuple[tuple[float, float, float | None], ...] = ()
    seconds_to_first_valid: float | None = None
    valid_nodes_per_hour: float | None = None
    failed_share: float | None = None
    timed_out_share: float | None = None
    tokens_per_valid_node: float | None = None
    rank_correlation: float | None = None
    selection_regret: float | None = None
    hidden_scores: dict[int, float | None] = {}

    @property
    def live(self) -> bool:
        """Whether it competed on a site, and was not graded against a hidden test."""
        return self.pace == "live"

    @property
    def doubts(self) -> tuple[GuardRow, ...]:
        """What guards say against the data and the chosen node, or could not look at; of other nodes the table tells."""
        return tuple(one for one in self.guards if one.verdict != "passed" and one.node in (None, self.chosen_node))

    @property
    def medal(self) -> str | None:
        """`gold`, `silver` or `bronze`, or None."""
        names = {"gold": self.gold_medal, "silver": self.silver_medal, "bronze": self.bronze_medal}
        return next((name for name, won in names.items() if won), None)

    @property
    def thresholds(self) -> dict[str, float]:
        """Known lines of the leaderboard by name, best first."""
        lines = {
            "gold": self.gold_threshold,
            "silver": self.silver_threshold,
            "bronze": self.bronze_threshold,
            "median": self.median_threshold,
        }
        return {name: value for name, value in lines.items() if value is not None}

    def on_board(self, node: int) -> float | None:
        """Return the node's score that compares with the leaderboard: live the best of what was sent, of the same kind."""
        if self.live and self.score_kind == "private":
            known = [sent.private for sent in self.submissions if sent.node == node and sent.private is not None]
            return max(known, key=self.oriented, default=None)
        return self.hidden_scores.get(node)

    def oriented(self, score: float) -> float:
        """Return the score with its sign turned so that more is better."""
        return -score if self.is_lower_better else score


class _Metric(_Part):
    name: str


class Competition(_Part):
    """What a page says of the competition, from the snapshot's manifest."""

    title: str
    url: str | None = None
    category: str | None = None
    metric: _Metric | None = None
    split: str | None = None


def read_result(folder: RunFolder) -> RunResult:
    """Read result.json.

    Raises:
        UsageError: it is missing, or not what a finished run writes.
    """
    try:
        return RunResult.model_validate_json(folder.result.read_bytes())
    except FileNotFoundError as error:
        raise UsageError(f"{folder.result} does not exist: the run has not finished.") from error
    except ValidationError as error:
        raise UsageError(f"{folder.result} is not a run's result: {error}") from error


def read_config(folder: RunFolder) -> dict[str, Any]:
    """Read config.json.

    Raises:
        UsageError: it is missing or not a JSON object.
    """
    try:
        config = json.loads(folder.config.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError) as error:
        raise UsageError(f"{folder.config} cannot be read: {error}") from error
    if not isinstance(config, dict):
        raise UsageError(f"{folder.config} is not a JSON object.")
    return config


def card_of(config: Mapping[str, Any], slug: str, url: str | None) -> Competition:
    """Return what a live run's settings say of its competition; where they say nothing, the slug must do."""
    try:
        return Competition.model_validate({"title": slug, **config.get("card", {}), "url": url})
    except (TypeError, ValidationError):
        return Competition(title=slug, url=url)


def snapshot_of(config: Mapping[str, Any]) -> Path | None:
    """Return the snapshot's folder that a run's settings name, if it is still there."""
    name = config.get("settings", {}).get("snapshot")
    path = Path(name) if isinstance(name, str) else None
    return path if path is not None and path.is_dir() else None


def read_competition(snapshot: Path | None, slug: str) -> Competition:
    """Read the snapshot's manifest; where it is gone, the slug must do."""
    manifest = None if snapshot is None else snapshot / "snapshot.json"
    if manifest is None or not manifest.is_file():
        return Competition(title=slug)
    try:
        return Competition.model_validate_json(manifest.read_bytes())
    except ValidationError:
        return Competition(title=slug)
