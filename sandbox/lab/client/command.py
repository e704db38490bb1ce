"""The command `lab`."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any, NoReturn

from .arrays import array_file
from .protocol import FilePart, LabError, call, file_part
from .report import read_report
from .sources import named_sources

_SCRIPT_BYTES = 100_000
_NOT_ARGUMENTS = ("command", "oof", "train", "validation", "test", "files", "file", "infer", "report")
_REPORT_HELP = (
    "the report: lines `method: ...`, `components: ...` (with what each contributed), `limitations: ...`, `next: ...`, "
    "or JSON with these keys"
)


def main() -> int:
    """Make one call; return the exit status: 0 for success, 1 for the engine's refusal, 2 for misuse."""
    try:
        options = _parser().parse_args()
        if options.command == "help":
            _parser().print_help()
            return 0
        print(_request(options)["text"].rstrip("\n"), flush=True)
        return 0
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has gone; Python would complain once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1


def _request(options: argparse.Namespace) -> dict[str, Any]:
    arguments = {name: value for name, value in vars(options).items() if name not in _NOT_ARGUMENTS}
    parts = []
    if options.command in ("log", "fit"):
        roles = ("oof", "validation", "test") if options.command == "log" else ("train", "validation", "test")
        paths = {role: getattr(options, role) for role in roles}
        parts = [array_file(role, path) for role, path in paths.items() if path is not None]
        parts += named_sources(getattr(options, "files", ()))
    elif options.command == "score":
        scripts = {"solution.py": options.file, "infer.py": options.infer}
        parts = [_script(name, path) for name, path in scripts.items() if path is not None]
    elif options.command == "note":
        arguments["text"] = " ".join(options.text)
    elif options.command == "done":
        arguments = read_report(options.report)
    return call(options.command, arguments, parts)


def _script(name: str, path: str) -> FilePart:
    part = file_part("source", name, path, _SCRIPT_BYTES)
    try:
        part.content.read(_SCRIPT_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise LabError(f"cannot read {path!r}: byte {error.start} is not UTF-8 text") from None
    part.content.seek(0)
    return part


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message}; see `{self.prog} --help`", file=sys.stderr)
        sys.exit(2)


def _parser() -> _Parser:
    parser = _Parser(
        prog="lab",
        description="Send requests to the engine. Exit status: 0 for success, 1 for a refusal, 2 for wrong usage.",
        epilog="In Python: `from lab import log, fit, wait, status, board, note, withdraw`; if you have your own lab.py, "
        "use `from lab_engine import ...`.",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)

    def command(name: str, text: str) -> argparse.ArgumentParser:
        return commands.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.", allow_abbrev=False)

    log = command("log", "log an experiment's predictions; the engine scores and compares it")
    log.add_argument("name", metavar="NAME", help="name of the experiment")
    log.add_argument(
        "--oof", metavar="FILE", help="out-of-fold predictions for the training rows, in the order of folds.csv (.npy)"
    )
    log.add_argument("--validation", metavar="FILE", help="predictions for the rows of validation.csv")
    log.add_argument("--test", metavar="FILE", help="predictions for the rows of the sample submission")
    log.add_argument("--files", nargs="+", default=[], action="extend", metavar="FILE", help="source files")
    log.add_argument("--retrain", default="", metavar="CMD", help="command that retrains on all labelled rows")
    log.add_argument(
        "--uses", nargs="+", default=[], action="extend", metavar="NAME", help="experiments that it builds on"
    )
    log.add_argument("--compare-to", default="", metavar="NAME", help="experiment to compare with (default: the best)")
    log.add_argument("--seconds", type=float, metavar="N", help="how long the experiment took, in seconds")
    log.add_argument("--check", action="store_true", help="always report the leakage check")
    log.add_argument("--verbose", action="store_true", help="also show the score of each column")
    fit = command("fit", "have the engine fit its portfolio of models on your features in idle time")
    fit.add_argument("name", metavar="NAME", help="name of the fit; its models are logged as experiments NAME/...")
    fit.add_argument(
        "--train", required=True, metavar="FILE", help="features of the training rows, in the order of folds.csv (.npz)"
    )
    fit.add_argument("--validation", required=True, metavar="FILE", help="features of the rows of validation.csv")
    fit.add_argument("--test", required=True, metavar="FILE", help="features of the rows of the sample submission")
    for option, text in (("--categories", "columns with categories"), ("--encode", "columns to target-encode")):
        fit.add_argument(
            option, type=_columns, default=[], metavar="COLUMNS", help=f"{text} (comma-separated, counting from 0)"
        )
    wait = command("wait", "wait for one fit or all fits, leaving the cores free for them")
    wait.add_argument("name", metavar="NAME", nargs="?", default="", help="name of a fit or experiment (default: all)")
    score = command("score", "run a whole script from scratch and score it on the validation rows")
    score.add_argument("file", metavar="FILE", help=f"the script, at most {_SCRIPT_BYTES // 1000} kB")
    score.add_argument(
        "--infer", metavar="FILE", help="the inference script for the notebook, in notebook competitions only"
    )
    command("status", "show the remaining time, money and turns, the best score and the ensemble")
    board = command("board", "list the run's best and newest experiments, one per line")
    board.add_argument("--all", action="store_true", help="list all experiments")
    command("ideas", "list the ideas from the posts for this draft")
    note = command("note", "leave a one-line note for other labs")
    note.add_argument("text", metavar="TEXT", nargs="+", help="the note")
    withdraw = command("withdraw", "exclude an experiment from the ensemble and the final selection")
    withdraw.add_argument("name", metavar="NAME", help="name of the experiment")
    for subparser in (log, fit, score, withdraw):
        subparser.add_argument("--note", default="", metavar="TEXT", help="short note on the experiment")
    done_command = command("done", "end this lab with a report")
    done_command.add_argument(
        "report", metavar="REPORT", nargs="?", help=f"{_REPORT_HELP} (default: the text piped to stdin, if any)"
    )
    command("help", "print this help")
    return parser


def _columns(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
