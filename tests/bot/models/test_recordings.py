"""Recordings: one readable file a step, whole or not there."""

from pathlib import Path

import pytest

from bot.models import CallLimits, Usage
from bot.models.fingerprint import prompt_hash
from bot.models.recordings import RecordedCall, RecordedModel, RecordingWriter, step_key
from state.errors import ModelMisconfigured, Unparsable
from tests.bot.models.parts import GOOD, Question


def recorded(step: str, text: str = GOOD, fault: str | None = None, asked: str = "Which number?") -> RecordedCall:
    return RecordedCall(
        step=step,
        prompt_hash=prompt_hash(Question(asked)),
        messages=(),
        text=text,
        usage=Usage(10, 2),
        model="gpt-x",
        cost_usd=0.5,
        fault=fault,
    )


async def test_steps_with_like_names_have_files_of_their_own(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path / "new")
    steps = ["1/a b/0", "1/a_b/0", "1/a/b/0", "1/" + "x" * 300 + "/0", "1/" + "x" * 300 + "/1"]
    for number, step in enumerate(steps):
        writer.write(recorded(step, f'{{"value": {number}}}'))
    model = RecordedModel(tmp_path / "new")
    for number, step in enumerate(steps):
        got = await model.bind(step).complete(Question(), role="coder", limits=CallLimits())
        assert (got.answer.value, got.usage, got.model, got.cost_usd) == (number, Usage(10, 2), "gpt-x", 0.0)


async def test_writing_again_replaces_and_leaves_no_partial_file(tmp_path: Path) -> None:
    writer = RecordingWriter(tmp_path)
    writer.write(recorded("0/a/0", "old"))
    path = writer.write(recorded("0/a/0", "new"))
    assert list(tmp_path.iterdir()) == [path]
    assert '"text": "new"' in path.read_text()


async def test_reply_that_was_cut_off_is_unreadable_again(tmp_path: Path) -> None:
    RecordingWriter(tmp_path).write(recorded("0/a/0", fault="your answer was cut off"))
    with pytest.raises(Unparsable, match="cut off"):
        await RecordedModel(tmp_path).bind("0/a/0").complete(Question(), role="coder", limits=CallLimits())


async def test_step_must_be_bound_first(tmp_path: Path) -> None:
    with pytest.raises(ModelMisconfigured, match="bind a step"):
        await RecordedModel(tmp_path).complete(Question(), role="coder", limits=CallLimits())


async def test_broken_file_is_named(tmp_path: Path) -> None:
    path = RecordingWriter(tmp_path).write(recorded("0/a/0"))
    path.write_text("{}")
    with pytest.raises(ModelMisconfigured, match=path.name):
        await RecordedModel(tmp_path, "0/a/0").complete(Question(), role="coder", limits=CallLimits())


def test_key_names_node_name_and_attempt() -> None:
    assert (step_key("write", 3, 1), step_key("plan", None, 0)) == ("3/write/1", "0/plan/0")
