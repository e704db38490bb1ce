"""Known failures: what a coder is told of what failed before, and of what cured it."""

from pathlib import Path

from bot.coder.lab.failures import ErrorPattern, failures
from bot.engine.context import RunContext
from state.progress import create_node, end_node
from tests.bot.engine.parts import RUN, opened

SCRIPT = "import pandas as pd\n\nX = pd.read_csv('data/train.csv')\nmodel = fit(X)\n"


def ended(context: RunContext, node: int, draft: int, script: str, error: str | None = None, plan: str = "") -> None:
    with context.store.write() as tx:
        create_node(tx, RUN, action="draft", id=node, draft_id=str(draft), code=script, plan=plan)
        end_node(tx, RUN, node, "buggy" if error else "valid", score=None if error else 0.5, error=error)


async def test_the_cure_is_the_next_script_of_the_same_lab_that_ran(tmp_path: Path) -> None:
    async with opened(tmp_path, 10) as context:
        ended(context, 2, 1, SCRIPT, "KeyError: 'age', line 4")
        ended(context, 3, 2, "another lab's")
        ended(context, 4, 1, SCRIPT.replace("fit(X)", "fit(Y)"), "NameError: Y")
        ended(context, 5, 1, SCRIPT.replace("fit(X)", "fit(X.fillna(0))"), plan="trees: without gaps")
        cure = "node 5 ran: trees: without gaps"
        assert failures(context) == (
            ErrorPattern("KeyError: 'age', line 4", cure, ("-model = fit(X)", "+model = fit(X.fillna(0))")),
            ErrorPattern("NameError: Y", cure, ("-model = fit(Y)", "+model = fit(X.fillna(0))")),
        )


async def test_a_failure_is_shown_once_with_a_cure_where_one_is_known(tmp_path: Path) -> None:
    async with opened(tmp_path, 10) as context:
        ended(context, 2, 1, SCRIPT, "it was ended after 60 s")
        ended(context, 3, 1, "x = 1", plan="smaller")
        ended(context, 4, 2, SCRIPT, "it was ended after 90 s")
        ended(context, 5, 3, SCRIPT, "SyntaxError")
        ended(context, 6, 3, "", "its lab left no script that was scored: it was done")
        told = failures(context)
        assert [(one.error, one.cure) for one in told] == [
            ("it was ended after 60 s", "node 3 ran: smaller"),
            ("SyntaxError", None),
        ]


async def test_a_script_that_was_written_anew_shows_no_lines(tmp_path: Path) -> None:
    async with opened(tmp_path, 10) as context:
        ended(context, 2, 1, "\n".join(f"a{n} = {n}" for n in range(3000)), "MemoryError")
        ended(context, 3, 1, "\n".join(f"b{n} = {n}" for n in range(20)), plan="anew")
        assert failures(context) == (ErrorPattern("MemoryError", "node 3 ran: anew"),)
        ended(context, 4, 2, "\n".join(f"a{n} = {n}" for n in range(20)), "TypeError")
        ended(context, 5, 2, "\n".join(f"b{n} = {n}" for n in range(20)), plan="anew")
        assert failures(context)[-1] == ErrorPattern("TypeError", "node 5 ran: anew")
