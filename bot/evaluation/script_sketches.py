"""Sketches of our scripts, made where numpy may be loaded; they are compared elsewhere."""

import base64

from scrapers.posts.sketches import sketch_of

__all__ = ["sketch_script"]


def sketch_script(text: str) -> dict[str, str | None] | None:
    """Return a script's sketch, None for one without a word.

    Returns:
        `sha256`, and `code` and `prose`: the signatures of `scrapers.posts.sketches` in base64, None where there is too little.
    """
    made = sketch_of(text, "kernel", "script")
    if made is None:
        return None
    return {"sha256": made.sha256, "code": _text(made.code), "prose": _text(made.prose)}


def _text(signature: bytes | None) -> str | None:
    return None if signature is None else base64.b64encode(signature).decode()
