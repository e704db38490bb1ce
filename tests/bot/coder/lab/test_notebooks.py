"""Labs on competitions that take notebooks: both scripts are scored together."""

import json
from pathlib import Path

import pytest

from bot.engine.attempts import infer_code, load_tree
from tests import needs
from tests.bot.coder.lab.scripted import Scripted, lived, sh, turns
from tests.bot.engine.notebooks import INFER, SOLUTION
from tests.tiny_snapshot import write_tiny

pytestmark = [pytest.mark.asyncio, pytest.mark.integration]


def files(infer: str) -> str:
    """Return the command that writes both scripts."""
    return f"cat > solution.py <<'EOF'\n{SOLUTION}\nEOF\ncat > infer.py <<'EOF'\n{infer}\nEOF\n"


async def test_a_lab_scores_both_scripts_and_is_told_what_the_rehearsal_found(tmp_path: Path) -> None:
    needs.bubblewrap()
    manifest = write_tiny(tmp_path / "tiny") / "snapshot.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"kind": "code"}))
    wrong = INFER.replace('Path(os.environ["BOT_DATA"])', 'Path("data")')
    model = Scripted(
        [
            sh(f"{files(wrong)}lab score solution.py --infer infer.py --note first"),
            sh(f"{files(INFER)}lab score solution.py --infer infer.py"),
            sh("cp solution.py infer.py /tmp; lab score solution.py --infer infer.py"),
        ]
    )
    async with lived(tmp_path, model) as context:
        said, tree = turns(context), load_tree(context)
        assert "No such file or directory: 'data/test.csv'" in said[0]
        assert "passed its local check in" in said[1] and "hidden rows; the limit is 19,440 s" in said[1]
        assert "this script has already been scored" in said[2]
        assert [node.state for node in tree.nodes[-2:]] == ["buggy", "valid"]
        assert [(infer_code(context, node.id) or "").strip() for node in tree.nodes[-2:]] == [
            one.strip() for one in (wrong, INFER)
        ]
        assert "lab score solution.py --infer infer.py" in "".join(one.content for one in model.sent[0])
