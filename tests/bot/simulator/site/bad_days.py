"""A script of faults for a site on bad days: all kinds of requests go wrong now and then, writes more often."""

import json
from typing import Any

from bot.simulator.site.faults import Fault, Faults

WRITES = (
    *("CreateSubmission", "CreateCodeSubmission", "SaveKernel", "StartSubmissionUpload", "PUT upload"),
    *("StartBlobUpload", "CreateDataset", "DeleteDataset", "CancelKernelSession"),
)
_PERIODS = {"unavailable": 97, "internal-error": 101, "cut": 103, "html": 199}


def bad_days(*, writes: int = 20, stall_every: int = 499, stall_seconds: float = 5.0) -> list[dict[str, Any]]:
    """Return the script; of so many writes of a kind one goes wrong after it was carried out, and another before."""
    script: list[dict[str, Any]] = [{"kind": "submission-hidden", "after": 0, "for_seconds": 20.0}]
    for method in WRITES:
        script.append({"kind": "cut", "method": method, "skip": writes // 4, "every": writes, "acts": True})
        script.append({"kind": "internal-error", "method": method, "skip": writes // 2, "every": writes})
    script.append({"kind": "kernel-error", "method": "SaveKernel", "skip": 1, "every": 10})
    for told, plain_text in (("none", False), ("honest", True), ("lying", False)):
        limit = {"kind": "rate-limit", "for_seconds": 60.0, "retry_after": told, "plain_text": plain_text}
        script.append(limit | {"skip": 20 * (1 + len(told)), "every": 151})
    script += [{"kind": kind, "skip": period // 2, "every": period} for kind, period in _PERIODS.items()]
    script.append({"kind": "stall", "skip": stall_every // 2, "every": stall_every, "seconds": stall_seconds})
    return [fault if fault["kind"] == "submission-hidden" else fault | {"count": 0} for fault in script]


def faults_of(script: list[dict[str, Any]]) -> Faults:
    """Return the faults of a script."""
    return Faults([Fault.model_validate(fault) for fault in script])


def as_toml(script: list[dict[str, Any]]) -> str:
    """Return a script as the text of a file."""
    tables = ("\n".join(f"{key} = {json.dumps(value)}" for key, value in fault.items()) for fault in script)
    return "".join(f"[[fault]]\n{table}\n" for table in tables)
