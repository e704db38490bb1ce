#!/usr/bin/env python3
"""The command `lab`, for programs inside a lab: asks the engine, over the lab's socket, and prints its answer.

It runs in a lab by itself, on Python 3.9 or later and its standard library; an array of predictions needs numpy, which made it.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import select
import socket
import stat
import sys
import time
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

SOCKET = "/lab/.engine/socket"
FOLDS, SAMPLE = "/lab/folds.csv", "/lab/data/sample_submission.csv"
SCRIPT_BYTES, FILE_BYTES, REPORT_BYTES = 100_000, 200_000_000, 50_000
_HEADER_BYTES, _ANSWER_BYTES, _CHUNK = 64 * 1024, 256 * 1024, 1024 * 1024
_BUSY_SECONDS, _SILENT_SECONDS = 60.0, 5.0
_REPORT = ("believed", "seen", "why", "condition")
_REPORT_HELP = "the report: lines `believed: ...`, `seen: ...`, `why: ...`, `condition: ...`, or JSON with these keys"


class Trouble(Exception):
    """What ends the command: a sentence, and its exit status."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


def main() -> int:
    """Make one call; return the exit status: 0 for success, 1 for the engine's refusal, 2 for misuse."""
    try:
        return run(_parser().parse_args())
    except Trouble as trouble:
        print(f"lab: {trouble}", file=sys.stderr)
        return trouble.status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has gone; Python would complain once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def run(options: argparse.Namespace) -> int:
    """Make the call that was asked for, and print the answer."""
    command = options.command
    if command == "help":
        _parser().print_help()
        return 0
    arguments: dict[str, Any] = {}
    path, most = None, 0
    if command == "board":
        arguments = {"all": options.all}
    elif command == "score":
        arguments = {"note": options.note, "background": options.background}
        if options.infer is not None:
            return score_both(options.file, options.infer, arguments)
        path, most = options.file, SCRIPT_BYTES
    elif command == "log":
        arguments = {"name": options.name, "note": options.note, "against": options.against}
        path, most = options.oof, FILE_BYTES
    elif command == "note":
        arguments = {"text": " ".join(options.text)}
    elif command == "done":
        arguments = read_report(options.file)
    if path is None:
        return call(command, arguments, 0, None)
    if path.endswith(".npy") and command == "log":
        table = table_of(path)
        return call(command, arguments, len(table), io.BytesIO(table))
    with open_plain(path, most) as file:
        size = os.fstat(file.fileno()).st_size
        if command == "score":
            check_text(file, path)
        return call(command, arguments, size, file)


def score_both(path: str, infer: str, arguments: dict[str, Any]) -> int:
    """Send a script and the one that predicts in a notebook, one behind the other."""
    sent = b""
    for one in (path, infer):
        with open_plain(one, SCRIPT_BYTES) as file:
            check_text(file, one)
            sent += (last := file.read(SCRIPT_BYTES))
    return call("score", {**arguments, "infer_bytes": len(last)}, len(sent), io.BytesIO(sent))


def table_of(path: str) -> bytes:
    """Return the CSV table for an array of predictions: a row for each of folds.csv, a column for each that is predicted."""
    try:
        import numpy

        with open_plain(path, FILE_BYTES) as file:
            array = numpy.asarray(numpy.load(file, allow_pickle=False))
        with Path(FOLDS).open(newline="") as folds, Path(SAMPLE).open(newline="") as sample:
            (_, *keys, _), *rows = csv.reader(folds)
            predicted = [name for name in next(csv.reader(sample)) if name not in keys]
    except (ImportError, OSError, ValueError, EOFError) as error:
        raise Trouble(f"cannot take {path!r}: {error}", 2) from None
    if array.ndim == 1:
        array = array.reshape(-1, 1)
    if array.shape != (len(rows), len(predicted)):
        wanted = (
            f"{(len(rows), len(predicted))}: a row for each of folds.csv, in its order, and {', '.join(predicted[:9])}"
        )
        raise Trouble(f"cannot take {path!r}: its shape is {array.shape}, and must be {wanted}", 2)
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow([*keys, *predicted])
    values = array.tolist()
    for row, (_, *key, fold) in enumerate(rows):
        if fold != "-1":
            table.writerow([*key, *values[row]])
    return text.getvalue().encode()


