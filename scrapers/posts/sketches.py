"""Sketches, by which a text is recognised when it comes again, exactly or nearly; code and prose are kept apart.

The code is taken as tokens without comments, layout and output, the prose as words in lower case. Of each, the sets of
runs of neighbours (five tokens, three words) of two texts are compared by MinHash (Broder 1997): the share of equal
numbers in two signatures estimates the share of runs that the two have in common (Jaccard), with a standard error of
.035 at .8. Here signatures are made; they are compared in `scrapers.posts.duplicates`, without numpy.
"""

import hashlib
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Literal

from scrapers.posts.cleaning import parts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PERMUTATIONS = 128
"""Numbers of a signature."""
FEWEST = 20
"""Distinct runs that a part needs to be compared: with fewer, near-duplicates would arise by chance."""

_TOKEN = re.compile(r"[A-Za-z_]\w*|\d+(?:\.\d+)?|[^\s\w]")
_COMMENT = re.compile(r"#[^\n]*")
_WORD = re.compile(r"\w+")
_CHUNK = 2_000
"""Runs whose numbers are computed at once: a megabyte per thousand."""


@dataclass(frozen=True)
class Sketch:
    """The sketch of one text; a signature is `PERMUTATIONS` 32-bit little-endian numbers."""

    sha256: str
    """Hex, of the tokens and words: equal for texts that differ only in layout, comments and output."""
    code: bytes | None
    """The code's signature, None if there is too little code to compare."""
    prose: bytes | None


def sketch_of(text: str, kind: Literal["message", "kernel"], kernel_kind: str | None = None) -> Sketch | None:
    """Return a cleaned text's sketch, None without words; `script` as `kernel_kind` means that all is code but for fences."""
    code, prose = _code_and_prose(text, all_code=kind == "kernel" and kernel_kind == "script")
    tokens, words = _TOKEN.findall(_COMMENT.sub("", code)), _WORD.findall(prose.lower())
    if not tokens and not words:
        return None
    normal = f"{kind}\0{' '.join(tokens)}\0{' '.join(words)}"
    return Sketch(hashlib.sha256(normal.encode()).hexdigest(), _signature(tokens, 5), _signature(words, 3))


def _code_and_prose(text: str, *, all_code: bool) -> tuple[str, str]:
    text_parts = list(parts(text))
    if all_code and all(part.language is None for part in text_parts):
        return text, ""
    # Output is in fences marked `text`; two runs of one program print different figures.
    text_parts = [part for part in text_parts if part.language != "text"]
    cells = any(part.is_cell for part in text_parts)
    code = [part for part in text_parts if (part.is_cell if cells else part.language is not None)]
    return "\n".join(part.text for part in code), "\n".join(part.text for part in text_parts if part not in code)


def _signature(words: Sequence[str], length: int) -> bytes | None:
    """Return the signature of the set of runs of `length` neighbours, None if it has fewer than `FEWEST`."""
    runs = list({" ".join(words[start : start + length]) for start in range(len(words) - length + 1)})
    if len(runs) < FEWEST:
        return None
    # Imported here, as only the processes that clean may load it.
    import numpy as np

    factors, offsets = _permutations()
    lowest = np.full(PERMUTATIONS, 0xFFFFFFFF, dtype=np.uint32)
    for start in range(0, len(runs), _CHUNK):
        hashes = _mixed([zlib.crc32(run.encode()) for run in runs[start : start + _CHUNK]])
        lowest = np.minimum(lowest, (hashes[:, None] * factors + offsets).min(axis=0))
    signature: bytes = lowest.astype("<u4").tobytes()
    return signature


def _mixed(hashes: Sequence[int]) -> "NDArray[np.uint32]":
    """Return 32-bit hashes after MurmurHash3's finalizer: a checksum of similar runs is similar, and this is not."""
    import numpy as np

    mixed = np.array(hashes, dtype=np.uint32)
    mixed = (mixed ^ (mixed >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    mixed = (mixed ^ (mixed >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return mixed ^ (mixed >> np.uint32(16))


@cache
def _permutations() -> "tuple[NDArray[np.uint32], NDArray[np.uint32]]":
    """Return a and b of `PERMUTATIONS` permutations h -> a * h + b modulo 2^32, with odd factors a."""
    import numpy as np

    random = np.random.RandomState(1)
    factors = random.randint(0, 1 << 31, PERMUTATIONS, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
    return factors, random.randint(0, 1 << 32, PERMUTATIONS, dtype=np.uint32)
