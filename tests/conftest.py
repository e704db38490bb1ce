"""What all tests share: the folder of snapshots, and a summary of why tests were skipped."""

from collections import Counter
from pathlib import Path

import pytest

from tests import needs


@pytest.fixture
def snapshots() -> Path:
    """The folder of snapshots that BOT_SNAPSHOTS names."""
    return needs.snapshots()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Name each reason for skipping once, with how many tests it kept from running."""
    reasons: Counter[str] = Counter()
    for report in terminalreporter.stats.get("skipped", []):
        reasons[str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)] += 1
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"skipped {count}: {reason.removeprefix('Skipped: ')}")
