"""Logged experiments: each is compared, paired by row, with the best of all labs or a named one; the shelf is bounded."""

from pathlib import Path

import pytest

from bot.coder.lab.calls import LabCall, Log
from bot.coder.lab.cards import board
from bot.coder.lab.commands import Commands
from bot.coder.lab.hints import kept_hints, trim_shelf
from bot.coder.lab.leases import LabLease
from bot.coder.lab.looks import Looks
from bot.engine.context import RunContext
from state.labs import open_lab
from tests.bot.engine.parts import RUN, opened
from tests.bot.evaluation.parts import read, write


async def bring_home() -> None:
    """Do nothing: this lab has no sandbox."""


def lab(context: RunContext, number: int) -> Commands:
    with context.store.write() as tx:
        open_lab(tx, RUN, number, draft_id=None, parents=(), title="a test")
    looks = Looks(context, number, None, (), "a test", 6, lambda: 60.0, context.executor.folder.labs)
    return Commands(
        context, number, looks, lambda: 60.0, lambda: 5, LabLease(context.executor.leasing), tuple, bring_home
    )


async def logged(commands: Commands, name: str, sure: float, against: str = "") -> tuple[int, str]:
    """Log predictions that give the right class this probability, but in every seventh row the wrong one."""
    folder = commands.context.executor.folder
    assert await commands.context.executor.folds()
    header, *rows = read(folder.evaluator / "fold-labels" / "labels.csv")
    right = [(float(row[1]) > 0.5) != (n % 7 == 0) for n, row in enumerate(rows)]
    guesses = [[row[0], sure if one else 1 - sure] for row, one in zip(rows, right, strict=True)]
    file = write(folder.path / "oof.csv", header, guesses)
    answer = await commands(LabCall(Log(name, against=against), file=file))
    return answer.status, answer.text


@pytest.mark.integration
async def test_an_experiment_is_compared_with_the_best_of_all_labs_or_with_a_named_one(tmp_path: Path) -> None:
    async with opened(tmp_path, 5) as context:
        two, three = lab(context, 2), lab(context, 3)
        first = await logged(two, "plain", 0.6)
        worse = await logged(three, "worse", 0.51)
        best = await logged(two, "best", 0.8)
        named = await logged(three, "named", 0.7, against="worse")
        nobody = await logged(three, "lost", 0.7, against="nobody's")
        lines = board(context, 3, everything=True)
    assert first[0] == 0 and "gain" not in first[1]
    assert "beyond noise) over 'plain' of lab 2, paired" in worse[1] and "gain -" in worse[1]
    assert "over 'plain' of lab 2, paired" in best[1] and "gain +" in best[1]
    assert "over 'worse' of lab 3, paired" in named[1] and "gain +" in named[1]
    assert nobody == (1, """there is no logged experiment "nobody's" whose predictions are kept; see lab board --all""")
    assert {one[1] for one in (first, worse, best, named)} <= set(lines)


@pytest.mark.integration
async def test_the_shelf_keeps_the_best_within_its_bound_and_nothing_that_no_hint_has(tmp_path: Path) -> None:
    async with opened(tmp_path, 5) as context:
        two, shelf = lab(context, 2), context.executor.folder.hints
        for name, sure in (("a", 0.6), ("b", 0.8), ("same as b", 0.8), ("c", 0.7)):
            await logged(two, name, sure)
        assert len(list(shelf.iterdir())) == 3, "equal predictions lie there once"
        await logged(two, "c", 0.65)
        assert len(list(shelf.iterdir())) == 3, "an experiment logged again takes the place of the earlier one"
        trim_shelf(context, next(shelf.iterdir()).stat().st_size)
        assert [hint["name"] for _, hint in kept_hints(context)] == ["b", "same as b"]
        assert len(list(shelf.iterdir())) == 1
        assert (await logged(two, "d", 0.6, against="a"))[0] == 1
        assert "over 'b' of lab 2" in (await logged(two, "e", 0.6))[1]
