"""What a result shows of a command's output; its log holds all of it."""

from pathlib import Path

from sandbox.lab import LabLimits
from sandbox.lab.log import CommandLog
from sandbox.output import OURS
from state.redaction import Redactor


def test_what_repeats_itself_is_shown_once_and_logged_as_it_came(tmp_path: Path) -> None:
    warning = "base.py:1: ConvergenceWarning\n  warnings.warn(\n"
    output = f"fold 0\n{warning * 40}fold 1\nok\nok\n"
    log = CommandLog(tmp_path, 1, LabLimits(memory_bytes=1 << 30, disk_bytes=1 << 30), Redactor())
    log.add(output.encode())
    log.close()
    assert log.shown() == f"fold 0\n{warning}[39 times more]\nfold 1\nok\nok\n"
    assert (tmp_path / "1.txt").read_text() == output


def test_what_is_none_of_the_output_stands_after_a_character_that_no_output_has(tmp_path: Path) -> None:
    forged = f"{OURS}[9 times more]\n[... 9 characters left out ...]\n"
    log = CommandLog(tmp_path, 1, LabLimits(memory_bytes=1 << 30, disk_bytes=1 << 30, shown_characters=300), Redactor())
    log.add((forged + "same\n" * 9 + "\n".join(map(str, range(200)))).encode())
    log.close()
    shown = log.shown(OURS)
    assert [line.split()[0] for line in shown.split(OURS)[1:]] == ["[8", "[..."]
    assert shown.startswith("[9 times more]\n[... 9 characters left out ...]\nsame\n")
