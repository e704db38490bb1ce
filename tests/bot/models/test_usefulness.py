"""Answers that cannot be used: ten in a row end the model's part, and a run without any says so."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.models import CallLimits
from bot.models.ask import Asker
from bot.models.usefulness import Usefulness
from state.errors import EmptyAnswer, ModelRefused, ModelUnavailable, ModelUseless
from state.steps import Steps
from state.store import Store
from tests.bot.models.parts import GOOD, RUN, HurriedClock, Question, Turn, model_at, open_run
from tests.scripted_endpoint import Reply, ScriptedEndpoint, failure


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_run(tmp_path) as opened:
        yield opened


async def ask_often(
    script: list[Reply | str],
    store: Store,
    times: int,
    *,
    one_model: bool = True,
    prompt: Question | Turn | None = None,
    role: str = "coder",
) -> tuple[list[str], Usefulness, int]:
    """Return how each prompt ended, what was counted, and how many requests were made."""
    ends = []
    counted = Usefulness(store, RUN, one_model=one_model)
    with ScriptedEndpoint(script) as endpoint:
        async with model_at(endpoint.url, retries=0) as model:
            asker = Asker(model, store, RUN, HurriedClock(), Steps(store, RUN), usefulness=counted)
            for number in range(times):
                try:
                    await asker.ask(prompt or Question(), role=role, name=f"q{number}")
                except (ModelRefused, ModelUseless, ModelUnavailable) as error:
                    ends.append(type(error).__name__)
                else:
                    ends.append("answer")
    return ends, counted, len(endpoint.requests)


async def test_ten_refused_answers_in_a_row_end_the_models_part(store: Store) -> None:
    ends, counted, requests = await ask_often([failure(400, "no such thing")], store, 12)
    assert ends == ["ModelRefused"] * 10 + ["ModelUseless"] * 2
    assert requests == 10
    assert "no such thing" in (counted.none_used or "")


async def test_repairs_count_as_answers(store: Store) -> None:
    ends, _, requests = await ask_often(["no object"], store, 5)
    assert (ends[-2:], requests) == (["ModelUseless"] * 2, 10)


async def test_a_usable_answer_begins_the_count_anew(store: Store) -> None:
    refused = failure(400, "no such thing")
    ends, counted, _ = await ask_often([*[refused] * 9, Reply(GOOD), *[refused] * 9, Reply(GOOD)], store, 20)
    assert ends == [*["ModelRefused"] * 9, "answer"] * 2
    assert counted.none_used is None


async def test_commands_that_never_come_are_of_no_use(store: Store) -> None:
    ends, counted, _ = await ask_often(["I think about it."], store, 11, prompt=Turn())
    assert ends == ["answer"] * 10 + ["ModelUseless"]
    assert counted.none_used is not None


async def test_another_role_than_the_coders_ends_alone(store: Store) -> None:
    ends, _, requests = await ask_often([failure(400, "no")], store, 12, role="analyst", one_model=False)
    assert (ends, requests) == (["ModelRefused"] * 12, 10)


async def test_an_endpoint_that_is_not_there_gave_no_answer(store: Store) -> None:
    ends, counted, _ = await ask_often([failure(503, "overloaded")], store, 1)
    assert ends == ["EndpointBusy"]
    assert "overloaded" in (counted.none_used or "")


async def test_what_was_answered_before_a_resume_counts(store: Store) -> None:
    await ask_often([GOOD], store, 1)
    assert Usefulness(store, RUN).none_used is None


def test_a_run_that_asked_nothing_lacks_no_answer(store: Store) -> None:
    assert Usefulness(store, RUN).none_used is None


@pytest.mark.parametrize(
    ("message", "word"),
    [
        ({"content": None}, "empty"),
        ({"content": ""}, "empty"),
        ({"content": None, "reasoning_content": "I wonder."}, "only reasoning"),
        ({"content": None, "reasoning": "I wonder."}, "only reasoning"),
        ({"content": "<think>I wonder."}, "only reasoning"),
    ],
)
async def test_an_answer_without_text_is_an_error_by_name(message: dict[str, str | None], word: str) -> None:
    with ScriptedEndpoint([Reply(body={"choices": [{"message": message, "finish_reason": "stop"}]})]) as endpoint:
        async with model_at(endpoint.url) as model:
            with pytest.raises(EmptyAnswer, match=word):
                await model.complete(Question(), role="coder", limits=CallLimits())


@pytest.mark.parametrize("thoughts", ["", "I wonder."])
async def test_an_answer_that_was_cut_while_it_reasoned_is_repaired_and_not_continued(
    store: Store, thoughts: str
) -> None:
    cut = Reply(f"<think>{thoughts}" if thoughts else "", finish="length")
    ends, counted, requests = await ask_often([cut], store, 1)
    assert (ends, requests) == (["ModelRefused"], 3)
    assert "cut off" in (counted.none_used or "")