def call(command: str, arguments: dict[str, Any], size: int, file: BinaryIO | None) -> int:
    """Send a call with so many bytes of a file, wait for the answer as long as it takes, and print it."""
    header = json.dumps({"command": command, "arguments": _sendable(arguments), "bytes": size}, ensure_ascii=False)
    first = header.encode() + b"\n"
    if len(first) > _HEADER_BYTES:
        raise Trouble(f"the text is too long: {len(first)} bytes, and {_HEADER_BYTES} are the most", 2)
    with connect(os.environ.get("LAB_SOCKET") or SOCKET) as connection:
        try:
            connection.sendall(first)
            send_file(connection, size, file)
        except (BrokenPipeError, ConnectionResetError):
            pass  # It was refused before all was sent; the answer says why.
        answer = receive_answer(connection)
    text = answer["text"].rstrip("\n")
    if answer["status"] == 0:
        print(text, flush=True)
    else:
        print(f"lab: {text}", file=sys.stderr)
    return int(answer["status"])


def send_file(connection: socket.socket, size: int, file: BinaryIO | None) -> None:
    """Send so many bytes of the file."""
    left = size
    while file is not None and left:
        part = file.read(min(left, _CHUNK))
        if not part:
            raise Trouble("the file became shorter while it was sent", 1)
        connection.sendall(part)
        left -= len(part)


def connect(path: str) -> socket.socket:
    """Connect to the engine; where it is busy this waits, and tries again where the kernel does not let it wait."""
    end = time.monotonic() + _BUSY_SECONDS
    while True:
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(path)
            return connection
        except BlockingIOError:
            connection.close()
            if time.monotonic() > end:
                raise Trouble("the engine is too busy to answer; try again later", 1) from None
            time.sleep(0.05)
        except OSError as error:
            connection.close()
            reason = error.strerror or str(error)
            raise Trouble(f"the engine does not answer on its socket {path} ({reason})", 1) from None


def receive_answer(connection: socket.socket) -> dict[str, Any]:
    """Wait for the answer."""
    read = bytearray()
    try:
        while not read.endswith(b"\n") and len(read) < _ANSWER_BYTES:
            part = connection.recv(_CHUNK)
            if not part:
                break
            read += part
    except OSError:
        pass  # An answer that came whole stands.
    try:
        answer = json.loads(read)
        if isinstance(answer["text"], str) and answer["status"] in (0, 1, 2):
            return dict(answer)
    except (ValueError, KeyError, TypeError, RecursionError):
        pass
    raise Trouble("the engine closed the connection without an answer", 1)


