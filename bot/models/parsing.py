"""Reading answers: the one code block, or the JSON object, within a model's prose."""

import io
import json
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from state.errors import Unparsable

ModelT = TypeVar("ModelT", bound=BaseModel)

_FENCE = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`\n]*?)[ \t]*$")
_OBJECT_START = re.compile(r"\{(?=\s*(?:[\"'}]|\w+\s*:))")
_PYTHON = ("python", "py", "python3")
_MOST_OBJECTS = 100
_REPAIRED_CHARACTERS = 40_000
"""Characters of a reply that are repaired: the time grows with their square."""
_MOST_FENCES = 50
_MOST_FAULTS = 8


@dataclass(frozen=True)
class _Block:
    language: str
    code: str


def one_code_block(text: str) -> str:
    """Return the Python script of a reply, ending in a newline.

    It is the reply's fenced block, the largest one if there are several; those marked as Python go before unmarked
    ones, and those in other languages are ignored. A fence inside a triple-quoted string does not end the block.

    Raises:
        Unparsable: no such block, an empty one, or one that is never closed.
    """
    return max(code_blocks(text), key=len)


def code_blocks(text: str) -> list[str]:
    """Return all Python scripts of a reply, in order, by the rules of `one_code_block`; raises Unparsable as that does."""
    blocks = [b for b in _blocks(text.replace("\r\n", "\n")) if b.language in (*_PYTHON, "")]
    marked = [b for b in blocks if b.language in _PYTHON]
    if not blocks:
        raise Unparsable(
            "your answer held no code block: give the whole script in one block fenced with ```python and ```"
        )
    found = [block.code for block in marked or blocks if block.code.strip()]
    if not found:
        raise Unparsable("the code block was empty: give the whole script in one block fenced with ```python and ```")
    return found


def json_answer(text: str, model: type[ModelT]) -> ModelT:
    """Return the first JSON object of a reply that fits the model, in or out of a fence, repaired if it is broken.

    Raises:
        Unparsable: no object, or none that fits; the text names each field that is wrong.
    """
    fault: str | None = None
    for value in _objects(text):
        try:
            return model.model_validate(value)
        except ValidationError as error:
            fault = fault or _faults(error)
    if fault is None:
        raise Unparsable("your answer held no JSON object: answer with one, as described")
    raise Unparsable(f"the JSON object does not fit: {fault}")


def _blocks(text: str) -> Iterator[_Block]:
    """Yield the fenced blocks in order."""
    lines = text.split("\n")
    position = 0
    while position < len(lines):
        opening = _FENCE.match(lines[position])
        if opening is None:
            position += 1
            continue
        end = _closing(lines, position + 1, opening["fence"])
        language = opening["info"].split(" ")[0].lower()
        if end is None:
            if language in (*_PYTHON, ""):
                raise Unparsable("the code block is never closed")
            return
        yield _Block(language, "\n".join(lines[position + 1 : end]) + "\n")
        position = end + 1


def _closing(lines: list[str], start: int, fence: str) -> int | None:
    """Return the line that closes a block: the first bare fence outside a string, or else the last bare fence."""
    last, tried = None, 0
    for index in range(start, len(lines)):
        found = _FENCE.match(lines[index])
        if found is None or found["info"] or found["fence"][0] != fence[0] or len(found["fence"]) < len(fence):
            continue
        last, tried = index, tried + 1
        if tried <= _MOST_FENCES and not _ends_inside_string("\n".join(lines[start:index]) + "\n"):
            return index
    return last


def _ends_inside_string(code: str) -> bool:
    """Return whether a triple-quoted string is still open at the end of the code."""
    try:
        for _ in tokenize.generate_tokens(io.StringIO(code).readline):
            pass
    except tokenize.TokenError as error:
        # "EOF in multi-line string" in Python 3.11, "unterminated triple-quoted string literal" in later ones.
        return "multi-line string" in str(error) or "triple-quoted" in str(error)
    except SyntaxError:
        return False
    return False


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects in order; a broken one is repaired before those inside it are tried."""
    from json_repair import repair_json

    decoder = json.JSONDecoder(strict=False)
    position, left = 0, _REPAIRED_CHARACTERS
    for _ in range(_MOST_OBJECTS):
        start = _OBJECT_START.search(text, position)
        if start is None or left <= 0:
            return
        try:
            value, position = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            position = start.end()
            broken = _to_fence(text[start.start() :])[:left]
            left -= len(broken)
            try:
                value = repair_json(broken, return_objects=True)
            except (ValueError, RecursionError):  # which of the two depends on json_repair's version
                raise Unparsable("the JSON object is nested too deeply") from None
        if isinstance(value, list):
            value = next((v for v in value if isinstance(v, dict)), None)
        if isinstance(value, dict):
            yield value


def _to_fence(text: str) -> str:
    """Return the text up to the first bare fence: what follows a fenced object is not a part of it."""
    bare = re.search(r"^ {0,3}(```+|~~~+)[ \t]*$", text, re.MULTILINE)
    return text if bare is None else text[: bare.start()]


def _faults(error: ValidationError) -> str:
    found = [f"{'.'.join(str(part) for part in e['loc']) or 'the object'}: {e['msg']}" for e in error.errors()]
    more = [f"and {len(found) - _MOST_FAULTS} more"] if len(found) > _MOST_FAULTS else []
    return "; ".join([*found[:_MOST_FAULTS], *more])
