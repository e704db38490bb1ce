"""Foreign text made safe to store and to show: line ends, control characters, lone surrogates, length."""

import re

LARGEST_TEXT = 200_000
"""Bytes of UTF-8 that a cleaned text has at most."""

# Controls but tab and newline, and the marks that reorder text on screen so that it reads as something else.
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SURROGATES = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """Return the text with newline line ends, without control characters, and encodable as UTF-8."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _SURROGATES.sub("\ufffd", _CONTROLS.sub("", text))


def cut_middle(text: str, largest: int = LARGEST_TEXT) -> str:
    """Return the text, or its first and last part with a note between, so that it has at most `largest` bytes."""
    data = text.encode()
    if len(data) <= largest:
        return text
    note = f"\n\n[... {len(data) - largest:,} bytes cut from the middle ...]\n\n"
    half = (largest - len(note.encode()) - 16) // 2  # 16: the count in the note may gain digits
    start, end = data[:half].decode(errors="ignore"), data[-half:].decode(errors="ignore")
    note = f"\n\n[... {len(data) - 2 * half:,} bytes cut from the middle ...]\n\n"
    return start + note + end
