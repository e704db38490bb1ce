"""The child process of the cleaners: cleans texts, and contains the harm that a text may do.

Each request for some texts is a line of JSON, and so is its answer; see `scrapers.posts.cleaners`.
"""

import json
import os
import resource
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from typing import Any

from scrapers.posts.cleaning import LARGEST_TEXT, both_ends, readable
from scrapers.posts.kernel_text import text_of
from scrapers.posts.sketches import sketch_of

Reading = Callable[[dict[str, Any]], str]


def text_as(request: dict[str, Any]) -> str:
    """Return the text of a `RawPost`, cleaned according to its form."""
    if request["form"] == "html":
        # Imported here, as it takes a while, and a replay reads no HTML.
        from scrapers.posts.html import markdown_of

        return markdown_of(request["text"])
    if request["form"] == "markdown":
        return readable(request["text"])
    return text_of(request["text"], language=request["language"], kernel_type=request["kernel_type"])


def serve(memory_bytes: int, seconds: int, read: Reading = text_as) -> None:
    """Answer lines until standard input is closed; the process ends itself if the texts of one take more than `seconds`."""
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # This process writes no files.
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    os.nice(5)  # the bot's own process comes first
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    for line in sys.stdin.buffer:
        signal.alarm(seconds)
        answer = [_cleaned(request, read) for request in json.loads(line)]
        signal.alarm(0)
        answers.write(json.dumps(answer, ensure_ascii=False).encode() + b"\n")
        answers.flush()


def _cleaned(request: dict[str, Any], read: Reading) -> dict[str, Any]:
    answer: dict[str, Any] = {"sha256": None, "code": None, "prose": None, "problem": None}
    try:
        text = read(request)
        kind, kernel_type = ("kernel", request["kernel_type"]) if request["form"] == "kernel" else ("message", None)
        sketch = sketch_of(text, kind, kernel_type)  # type: ignore[arg-type]  # one of the two it may be
    except Exception:  # a supervision boundary: an error affects only the text that caused it
        shortened = readable(both_ends(request["text"], 2 * LARGEST_TEXT))
        return answer | {"text": shortened, "problem": traceback.format_exc(limit=-3)[-2_000:]}
    if sketch is not None:
        parts = {"code": sketch.code, "prose": sketch.prose}
        answer |= {name: part and part.hex() for name, part in parts.items()}
        answer["sha256"] = sketch.sha256
    return answer | {"text": text}


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]))
