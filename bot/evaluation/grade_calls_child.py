"""The child's side of `grade_calls`: loads a grader and its answers, then scores a submission a line."""

import copy
import importlib
import json
import logging
import math
import os
import resource
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

_PACKAGE = "mlebench.competitions.graded"


class InvalidSubmissionError(Exception):
    """What graders raise for a submission that cannot be scored."""


def _module(name: str, path: list[str], **names: Any) -> None:
    module = ModuleType(name)
    module.__path__ = path
    vars(module).update(names)
    sys.modules[name] = module


def _load(grade_py: Path, answers: Path) -> tuple[Any, Any]:
    import pandas as pd

    _module("mlebench", [])
    _module("mlebench.grade_helpers", [], InvalidSubmissionError=InvalidSubmissionError)
    _module("mlebench.utils", [], get_logger=logging.getLogger)
    _module("mlebench.competitions", [])
    _module(_PACKAGE, [str(grade_py.parent)])
    grade = importlib.import_module(f"{_PACKAGE}.{grade_py.stem}").grade
    if answers.suffix.lower() == ".jsonl":
        with answers.open(encoding="utf-8") as lines:
            return grade, [json.loads(line) for line in lines if line.strip()]
    return grade, pd.read_csv(answers, float_precision="round_trip")


def _scored(grade: Any, answers: Any, submission: str) -> dict[str, Any]:
    import pandas as pd

    try:
        score = float(grade(pd.read_csv(submission, float_precision="round_trip"), copy.deepcopy(answers)))
    except InvalidSubmissionError as error:
        return {"score": None, "fault": f"refused: {error}"}
    except Exception as error:  # whatever a grader raises makes the submission invalid, as in MLE-bench
        return {"score": None, "fault": f"{type(error).__name__}: {error}"}
    return {"score": score, "fault": None} if math.isfinite(score) else {"score": None, "fault": "no finite score"}


def _main(grade_py: Path, answers: Path, memory: int) -> None:
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    memory = memory if hard == resource.RLIM_INFINITY else min(memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    sys.dont_write_bytecode = True
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a grader prints is no answer

    def reply(value: dict[str, Any]) -> None:
        replies.write(json.dumps(value) + "\n")
        replies.flush()

    questions = sys.stdin
    sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115, PTH123 -- for the process's whole life
    try:
        grade, truth = _load(grade_py, answers)
    except Exception as error:  # foreign code is loaded
        reply({"broken": f"{type(error).__name__}: {error}"})
        return
    reply({"score": None, "fault": None})
    for line in questions:
        reply(_scored(grade, truth, json.loads(line)))


if __name__ == "__main__":
    _main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