def open_plain(path: str, most: int) -> BinaryIO:
    """Open a regular file of a bounded size; a pipe or device would make us wait, or never end."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:
        raise Trouble(f"cannot read {path!r}: {getattr(error, 'strerror', None) or error}", 2) from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        problem = "it is not a regular file"
    elif status.st_size == 0:
        problem = "it is empty"
    elif status.st_size > most:
        problem = f"it has {status.st_size} bytes, and {most} are the most"
    else:
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise Trouble(f"cannot take {path!r}: {problem}", 2)


def check_text(file: BinaryIO, path: str) -> None:
    """Look whether a script is UTF-8, and return to its start."""
    try:
        file.read(SCRIPT_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise Trouble(f"cannot take {path!r}: byte {error.start} is not UTF-8 text", 2) from None
    file.seek(0)


def read_report(path: str | None) -> dict[str, str]:
    """Read the report from a file, or from stdin if something is piped there."""
    if path is not None and path.endswith(".py"):
        raise Trouble(
            f"{path!r} is a script: REPORT is the text that ends your work; work/solution.py is taken as it is", 2
        )
    if path is not None:
        with open_plain(path, REPORT_BYTES) as file:
            content = file.read(REPORT_BYTES)
    else:
        content = _piped()
    text = content.decode("utf-8", "replace")
    return _report_in_json(text) or _report_in_lines(text)


def _piped() -> bytes:
    """Return what is piped into us; a pipe that says nothing for a while does not keep us waiting."""
    read = b""
    try:
        kind = os.fstat(0).st_mode
    except OSError:  # There is no stdin.
        return read
    if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind)):
        return read
    while len(read) <= REPORT_BYTES:
        if not select.select([0], [], [], _SILENT_SECONDS)[0]:
            print(f"lab: nothing more came on stdin for {_SILENT_SECONDS:.0f} s; going on without", file=sys.stderr)
            return read
        try:
            part = os.read(0, _HEADER_BYTES)
        except OSError:
            return read
        if not part:
            return read
        read += part
    raise Trouble(f"the report is longer than {REPORT_BYTES} bytes", 2)


def _report_in_json(text: str) -> dict[str, str]:
    """Return the parts of a report that is a JSON object, nothing if it is none."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(content, dict):
        return {}
    parts = {name: _as_text(content.pop(name)) for name in _REPORT if name in content}
    other = "\n".join(f"{name}: {_as_text(value)}" for name, value in content.items())
    return {**parts, "other": other} if other else parts


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _report_in_lines(text: str) -> dict[str, str]:
    """Return the parts of a report in lines; a line without a heading belongs to the heading before it."""
    parts: dict[str, list[str]] = {}
    current = "other"
    for line in text.splitlines():
        heading, colon, rest = line.partition(":")
        name = heading.strip(" \t*#-").lower()
        if colon and name in _REPORT:
            current, line = name, rest.strip(" \t*")
        parts.setdefault(current, []).append(line)
    joined = {name: "\n".join(lines).strip() for name, lines in parts.items()}
    return {name: part for name, part in joined.items() if part}


def _sendable(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments without halves of characters, which no UTF-8 can say and an argument may hold."""
    return {
        name: value.encode("utf-8", "replace").decode("utf-8") if isinstance(value, str) else value
        for name, value in arguments.items()
    }


class _Parser(argparse.ArgumentParser):
    """A parser that says of misuse one sentence."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and exit with status 2."""
        print(f"{self.prog}: {message}; see `{self.prog} --help`", file=sys.stderr)
        sys.exit(2)


def _parser() -> _Parser:
    parser = _Parser(
        prog="lab", description="Ask the engine. Exit status: 0 done, 1 refused, 2 misused.", allow_abbrev=False
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.", allow_abbrev=False)

    command("status", "what is left of time, money, looks and replies; the best score")
    board = command("board", "what others tried: ancestors, siblings and the best nodes, a line each")
    board.add_argument("--all", action="store_true", help="all nodes")
    score = command("score", "run a whole script clean and score it on the hold-out rows; takes one of your looks")
    score.add_argument("file", metavar="FILE", help=f"the script, of {SCRIPT_BYTES // 1000} kB at most")
    score.add_argument("--note", default="", metavar="TEXT", help="what it tries")
    score.add_argument(
        "--infer", metavar="FILE", help="the script that predicts in a notebook, where the competition takes notebooks"
    )
    score.add_argument("--background", action="store_true", help="do not wait: you are told when it is done")
    command("wait", "wait for the scripts that are scored in the background, and print their scores")
    log = command(
        "log", "log an experiment that was cross-validated on /lab/folds.csv; the engine scores and compares it"
    )
    log.add_argument("name", metavar="NAME", help="of the experiment")
    log.add_argument(
        "--oof",
        required=True,
        metavar="FILE",
        help="its out-of-fold predictions of 200 MB at most: a CSV file, or an array (.npy) with a row for each of folds.csv",
    )
    log.add_argument("--note", default="", metavar="TEXT", help="what was tried")
    log.add_argument("--against", default="", metavar="NAME", help="compare it with this experiment, not with the best")
    command("ideas", "the ideas that others had for this draft")
    note = command("note", "leave a line that other labs see")
    note.add_argument("text", metavar="TEXT", nargs="+", help="the line")
    done = command("done", "end this lab with a report")
    done.add_argument(
        "file", metavar="REPORT", nargs="?", help=f"{_REPORT_HELP}; without REPORT it is read from stdin, if piped"
    )
    command("help", "say this")
    return parser


if __name__ == "__main__":
    sys.exit(main())
