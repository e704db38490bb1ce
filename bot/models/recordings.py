"""Recordings: a folder with a JSON file for each step, and the model that answers from it."""

import hashlib
import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeVar, runtime_checkable

from pydantic import ValidationError

from bot.models import CallLimits, Completion, Message, Model, Prompt, Usage
from bot.models.completion import completed
from state.closed_model import ClosedModel
from state.errors import ModelMisconfigured, ModelRefused, TruncatedAnswer, Unparsable

AnswerT = TypeVar("AnswerT")


def step_key(name: str, node: int | None, attempt: int) -> str:
    """Return a step's key within a run, such as `3/write/0`; node 0 means none."""
    return f"{node or 0}/{name}/{attempt}"


class RecordedCall(ClosedModel):
    """One model call: prompt, reply and outcome."""

    step: str
    prompt_hash: str
    messages: tuple[Message, ...]
    text: str
    usage: Usage
    model: str
    cost_usd: float | None = None
    fault: str | None = None
    """Why a reply could not be read."""
    cut: bool = False
    """Whether the reply reached the token limit; without a fault the prompt accepted it."""
    refusal: str | None = None
    """Why there was no answer."""


class RecordingWriter:
    """Writes calls into a folder; a repeated step replaces its file."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder

    def write(self, call: RecordedCall) -> Path:
        """Write one call, whole or not at all, and return its file."""
        path = self._folder / _file_name(call.step)
        partial = path.with_suffix(f".{os.getpid()}.part")
        partial.write_text(call.model_dump_json(indent=1), encoding="utf-8")
        partial.replace(path)
        return path


@runtime_checkable
class Bindable(Protocol):
    """A model whose answers depend on the step: the caller binds it before `complete`."""

    def bind(self, step: str) -> Model:
        """Return the model for one step (`step_key`)."""
        ...


@dataclass(frozen=True)
class RecordedModel:
    """Answers from a recording, keyed by step: `model.bind(step).complete(...)`. It costs nothing.

    A prompt that has changed since the recording is answered all the same.
    """

    folder: Path
    step: str | None = None

    def bind(self, step: str) -> Model:
        """Return the model for one step."""
        return replace(self, step=step)

    async def complete(self, prompt: Prompt[AnswerT], *, role: str, limits: CallLimits) -> Completion[AnswerT]:
        """Return the recorded answer, or raise the recorded refusal or fault.

        Raises ModelMisconfigured: nothing was recorded for the step, its file is broken, or no step was bound.
        """
        if self.step is None:
            raise ModelMisconfigured(f"recordings look up answers by step: bind a step before requesting {prompt.name}")
        call = self._read(self.step)
        free = Completion(None, call.text, call.usage, call.model, 0.0)
        if call.refusal is not None:
            refusal = ModelRefused(call.refusal)
            refusal.reply = free
            raise refusal
        if call.fault is not None:
            unreadable = TruncatedAnswer(call.fault) if call.cut else Unparsable(call.fault)
            unreadable.reply = free
            raise unreadable
        return completed(prompt, call.text, usage=call.usage, model=call.model, cost_usd=0.0, cut=call.cut)

    def _read(self, step: str) -> RecordedCall:
        path = self.folder / _file_name(step)
        try:
            return RecordedCall.model_validate_json(path.read_bytes())
        except FileNotFoundError:
            raise ModelMisconfigured(
                f"the recording in {self.folder} has no answer for step {step}: it is from a different or shorter run"
            ) from None
        except ValidationError as error:
            raise ModelMisconfigured(f"{path} is not a valid recorded call: {error.errors()[0]['msg']}") from None


def _file_name(step: str) -> str:
    """Return a readable file name that is unique to the step."""
    readable = re.sub(r"[^A-Za-z0-9.]+", "_", step)[:60]
    return f"{readable}-{hashlib.sha256(step.encode()).hexdigest()[:12]}.json"
