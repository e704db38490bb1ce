"""Likeness: which public kernel a script nearly is, of what is visible alone."""

import pytest

from bot.evaluation.worker import Worker
from bot.submission.likeness import Likenesses
from state.store import Store
from tests.bot.submission.desk_parts import KERNEL, add_kernel
from tests.state.conftest import StandingClock, clock, store

__all__ = ["clock", "store"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

OTHER = "\n".join(f"model_{n} = Ridge(alpha={n}).fit(train[{n}:], target[{n}:], sample_weight=None)" for n in range(40))


async def test_a_script_is_like_the_kernel_whose_code_it_has(
    store: Store, clock: StandingClock, worker: Worker
) -> None:
    found = Likenesses(store, "wine", clock, worker)
    assert await found.likest(KERNEL) is None
    add_kernel(store, "wine", OTHER, id="20", ref="bob/other")
    add_kernel(store, "wine", KERNEL)
    add_kernel(store, "beer", KERNEL, id="22", ref="eve/elsewhere")
    same = await found.likest("# copied\n" + KERNEL)
    assert same is not None and (same.kernel, same.share) == ("ann/strong", 1.0)
    nearly = await found.likest(KERNEL + "\nprint('mine')\n")
    assert nearly is not None and nearly.kernel == "ann/strong" and nearly.share >= 0.9
    assert await found.likest("import pandas as pd\n" + "\n".join(f"x{n} = {n} ** 2 + y{n}" for n in range(40))) is None


async def test_what_is_not_visible_yet_is_not_compared(store: Store, clock: StandingClock, worker: Worker) -> None:
    add_kernel(store, "wine", KERNEL, days=3)
    found = Likenesses(store, "wine", clock, worker)
    assert await found.likest(KERNEL) is None
    clock.pass_by(4 * 86_400)
    assert await found.likest(KERNEL) is not None
