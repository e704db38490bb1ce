"""The report that ends a lab, from a file or from what is piped into the command."""

from __future__ import annotations

import json
import os
import select
import stat
import sys
from typing import Any

from .protocol import LabError, open_plain

_REPORT_BYTES, _CHUNK = 50_000, 64 * 1024
_SILENT_SECONDS = 5.0
_HEADINGS = ("method", "components", "limitations", "next")


def read_report(path: str | None) -> dict[str, str]:
    """Read the report from a file, or from stdin if something is piped there."""
    if path is not None and path.endswith(".py"):
        raise LabError(f"{path!r} is a script: REPORT names the closing report; work/solution.py is always collected")
    if path is not None:
        with open_plain(path, _REPORT_BYTES) as file:
            content = file.read(_REPORT_BYTES)
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
    while len(read) <= _REPORT_BYTES:
        if not select.select([0], [], [], _SILENT_SECONDS)[0]:
            print(f"lab: no more input on stdin for {_SILENT_SECONDS:.0f} s; continuing without it", file=sys.stderr)
            return read
        try:
            part = os.read(0, _CHUNK)
        except OSError:
            return read
        if not part:
            return read
        read += part
    raise LabError(f"the report is longer than {_REPORT_BYTES} bytes")


def _report_in_json(text: str) -> dict[str, str]:
    """Return the parts of a report that is a JSON object, nothing if it is none."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(content, dict):
        return {}
    parts = {name: _as_text(content.pop(name)) for name in _HEADINGS if name in content}
    further = "\n".join(f"{name}: {_as_text(value)}" for name, value in content.items())
    return {**parts, "remarks": further} if further else parts


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _report_in_lines(text: str) -> dict[str, str]:
    """Return the parts of a report in lines; a line without a heading belongs to the heading before it."""
    parts: dict[str, list[str]] = {}
    current = "remarks"
    for line in text.splitlines():
        heading, colon, value = line.partition(":")
        name = heading.strip(" \t*#-").lower()
        if colon and name in _HEADINGS:
            current, line = name, value.strip(" \t*")
        parts.setdefault(current, []).append(line)
    joined = {name: "\n".join(lines).strip() for name, lines in parts.items()}
    return {name: part for name, part in joined.items() if part}
