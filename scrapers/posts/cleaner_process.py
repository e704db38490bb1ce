"""The cleaners' side: reads texts, answers with what they say, and lets none of them do harm to more than itself."""

import base64
import os
import queue
import resource
import sys
import threading
import traceback
import warnings
from collections.abc import Callable
from typing import Any, BinaryIO

from scrapers.posts.cleaning import LARGEST_TEXT, both_ends, readable
from scrapers.posts.frames import Frame, packed, read_frame
from scrapers.posts.kernel_source import text_of
from scrapers.posts.sketches import sketch_of

Reading = Callable[[dict[str, Any], str], str]


def serve(memory_bytes: int, read: Reading | None = None) -> None:
    """Answer messages from standard input until it is closed; when the bot dies, this ends at once, too.

    Args:
        memory_bytes: limit of the address space.
        read: how a text is read; None means `text_as`.
    """
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Nothing here is to be written anywhere.
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    os.nice(5)  # whoever waits for the bot's own process waits less
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    frames: queue.SimpleQueue[Frame] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(frames,), daemon=True).start()
    while True:
        frame = frames.get()
        for piece in _answer(frame, read or text_as):
            answers.write(piece)
        answers.flush()


def _listen(frames: "queue.SimpleQueue[Frame]") -> None:
    file: BinaryIO = sys.stdin.buffer
    try:
        while (frame := read_frame(file)) is not None:
            frames.put(frame)
            del frame
    finally:
        os._exit(0)


def _answer(frame: Frame, read: Reading) -> list[bytes]:
    told: list[dict[str, Any]] = []
    bodies: list[bytes] = []
    while frame.bodies:
        about, body = _cleaned(frame.told[len(told)], frame.bodies.pop(0), read)
        told.append(about)
        bodies.append(body)
    return packed(told, bodies)


def _cleaned(asked: dict[str, Any], body: bytes, read: Reading) -> tuple[dict[str, Any], bytes]:
    text = body.decode(errors="surrogatepass")
    del body
    about: dict[str, Any] = {"sha256": None, "code": None, "prose": None, "problem": None}
    try:
        cleaned = read(asked, text)
        kind, kernel_type = ("kernel", asked["kernel_type"]) if asked["form"] == "kernel" else ("message", None)
        sketch = sketch_of(cleaned, kind, kernel_type)  # type: ignore[arg-type]  # one of the two it may be
    except Exception:  # a supervision boundary: whatever reading a text raises is that text's trouble alone
        about["problem"] = traceback.format_exc(limit=-3)[-2_000:]
        return about, readable(both_ends(text, 2 * LARGEST_TEXT)).encode()
    if sketch is not None:
        parts = {"code": sketch.code, "prose": sketch.prose}
        about |= {name: part and base64.b64encode(part).decode() for name, part in parts.items()}
        about["sha256"] = sketch.sha256
    return about, cleaned.encode()


def text_as(asked: dict[str, Any], text: str) -> str:
    """Return a text cleaned, as what it was said to be."""
    if asked["form"] == "html":
        # Imported here, as it takes a while, and a replay reads no HTML.
        from scrapers.posts.markdown import markdown_of

        return markdown_of(text)
    if asked["form"] == "markdown":
        return readable(text)
    return text_of(text, language=asked["language"], kernel_type=asked["kernel_type"])


if __name__ == "__main__":
    serve(int(sys.argv[1]))
