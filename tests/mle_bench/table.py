r"""The table in docs/mle-bench.md: this runs the comparison and writes it there, as the tests run it.

    python -m venv mle-bench/.venv && mle-bench/.venv/bin/pip install 'pandas==2.2.3' 'numpy==1.26.4' 'scikit-learn==1.5.2' \
      'scipy==1.14.1' appdirs pyyaml tqdm tenacity diskcache py7zr pillow requests levenshtein pyquaternion pycocotools pymongo
    BOT_MLE_BENCH=mle-bench .venv/bin/python -m pytest -m integration tests/mle_bench
    BOT_MLE_BENCH=mle-bench .venv/bin/python -m tests.mle_bench.table
"""

import tempfile
import textwrap
from collections.abc import Sequence
from pathlib import Path

from tests.mle_bench.comparing import Compared, compared
from tests.mle_bench.explained import DIFFERENT, NOT_HELD
from tests.mle_bench.published import SUBMISSIONS, prepare, repository
from tests.source_tree import ROOT

PAGE = ROOT / "docs" / "mle-bench.md"
BEGIN, END = "<!-- graders: begin -->", "<!-- graders: end -->"


def table(found: Sequence[Compared]) -> str:
    """Return who is scored by grade.py, and a row for each competition that is not imported or whose grades differ."""
    ordered = sorted(found, key=lambda one: one.slug.lower())
    own = ", ".join(one.slug for one in ordered if one.metric == "grade.py")
    own = textwrap.fill(f"Scored by their own grade.py: {own}.", 130, break_on_hyphens=False)
    lines = [own, "", "| competition | grades equal | reason |", "|---|---|---|"]
    for one in ordered:
        if one.metric is None:
            lines.append(f"| {one.slug} | not imported | {NOT_HELD.get(one.slug, one.problem)} |")
        elif one.different:
            equal = len(SUBMISSIONS) - len(one.different)
            reasons = "; ".join(
                f"{name}: {DIFFERENT.get((one.slug, name), what)}" for name, what in one.different.items()
            )
            lines.append(f"| {one.slug} | {equal} of {len(SUBMISSIONS)} | {reasons} |")
    return "\n".join(lines)


def in_document(text: str, found: Sequence[Compared]) -> str:
    """Return the document with the table between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table(found)}\n{END}{after}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as root:
        found = compared(prepare(Path(root), repository()))
    PAGE.write_text(in_document(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
