"""Tries an environment out inside the sandbox: imports each package, and fits tiny models."""

import asyncio
import json
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox import ExecutionRequest, ExitReason, Limits, Sandbox
from sandbox.environments import ScriptEnvironment
from sandbox.instance import owner

_SCRIPT = Path(__file__).with_name("environments") / "check_script.py"
_SECONDS = 600.0
_MEMORY = 8 * 1024**3
_TRIALS = "trials.jsonl"


@dataclass(frozen=True)
class EnvironmentTrial:
    """One import or one fit."""

    trial: str
    seconds: float
    error: str | None


def check_environment(
    sandbox: Sandbox, environment: ScriptEnvironment
) -> tuple[Sequence[EnvironmentTrial], str | None]:
    """Try the environment out in a sandbox that runs scripts with it; return the trials, and why it ended before the last."""
    with tempfile.TemporaryDirectory(prefix=f"bot-{owner()}-") as folder:
        view, out = Path(folder) / "view", Path(folder) / "out"
        Path(folder).chmod(0o755)
        view.mkdir()
        (view / "wanted.json").write_text(json.dumps(environment.record.wanted), encoding="utf-8")
        limits = Limits(_SECONDS, memory_bytes=_MEMORY)
        script = _SCRIPT.read_text(encoding="utf-8")
        request = ExecutionRequest("check", script, view, out, limits, keep=(_TRIALS,))
        outcome = asyncio.run(sandbox.run(request))
        lines = outcome.files[_TRIALS].read_text(encoding="utf-8").splitlines() if _TRIALS in outcome.files else []
    trials = [EnvironmentTrial(**json.loads(line)) for line in lines]
    if outcome.reason is ExitReason.FINISHED:
        return trials, None
    return trials, outcome.detail or outcome.output.strip()[-1000:] or outcome.reason.value
