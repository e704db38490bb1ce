"""Reading answers: the one code block, or the JSON object, within a model's prose."""

import json
import re
from collections.abc import Iterator
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from bot.models.fences import ends_inside_text, fenced_blocks, lines_of
from state.errors import Unparsable

ModelT = TypeVar("ModelT", bound=BaseModel)

_OBJECT_START = re.compile(r"\{(?=\s*(?:[\"'}]|\w+\s*:))")
_PYTHON = ("python", "py", "python3")
_MOST_OBJECTS = 100
_REPAIRED_CHARACTERS = 40_000
"""Characters of a reply that are repaired: the time grows with their square."""
_MOST_FAULTS = 8


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
    lines = lines_of(text)
    blocks = [block for block in fenced_blocks(lines, ends_inside_text, -1) if block.language in (*_PYTHON, "")]
    if any(block.end is None for block in blocks):
        raise Unparsable("the code block is never closed")
    marked = [block for block in blocks if block.language in _PYTHON]
    if not blocks:
        raise Unparsable(
            "your answer has no code block: give the whole script in one block fenced with ```python and ```; "
            "do not use tags"
        )
    scripts = [f"{code}\n" for block in marked or blocks if (code := block.code(lines)).strip()]
    if not scripts:
        raise Unparsable(
            "the code block was empty: give the whole script in one block fenced with ```python and ```; "
            "do not use tags"
        )
    return scripts


def json_answer(text: str, model: type[ModelT]) -> ModelT:
    """Return the first JSON object of a reply that fits the model, in or out of a fence, repaired if it is broken.

    Raises Unparsable: no object, or none that fits; the text names each field that is wrong.
    """
    fault: str | None = None
    for value in _objects(text):
        try:
            return model.model_validate(value)
        except ValidationError as error:
            fault = fault or _faults(error)
    if fault is None:
        raise Unparsable("your answer has no JSON object: answer with one, as described")
    raise Unparsable(f"the JSON object is invalid: {fault}")


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects in order; a broken one is repaired before those inside it are tried."""
    from json_repair import repair_json

    decoder = json.JSONDecoder(strict=False)
    position, characters_left = 0, _REPAIRED_CHARACTERS
    for _ in range(_MOST_OBJECTS):
        start = _OBJECT_START.search(text, position)
        if start is None or characters_left <= 0:
            return
        try:
            value, position = decoder.raw_decode(text, start.start())
        except (ValueError, RecursionError):
            position = start.end()
            broken = _to_fence(text[start.start() :])[:characters_left]
            characters_left -= len(broken)
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
    fault_texts = [f"{'.'.join(str(part) for part in e['loc']) or 'the object'}: {e['msg']}" for e in error.errors()]
    omitted_note = [f"and {len(fault_texts) - _MOST_FAULTS} more"] if len(fault_texts) > _MOST_FAULTS else []
    return "; ".join([*fault_texts[:_MOST_FAULTS], *omitted_note])
