"""Tests of the cheap rules: which scripts they end, and which they leave alone."""

from dataclasses import replace
from pathlib import Path

from sandbox import Breach, ExecutionRequest, Limits, Usage
from sandbox.rules import Rules, RuleSettings

GB = 1000**3


def request() -> ExecutionRequest:
    return ExecutionRequest("test", "fit()", Path("view"), Path("out"), Limits(3600.0))


def still(rules: Rules, seconds: float, **more: object) -> Breach | None:
    """Measure once a minute while nothing changes."""
    usage = Usage(0.0, cpu_seconds=7.0, written_bytes=10)
    for minute in range(int(seconds // 60) + 1):
        if breach := rules.usage(replace(usage, seconds=60.0 * minute, **more)):  # type: ignore[arg-type]  # of Usage
            return breach
    return None


def test_a_script_that_neither_prints_nor_works_is_ended() -> None:
    breach = still(Rules(RuleSettings(), request()), 700)
    assert breach is not None
    assert "printed nothing and used no processor time for 10 minutes" in breach.detail


def test_silent_work_is_work() -> None:
    rules = Rules(RuleSettings(), request())
    for minute in range(60):
        assert rules.usage(Usage(60.0 * minute, cpu_seconds=3.0 * minute)) is None
    assert still(Rules(RuleSettings(), request()), 3000, cpu_seconds=None) is None
    assert still(Rules(RuleSettings(), request()), 3000, gpu_busy=0.4) is None
    assert still(Rules(RuleSettings(silent_minutes=0), request()), 3000) is None


def test_a_print_now_and_then_is_a_sign_of_life() -> None:
    rules = Rules(RuleSettings(), request())
    for minute in range(60):
        if minute % 9 == 0:
            rules.output(b".")
        assert rules.usage(Usage(60.0 * minute, cpu_seconds=0.0)) is None


def test_a_script_that_fills_the_disk_is_ended_and_one_that_wrote_little_is_not() -> None:
    def rules() -> Rules:
        return Rules(RuleSettings(), request(), free=lambda folder: 100_000_000)

    breach = rules().usage(Usage(5.0, cpu_seconds=5.0, written_bytes=GB))
    assert breach is not None
    assert "only 100000000 are left on the disk" in breach.detail
    assert rules().usage(Usage(5.0, cpu_seconds=5.0, written_bytes=1000)) is None
    roomy = Rules(RuleSettings(), request(), free=lambda folder: 50 * GB)
    assert roomy.usage(Usage(5.0, cpu_seconds=5.0, written_bytes=GB)) is None
