"""What a result shows of a command's output; its log holds all of it."""

from pathlib import Path

from sandbox.lab import LabLimits
from sandbox.lab.log import CommandLog
from state.redaction import Redactor


def test_what_repeats_itself_is_shown_once_and_logged_as_it_came(tmp_path: Path) -> None:
    warning = "base.py:1: ConvergenceWarning\n  warnings.warn(\n"
    output = f"fold 0\n{warning * 40}fold 1\nok\nok\n"
    log = CommandLog(tmp_path, 1, LabLimits(memory_bytes=1 << 30, disk_bytes=1 << 30), Redactor())
    log.add(output.encode())
    log.close()
    assert log.shown() == f"fold 0\n{warning}[39 times more]\nfold 1\nok\nok\n"
    assert (tmp_path / "1.txt").read_text() == output
