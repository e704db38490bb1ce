"""Tries an environment out inside the sandbox: imports each package, and fits tiny models."""

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

from sandbox import ExecutionRequest, ExitReason, Limits, Sandbox
from sandbox.environments import ScriptEnvironment
from sandbox.instance import owner

_SCRIPT = Path(__file__).with_name("environments") / "check_script.py"
_SECONDS = 600.0
_MEMORY = 8 * 1024**3
_TRIALS = "trials.jsonl"


def check_environment(sandbox: Sandbox, environment: ScriptEnvironment) -> tuple[list[dict[str, Any]], str | None]:
    """Try the environment out in a sandbox that runs scripts with it.

    Return a record of each trial, `trial`, `seconds` and `error`, and why it ended before everything was tried.
    """
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
    trials = list(map(json.loads, lines))
    if outcome.reason is ExitReason.FINISHED:
        return trials, None
    return trials, outcome.detail or outcome.output.strip()[-1000:] or outcome.reason.value
