"""The grader's process: loads a competition's grade.py and scores the files it receives, one request at a time.

It is started as a script, by itself, with the shim of MLE-bench and the folder `competition` beside it. Each request is one
message of a socket pair, with the file's content as an open descriptor: the process opens no paths.
"""

import contextlib
import copy
import importlib
import json
import os
import resource
import socket
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

_MESSAGE = 1 << 16
_MAX_SHOWN = 2_000
"""Characters of an error's text that are passed on."""
_OPEN_FILES = 256
_CORES = 4
"""That a grader is shown at most: pools of processes are as large as there are cores, and its processes are limited."""
_WRITTEN_BYTES = 64_000_000


@dataclass
class _Table:
    """A file that was read: a frame, or the objects of JSON Lines; and its ids as text, where they were asked for."""

    content: Any
    ids: Any = None
    key: tuple[str, ...] = ()
    """The columns of these ids."""


def main(arguments: list[str]) -> None:
    """Serve until the other end is closed; `arguments`: the socket's descriptor, bytes of memory, processes (0: no limit)."""
    descriptor, memory, processes = map(int, arguments)
    main_pid = os.getpid()
    _limit(memory, processes)
    cores = min(_CORES, os.cpu_count() or 1)
    os.cpu_count = lambda: cores
    _be_silent()
    channel = socket.socket(fileno=descriptor)
    _answer(channel, {"n": -1})  # from now on errors are not the sandbox's fault
    folder = Path(__file__).resolve().parent
    sys.path[:0] = [str(folder), str(folder / "competition")]
    sys.path.append(str(folder / "substitutes"))  # what is installed goes first
    tables: dict[str, _Table] = {}
    grade: Callable[..., Any] | None = None
    try:
        _prepare_pandas()
        grade = importlib.import_module("competition.grade").grade
        _answer(channel, {"n": 0})
    except BaseException as error:  # a supervision boundary: whatever foreign code raises is reported to the bot
        _answer(channel, {"n": 0, "failed": _failure(error)})
        return
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, _MESSAGE, 1)
        if not message:
            return
        request = json.loads(message)
        with os.fdopen(descriptors[0], "rb") if descriptors else open(os.devnull, "rb") as file:  # noqa: PTH123
            reply = _do(request, file, tables, grade)
        if os.getpid() != main_pid:
            os._exit(0)  # a copy that the grader forked off and let return
        _answer(channel, {"n": request["n"], **reply})


def _limit(memory: int, processes: int) -> None:
    limits = [(resource.RLIMIT_AS, memory), (resource.RLIMIT_CORE, 0), (resource.RLIMIT_NOFILE, _OPEN_FILES)]
    limits.append((resource.RLIMIT_FSIZE, _WRITTEN_BYTES))
    if processes:
        limits.append((resource.RLIMIT_NPROC, processes))
    for kind, limit in limits:
        _, hard = resource.getrlimit(kind)
        value = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        resource.setrlimit(kind, (value, value))


def _be_silent() -> None:
    """Discard output: nobody reads it, and a full pipe would stop the grader."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nowhere, standard)


def _prepare_pandas() -> None:
    """Make pandas behave like version 2, for which the graders were written, as far as possible."""
    import pandas as pd

    warnings.simplefilter("ignore")
    if not hasattr(pd.DataFrame, "applymap"):
        pd.DataFrame.applymap = pd.DataFrame.map  # type: ignore[attr-defined]
    with contextlib.suppress(pd.errors.OptionError):  # a version that has no other way
        pd.set_option("future.infer_string", False)


def _do(
    request: dict[str, Any], file: BinaryIO, tables: dict[str, _Table], grade: Callable[..., Any]
) -> dict[str, Any]:
    try:
        if request["do"] == "load":
            table, aligned = _load(request, file, tables)
            tables[request["key"]] = table
            return {"rows": len(table.content), "aligned": aligned}
        if request["do"] == "drop":
            tables.pop(request["key"], None)
            return {}
        return _score(request, file, tables, grade)
    except BaseException as error:  # a supervision boundary, as above; SystemExit and KeyboardInterrupt are foreign too
        if any(kind.__name__ == "InvalidSubmissionError" for kind in type(error).__mro__):
            return {"invalid": str(error)[:_MAX_SHOWN]}
        return {"failed": _failure(error)}


def _load(request: dict[str, Any], file: BinaryIO, tables: dict[str, _Table]) -> tuple[_Table, bool]:
    """Read a file; of a table, keep its ids as text, and bring its rows and columns into the order of another."""
    import pandas as pd

    if request["lines"]:
        return _Table([json.loads(line) for line in file if line.strip()]), False
    frame = pd.read_csv(file, float_precision="round_trip")
    key = request["key_columns"]
    if not key or any(list(frame.columns).count(column) != 1 for column in key):
        return _Table(frame), False
    file.seek(0)
    ids = pd.read_csv(file, usecols=key, dtype=str, keep_default_na=False)[key]
    table = _Table(frame, ids.set_axis(range(len(key)), axis=1).assign(nth=ids.groupby(key).cumcount()), tuple(key))
    like = tables[request["like"]].ids if request["like"] else None
    if like is None or len(like) != len(frame):
        return table, False
    places = pd.MultiIndex.from_frame(table.ids).get_indexer(pd.MultiIndex.from_frame(like))
    if (places < 0).any():
        return table, False
    columns = request["columns"] if set(request["columns"]) <= set(frame.columns) else list(frame.columns)
    return _Table(frame[columns].iloc[places].reset_index(drop=True), like, table.key), True


def _score(
    request: dict[str, Any], file: BinaryIO, tables: dict[str, _Table], grade: Callable[..., Any]
) -> dict[str, Any]:
    import numpy as np

    numbers = np.frombuffer(file.read(), dtype=np.int64)
    rows, donors = np.split(numbers, 2) if request["taken"] else (numbers if request["rows"] else None, None)
    # Copies, as a grader may change what it is given.
    submission, answers = (_part(tables[request[side]].content, rows) for side in ("submission", "answers"))
    if donors is not None:
        table = tables[request["submission"]]
        donor_rows = _part(table.content, donors)
        submission = donor_rows.assign(**{column: submission[column] for column in table.key})
    result = grade(submission, answers)
    value = np.asarray(result)
    if value.dtype.kind not in "biuf" or value.size != 1:
        raise TypeError(f"grade returned {type(result).__name__}, not a number")
    score = float(value.item())
    return {"score": score if np.isfinite(score) else None}


def _part(content: Any, rows: Any) -> Any:
    if isinstance(content, list):
        return copy.deepcopy(content if rows is None else [content[row] for row in rows])
    return content.copy() if rows is None else content.iloc[rows].reset_index(drop=True)


def _failure(error: BaseException) -> dict[str, Any]:
    """Return an error's class, its text, the module that it misses, and its place in grade.py."""
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).name == "grade.py"]
    return {
        "kind": type(error).__name__,
        "text": str(error)[:_MAX_SHOWN],
        "module": error.name if isinstance(error, ImportError) else None,
        "line": lines[-1].lineno if lines else getattr(error, "lineno", None),
    }


def _answer(channel: socket.socket, reply: dict[str, Any]) -> None:
    channel.send(json.dumps(reply).encode())


if __name__ == "__main__":
    main(sys.argv[1:])
