"""Batches beside the search: one that failed fails all who wait for it, and is begun again when asked for."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from bot.community.intake import Intake
from state.errors import ModelUnavailable


async def test_a_failed_batch_fails_all_who_wait_and_is_begun_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[int] = []

    async def reproduce(context: Any, number: int, *, shares_cores: bool) -> list[int]:
        tries.append(number)
        await asyncio.sleep(0)
        if len(tries) == 1:
            raise ModelUnavailable("not now")
        return []

    monkeypatch.setattr("bot.community.intake.reproduce_batch", reproduce)
    intake = Intake(SimpleNamespace())  # type: ignore[arg-type] # nothing of the run is needed
    waited = await asyncio.gather(*(intake.ready("kernels", 1) for _ in range(2)), return_exceptions=True)
    assert [type(one) for one in waited] == [ModelUnavailable, ModelUnavailable]
    await intake.ready("kernels", 2)
    assert tries == [1, 1, 2]
    await intake.ready("kernels", 2)
    assert tries == [1, 1, 2]
    await intake.close()
