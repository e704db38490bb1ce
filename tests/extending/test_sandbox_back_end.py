"""The page on back ends: its toy runs a script, and is given no foreign code unasked."""

from pathlib import Path

import pytest

from tests.extending.toys import Copy

RUN = """
import asyncio, sys
from pathlib import Path
from sandbox import BACK_ENDS, ExecutionRequest, Limits
from sandbox.choose import choose
from state.errors import UsageError
folder = Path(sys.argv[1])
(folder / "view").mkdir()
(folder / "view" / "seen.txt").write_text("the view")
script = "import os; print(open('data/seen.txt').read(), os.nice(0)); open('submission.csv', 'w').write('kept')"
back_end = choose("niced", trusted=False)
request = ExecutionRequest("one", script, folder / "view", folder / "out", Limits(30.0))
outcome = asyncio.run(back_end.run(request))
endless = ExecutionRequest("two", "while True: pass", folder / "view", folder / "out", Limits(0.5))
print(outcome.output.strip(), outcome.files["submission.csv"].read_text(), asyncio.run(back_end.run(endless)).reason)
print(back_end.describe().isolation)
for name in set(BACK_ENDS) - {"niced"}:
    del BACK_ENDS[name]
try:
    choose("auto", trusted=False)
except UsageError:
    print("refused")
"""


@pytest.mark.integration
def test_a_back_end_is_a_file_and_a_line(tmp_path: Path) -> None:
    copy = Copy(tmp_path / "copy", "sandbox-back-end.md")
    assert copy.touched == ["sandbox/niced.py", "sandbox/__init__.py"]
    copy.lint()
    ran, isolation, foreign = copy.python(RUN, tmp_path).splitlines()
    assert ran.startswith("the view ")
    assert ran.endswith(" kept timed_out")
    assert int(ran.split()[2]) > 0
    assert (isolation, foreign) == ("none", "refused")
