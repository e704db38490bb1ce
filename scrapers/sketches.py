"""Sketches: what a text is recognised by when it comes again, whole or nearly, code and prose apart.

The code is taken as tokens without comments, layout and output, the prose as words in lower case. Of each, the sets of
runs of neighbours (five tokens, three words) of two texts are compared by MinHash (Broder 1997, as datasketch computes
it): the share of equal numbers in two signatures estimates the share of runs that the two have in common (Jaccard), with
a standard error of .035 at .8. Here signatures are made; they are compared in `scrapers.duplicates`, without numpy.
"""

import hashlib
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from scrapers.fences import parts

if TYPE_CHECKING:
    from datasketch import MinHash

PERMUTATIONS = 128
"""Numbers of a signature."""
FEWEST = 20
"""Different runs that a part must have to be compared: of less, chance would make near-duplicates."""

_TOKEN = re.compile(r"[A-Za-z_]\w*|\d+(?:\.\d+)?|[^\s\w]")
_COMMENT = re.compile(r"#[^\n]*")
_WORD = re.compile(r"\w+")
_AT_ONCE = 2_000
"""Runs whose numbers are computed at once: a megabyte each thousand."""


@dataclass(frozen=True)
class Sketch:
    """What one text is recognised by; a signature is `PERMUTATIONS` 32-bit little-endian numbers."""

    sha256: str
    """Hex, of the tokens and words: equal for texts that differ in layout, comments and output alone."""
    code: bytes | None
    """The code's signature, None where there is too little code to compare."""
    prose: bytes | None


def sketch_of(text: str, kind: Literal["message", "kernel"], kernel_kind: str | None = None) -> Sketch | None:
    """Return a cleaned text's sketch, None for a text without a word.

    Args:
        text: a message's markdown or a kernel's text.
        kind: which of them.
        kernel_kind: `script` where the whole text is code, unless it has fences, as R markdown does.
    """
    code, prose = _code_and_prose(text, all_code=kind == "kernel" and kernel_kind == "script")
    tokens, words = _TOKEN.findall(_COMMENT.sub("", code)), _WORD.findall(prose.lower())
    if not tokens and not words:
        return None
    normal = f"{kind}\0{' '.join(tokens)}\0{' '.join(words)}"
    return Sketch(hashlib.sha256(normal.encode()).hexdigest(), _signature(tokens, 5), _signature(words, 3))


def _code_and_prose(text: str, *, all_code: bool) -> tuple[str, str]:
    found = list(parts(text))
    if all_code and all(part.language is None for part in found):
        return text, ""
    # Output stands in fences of `text`; two runs of one program print other figures.
    code = "\n".join(part.text for part in found if part.language not in (None, "text"))
    return code, "\n".join(part.text for part in found if part.language is None)


def _signature(words: Sequence[str], length: int) -> bytes | None:
    """Return the signature of the set of runs of `length` neighbours, None where it has fewer than `FEWEST`."""
    runs = list({" ".join(words[start : start + length]) for start in range(len(words) - length + 1)})
    if len(runs) < FEWEST:
        return None
    made = _minhash()
    made.clear()
    for start in range(0, len(runs), _AT_ONCE):
        made.update_batch([run.encode() for run in runs[start : start + _AT_ONCE]])
    signature: bytes = made.hashvalues.astype("<u4").tobytes()
    return signature


@cache
def _minhash() -> "MinHash":
    """Return what signatures are made with, one after the other: its permutations take longer to make than most of them."""
    # Imported here, as it brings numpy and scipy, which only the processes that clean may load.
    from datasketch import MinHash

    return MinHash(num_perm=PERMUTATIONS, seed=1, hashfunc=zlib.crc32, scheme="affine32")
