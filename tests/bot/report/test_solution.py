"""The folder `solution/` of a run in labs: files and commands of what was handed in, and of what that uses."""

from pathlib import Path

import pytest

from bot.report.solution import write_solution
from bot.submission.final_submission import FinalSubmission
from tests.bot.coder.lab.experimenting import experiments, log, two_labs
from tests.bot.engine.parts import opened

pytestmark = pytest.mark.integration


async def test_an_experiments_files_and_command_lie_there_with_those_that_it_uses(tmp_path: Path) -> None:
    async with opened(tmp_path, 5, labs=True) as context:
        two, three = await two_labs(context)
        await log(two, "trees", 0.5, sources={"fit.py": "print(1)\n"}, retrain="python fit.py --all")
        await log(two, "unused", 0.1, sources={"fit.py": "print(2)\n"})
        await log(three, "stack", 0.9, sources={"stack.py": "print(3)\n"}, uses=("trees",))
        node = experiments(context).by_name("stack").node
        folder = context.executor.folder.solution
        folder.mkdir(exist_ok=True)
        (folder / "solution_2.py").write_text("of an earlier end")
        length = write_solution(context, FinalSubmission(node, "experiment", "as it was logged"), folder)
        found = {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}
    assert found.keys() == {"README.md", "stack/stack.py", "trees/fit.py"}
    assert length == len("print(3)\n" + "print(1)\n"), "without the experiment that is not used"
    assert (found["stack/stack.py"], found["trees/fit.py"]) == ("print(3)\n", "print(1)\n")
    assert "| stack | 1.0000 | lab 3 | no command |" in found["README.md"]
    assert "| trees | used by others | lab 2 | `python fit.py --all` |" in found["README.md"]
