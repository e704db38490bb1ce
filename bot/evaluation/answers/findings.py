"""The guards, and their findings: passed, suspicious, or not run, which is not passed; importable without numpy."""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

LINE = "validation score"
"""The beginning of the line `validation score: 0.123`; the last such line of the output counts."""
_FILE = "self_reported.json"
_PRINTED_SCORE = re.compile(rf"^{LINE}:[ \t]*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)[ \t]*\r?$", re.MULTILINE)


def printed_score(output: str) -> float | None:
    """Return the score that a script prints; None if it prints none, or one that is not finite."""
    printed_numbers = _PRINTED_SCORE.findall(output)
    score = float(printed_numbers[-1]) if printed_numbers else math.nan
    return score if math.isfinite(score) else None


def distinct_figures(first: float, second: float, digits: int) -> tuple[str, str]:
    """Write two numbers with so many digits, or more if they need more to differ."""
    words = f"{first:.{digits}g}", f"{second:.{digits}g}"
    is_enough = words[0] != words[1] or first == second or digits == 17
    return words if is_enough else distinct_figures(first, second, digits + 1)


def write_reason(labels_dir: Path, reason: str) -> None:
    """Record, in the place of a view's labels, why there are none."""
    labels_dir.mkdir(parents=True, exist_ok=True)
    (labels_dir / _FILE).write_text(json.dumps({"reason": reason}), encoding="utf-8")


def reason_in(labels_dir: Path) -> str | None:
    """Return why a view has no labels; None if it has."""
    file = labels_dir / _FILE
    return str(json.loads(file.read_text(encoding="utf-8"))["reason"]) if file.is_file() else None


VIEW_GUARDS: Mapping[str, str] = {
    "duplicate rows": "bot.evaluation.guards.duplicates:duplicates_of_training",
    "ids": "bot.evaluation.guards.leaks:labels_by_id",
    "row order": "bot.evaluation.guards.leaks:labels_by_row_order",
    "time": "bot.evaluation.guards.scores:trained_on_the_future",
    "split": "bot.evaluation.guards.scores:split_unlike_the_test",
    "target in features": "bot.evaluation.guards.leaks:target_in_features",
}
"""Guards of the competition and its split: run once per view, each takes a `GuardedView`."""

EXECUTION_GUARDS: Mapping[str, str] = {
    "too good": "bot.evaluation.guards.scores:too_good",
    "better on duplicates": "bot.evaluation.guards.duplicates:better_on_duplicates",
    "constant": "bot.evaluation.guards.scores:constant_predictions",
    "copied": "bot.evaluation.guards.copies:copied_submission",
    "printed score": "bot.evaluation.guards.scores:printed_otherwise",
}
"""Guards of one execution: run on the traces of each hold-out run, each takes `Traces`."""


Verdict = Literal["passed", "suspicious", "not run"]
Evidence = float | int | str | None


@dataclass(frozen=True)
class GuardFinding:
    """One guard's result on a view of the data, or on one execution."""

    guard: str
    """Its name in the registry."""
    verdict: Verdict
    sentence: str
    evidence: Mapping[str, Evidence] = field(default_factory=dict)
    """The figures behind the sentence; shares between 0 and 1."""
    spoils: bool = False
    """Whether the file for the test rows is worthless, whatever the score: another node is chosen if there is one."""

    @property
    def passed(self) -> bool:
        """Whether the guard ran and found nothing."""
        return self.verdict == "passed"

    @property
    def is_doubt(self) -> bool:
        """Whether a person should look at it: it was found, or a guard that could have found it failed."""
        return not self.passed


def guard_passed(guard: str, sentence: str, **evidence: Evidence) -> GuardFinding:
    """Return the finding of a guard that found nothing."""
    return GuardFinding(guard, "passed", sentence, evidence)


def suspicious(guard: str, sentence: str, **evidence: Evidence) -> GuardFinding:
    """Return a finding for a person to look at."""
    return GuardFinding(guard, "suspicious", sentence, evidence)


def spoiling(guard: str, sentence: str, **evidence: Evidence) -> GuardFinding:
    """Return a finding for a person to look at, which makes the file for the test rows worthless until then."""
    return GuardFinding(guard, "suspicious", sentence, evidence, spoils=True)


def not_run(guard: str, reason: str, **evidence: Evidence) -> GuardFinding:
    """Return the finding of a guard that could not run."""
    return GuardFinding(guard, "not run", reason, evidence)


def not_run_at_all(guards: Iterable[str], reason: str) -> tuple[GuardFinding, ...]:
    """Return a finding for each of several guards that could not run."""
    return tuple(not_run(guard, reason) for guard in guards)


def grouped_findings(findings: Iterable[tuple[int | None, str, str, str]]) -> list[tuple[int | None, str, str, str]]:
    """Merge findings (node, None for the data; guard; verdict; sentence) of one sentence, their guards joined by commas."""
    names: dict[tuple[int | None, str, str], list[str]] = {}
    for node, guard, verdict, sentence in findings:
        names.setdefault((node, verdict, sentence), []).append(guard)
    return [(node, ", ".join(guards), verdict, sentence) for (node, verdict, sentence), guards in names.items()]


def doubts_of(findings: Iterable[GuardFinding]) -> str | None:
    """Return the findings that are doubts as a sentence; None if there are none."""
    doubts = ((None, finding.guard, finding.verdict, finding.sentence) for finding in findings if finding.is_doubt)
    return (
        "; ".join(f"{guard} ({verdict}): {sentence}" for _, guard, verdict, sentence in grouped_findings(doubts))
        or None
    )
