"""The worker process's side: reads calls as JSON lines, answers them one by one."""

import importlib
import json
import os
import queue
import resource
import sys
import threading
import traceback
import warnings
from typing import Any, TextIO, get_type_hints

from pydantic import TypeAdapter
from pydantic_core import to_jsonable_python

from bot.evaluation.ops import function_path
from state.errors import BotError, SnapshotError, UsageError


def serve(memory_bytes: int) -> None:
    """Answer calls from standard input until it is closed.

    Standard output belongs to the answers; what libraries print goes to standard error. When the bot dies, its end
    of the pipe closes and the process ends at once, whatever it is doing.

    Args:
        memory_bytes: limit of the address space.
    """
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    # Libraries' advice about odd data is no failure, and nobody reads it here.
    warnings.simplefilter("ignore")
    calls: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(calls,), daemon=True).start()
    while True:
        _answer(calls.get(), answers)


def _listen(calls: "queue.SimpleQueue[str]") -> None:
    try:
        for line in sys.stdin:
            calls.put(line)
    finally:
        os._exit(0)


def _answer(line: str, answers: TextIO) -> None:
    call = json.loads(line)
    try:
        result = _run(call["op"], call["args"])
        reply = {"result": to_jsonable_python(result, inf_nan_mode="null")}
    except SnapshotError as error:
        problems = [[problem.file, problem.line, problem.message] for problem in error.problems]
        reply = {"error": type(error).__name__, "message": str(error), "problems": problems}
    except BotError as error:
        reply = {"error": type(error).__name__, "message": str(error)}
    except Exception:  # a supervision boundary: whatever a call raises must reach the bot
        reply = {"failure": traceback.format_exc()}
    answers.write(json.dumps({"id": call["id"], **reply}) + "\n")
    answers.flush()


def _run(op: str, arguments: dict[str, Any]) -> Any:
    """Call an operation's function, its JSON arguments turned into what its annotations ask for."""
    path = function_path(op)
    if path is None:
        raise UsageError(f"The worker knows no operation {op!r}.")
    module, _, name = path.partition(":")
    function = getattr(importlib.import_module(module), name)
    hints = get_type_hints(function)
    typed = {key: TypeAdapter(hints[key]).validate_python(value) for key, value in arguments.items()}
    return function(**typed)
