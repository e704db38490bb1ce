"""The doctor's look at coding agents: installed or not, with the line that installs them."""

from pathlib import Path

from bot.coder.coder_config import CoderSection
from bot.doctor.models import check_coders


def test_each_coder_has_its_line_and_one_that_is_not_installed_says_how_to(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "mini").touch()
    tables = {
        "mini-swe-agent": CoderSection(folder=tmp_path),
        "codex": CoderSection(folder=tmp_path),
        "mine": CoderSection(command="exec agent", dialect="chat"),
    }
    here, absent, mine, other = check_coders(tables, ["codex", "codx"])
    assert (here.part, here.status) == ("coder mini-swe-agent", "ok")
    assert str(tmp_path / "bin" / "mini") in here.result
    assert absent.status == "fails"
    assert "`npm install --global @openai/codex` installs it" in absent.result
    assert (other.status, "did you mean codex" in other.result) == ("fails", True)
    assert (mine.status, mine.result) == ("ok", "runs its configured command; `bot coder check mine` tests it")
