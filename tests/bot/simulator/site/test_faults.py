"""A script of faults in a file: what is read, and what is refused with its name."""

from pathlib import Path

import pytest

from bot.simulator.site.faults import Faults
from state.errors import UsageError
from tests.bot.simulator.site.parts import START


def test_a_file_holds_a_script(tmp_path: Path) -> None:
    file = tmp_path / "faults.toml"
    file.write_text('[[fault]]\nkind = "cut"\nmethod = "Create*"\nacts = true\n\n[[fault]]\nkind = "rate-limit"\n')
    faults = Faults.read(file)
    found = [faults.draw(method, START) for method in ("CreateSubmission", "ListKernels")]
    assert [(one.kind, one.acts) for one in found if one] == [("cut", True), ("rate-limit", False)]


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('[[fault]]\nkind = "flood"\n', "fault.0.kind"),
        ('[[fault]]\nkind = "cut"\nhow = 1\n', "fault.0.how"),
        ('[[fault]]\nkind = "cut"\ncompetition = "tiny-table"\n', "names no competition"),
        ("[fault\n", "cannot be read"),
    ],
)
def test_mistakes_in_a_file_are_named(tmp_path: Path, text: str, named: str) -> None:
    file = tmp_path / "faults.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=named):
        Faults.read(file)
