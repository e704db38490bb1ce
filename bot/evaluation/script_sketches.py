"""Sketches of scripts and kernels, made where numpy may be loaded; they are compared elsewhere."""

import base64
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from scrapers.sketches import sketch_of

__all__ = ["Code", "sketch_scripts"]


class Code(BaseModel):
    """One text with code: a script of ours, or a kernel's cleaned text."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: str
    kind: str | None = None
    """As of a kernel: `script` where all of it is code."""


def sketch_scripts(codes: Sequence[Code]) -> list[dict[str, Any] | None]:
    """Return each text's sketch, None for one without a word.

    Returns:
        `sha256`, and `code` and `prose`: the signatures of `scrapers.sketches` in base64, None where there is too little.
    """
    return [_sketched(code) for code in codes]


def _sketched(code: Code) -> dict[str, Any] | None:
    made = sketch_of(code.text, "kernel", code.kind)
    if made is None:
        return None
    return {"sha256": made.sha256, "code": _text(made.code), "prose": _text(made.prose)}


def _text(signature: bytes | None) -> str | None:
    return None if signature is None else base64.b64encode(signature).decode()
