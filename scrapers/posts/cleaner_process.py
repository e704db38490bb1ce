"""The cleaners' side: reads texts, answers with what they say, and lets none of them do harm to more than itself.

A line of JSON asks for some texts to be cleaned, and a line of JSON answers; see `scrapers.posts.cleaners`.
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


def text_as(asked: dict[str, Any]) -> str:
    """Return the text of a `Source`, cleaned, as what it is said to be."""
    if asked["form"] == "html":
        # Imported here, as it takes a while, and a replay reads no HTML.
        from scrapers.posts.html import markdown_of

        return markdown_of(asked["text"])
    if asked["form"] == "markdown":
        return readable(asked["text"])
    return text_of(asked["text"], language=asked["language"], kernel_type=asked["kernel_type"])


def serve(memory_bytes: int, seconds: int, read: Reading = text_as) -> None:
    """Answer lines from standard input until it is closed.

    Args:
        memory_bytes: limit of the address space.
        seconds: which the texts of one line may take; the process ends itself then, whether or not anybody waits for it.
        read: how a text is read.
    """
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Nothing here is to be written anywhere.
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    os.nice(5)  # whoever waits for the bot's own process waits less
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    for line in sys.stdin.buffer:
        signal.alarm(seconds)
        answer = [_cleaned(asked, read) for asked in json.loads(line)]
        signal.alarm(0)
        answers.write(json.dumps(answer, ensure_ascii=False).encode() + b"\n")
        answers.flush()


def _cleaned(asked: dict[str, Any], read: Reading) -> dict[str, Any]:
    answer: dict[str, Any] = {"sha256": None, "code": None, "prose": None, "problem": None}
    try:
        text = read(asked)
        kind, kernel_type = ("kernel", asked["kernel_type"]) if asked["form"] == "kernel" else ("message", None)
        sketch = sketch_of(text, kind, kernel_type)  # type: ignore[arg-type]  # one of the two it may be
    except Exception:  # a supervision boundary: whatever reading a text raises is that text's trouble alone
        shortened = readable(both_ends(asked["text"], 2 * LARGEST_TEXT))
        return answer | {"text": shortened, "problem": traceback.format_exc(limit=-3)[-2_000:]}
    if sketch is not None:
        parts = {"code": sketch.code, "prose": sketch.prose}
        answer |= {name: part and part.hex() for name, part in parts.items()}
        answer["sha256"] = sketch.sha256
    return answer | {"text": text}


if __name__ == "__main__":
    serve(int(sys.argv[1]), int(sys.argv[2]))
