"""Likeness: which public kernel a script nearly is, of what is visible alone."""

import pytest

from bot.evaluation.client.worker import Worker
from bot.submission.files import Files, most_similar_kernel
from state.progress import create_node
from state.store import Store
from tests.bot.submission.service_parts import KERNEL, RUN, Live, add_kernel
from tests.state.conftest import StandingClock, clock, store

__all__ = ["clock", "store"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

OTHER = "\n".join(f"model_{n} = Ridge(alpha={n}).fit(train[{n}:], target[{n}:], sample_weight=None)" for n in range(40))


async def test_a_script_is_like_the_kernel_whose_code_it_has(store, clock, worker) -> None:
    async def similar(script: str) -> tuple[str | None, float]:
        return await most_similar_kernel(store, "wine", clock.as_of(), worker, script)

    assert await similar(KERNEL) == (None, 0.0)
    add_kernel(store, "wine", OTHER, id="20", ref="bob/other")
    add_kernel(store, "wine", KERNEL)
    add_kernel(store, "beer", KERNEL, id="22", ref="eve/elsewhere")
    assert await similar("# copied\n" + KERNEL) == ("ann/strong", 1.0)
    kernel, share = await similar(KERNEL + "\nprint('mine')\n")
    assert kernel == "ann/strong" and share >= 0.9
    own = "import pandas as pd\n" + "\n".join(f"x{n} = {n} ** 2 + y{n}" for n in range(40))
    assert await similar(own) == (None, 0.0)


async def test_what_is_not_visible_yet_is_not_compared(store: Store, clock: StandingClock, worker: Worker) -> None:
    add_kernel(store, "wine", KERNEL, days=3)
    assert (await most_similar_kernel(store, "wine", clock.as_of(), worker, KERNEL))[0] is None
    clock.pass_by(4 * 86_400)
    assert (await most_similar_kernel(store, "wine", clock.as_of(), worker, KERNEL))[0] == "ann/strong"


async def test_a_blend_is_like_the_kernel_that_one_of_its_members_is_like(run: Live, worker: Worker) -> None:
    add_kernel(run.store, run.context.card.slug, KERNEL)
    with run.store.write() as tx:
        for id, code in ((2, OTHER), (3, KERNEL), (4, OTHER)):
            create_node(tx, RUN, action="draft", id=id, code=code)
        for id, members in ((5, (2, 3)), (6, (2, 4))):
            create_node(tx, RUN, action="ensemble", id=id, parents=members)
    files = Files(run.context, run.folder, worker)
    assert await files.most_similar_kernel(5) == ("ann/strong", 1.0)
    assert await files.most_similar_kernel(6) == (None, 0.0)
