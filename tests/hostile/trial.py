"""Making one attack in one back end, and looking at what came of it and at the host."""

import asyncio
import json
import shutil
import stat
from collections.abc import Mapping
from pathlib import Path

from sandbox import ExecutionOutcome, ExecutionRequest, ExitReason, Limits, Sandbox
from sandbox.collect import KEPT_BYTES
from sandbox.workspace import LOG_NAME
from tests.hostile.attack import Attack, BackEnd, Trial
from tests.hostile.lab import serve_lab, typed
from tests.hostile.world import World

_USUAL = {"seconds": 20.0, "memory_bytes": 256_000_000, "processes": 64, "written_bytes": 20_000_000, "files": 2000}
_OUTPUT_BYTES = 100_000
_CUT = 200
"""Bytes of the line that says how much of a log was cut."""
_TRIES = 3
_SLOW = 8.0
"""Seconds beyond its time limit that all of an execution may take."""


def make(attack: Attack, sandbox: Sandbox, back_end: BackEnd, world: World) -> list[str]:
    """Make the attack; return all that is not as it must be."""
    out = world.place / "out"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    for name, text in attack.older.items():
        (out / name).write_text(text)
    before = world.state()
    if attack.earlier:
        run(attack, sandbox, world, out.with_name("out-earlier"), attack.earlier)
        shutil.rmtree(out.with_name("out-earlier"))
    problems: list[str] = []
    if attack.lab:
        with serve_lab(world.place.with_name("lab")) as lab:
            outcome, problems = asyncio.run(typed(attack, sandbox, world, lab.folder, limits_of(attack)))
        problems += [*lab.problems(), *(["a secret came to the engine"] if world.token in lab.taken else [])]
    else:
        outcome = run(attack, sandbox, world, out)
    after = world.state()
    problems += attack.problems(outcome, back_end)
    problems += [
        f"{key} changed: {_difference(before[key], after[key])}" for key in before if _worse(before, after, key)
    ]
    problems += [f"somebody came to the host's socket {name}" for name in world.visitors()]
    problems += _leaks(outcome, out, world.token) + _beyond_caps(outcome, out, attack)
    if attack.host:
        problems += attack.host(Trial(outcome, out, world.place))
    return problems


def limits_of(attack: Attack) -> Limits:
    """Return what the attack may use."""
    return Limits(**{**_USUAL, "output_bytes": _OUTPUT_BYTES, "cpus": 1, **attack.limits})  # type: ignore[arg-type]  # numbers


def run(attack: Attack, sandbox: Sandbox, world: World, out: Path, script: str | None = None) -> ExecutionOutcome:
    """Run the attack's script, or another in its place."""
    request = ExecutionRequest(
        f"hostile-{attack.name}",
        attack.source(script),
        world.view,
        out,
        limits_of(attack),
        environment={"HINTS": json.dumps(world.hints)},
        keep=("submission.csv",),
        idle=attack.idle,
    )
    for _ in range(_TRIES):  # as the engine does, which takes no failure of the sandbox for the script's
        outcome = asyncio.run(sandbox.run(request))
        if outcome.reason is not ExitReason.INFRASTRUCTURE:
            break
    return outcome


def _worse(before: Mapping[str, object], after: Mapping[str, object], key: str) -> bool:
    """Return whether something is not as before; a descriptor less is none that this attack has left open."""
    if key == "descriptors":
        return int(str(after[key])) > int(str(before[key]))
    return before[key] != after[key]


def _leaks(outcome: ExecutionOutcome, out: Path, token: str) -> list[str]:
    """Return where a secret came out."""
    places = {"the output": outcome.output, "the outcome": f"{outcome.detail} {outcome.notes}"}
    places |= {path.name: path.read_bytes().decode(errors="replace") for path in out.iterdir() if path.is_file()}
    return [f"a secret came out in {name}" for name, text in places.items() if token in text]


def _beyond_caps(outcome: ExecutionOutcome, out: Path, attack: Attack) -> list[str]:
    """Return what is left that should not be, or is larger than it may be."""
    found = []
    seconds = attack.limits.get("seconds", _USUAL["seconds"])
    if outcome.seconds > seconds + _SLOW:
        found.append(f"it took {outcome.seconds:.1f} s, and had {seconds}")
    for path in out.iterdir():
        status = path.lstat()
        most = _OUTPUT_BYTES + _CUT if path.name == LOG_NAME else KEPT_BYTES
        if path.name not in {LOG_NAME, *outcome.files}:
            found.append(f"{path.name!r} was left")
        elif not stat.S_ISREG(status.st_mode) or status.st_nlink != 1 or status.st_size > most:
            found.append(f"{path.name} is of mode {status.st_mode:o}, {status.st_nlink} names, {status.st_size} bytes")
    return found


def _difference(before: object, after: object) -> str:
    if isinstance(before, dict) and isinstance(after, dict):
        return str(
            {key: (before.get(key), after.get(key)) for key in before | after if before.get(key) != after.get(key)}
        )
    return f"{before} before, {after} after"
