"""The table in docs/mle-bench.md: `python -m tests.mle_bench.table` runs the comparison and writes it there.

It needs BOT_MLE_BENCH, as the tests do.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.mle_bench.comparing import Compared, compared
from tests.mle_bench.explained import DIFFERENT, NOT_HELD
from tests.mle_bench.published import SUBMISSIONS, prepare, repository
from tests.source_tree import ROOT

PAGE = ROOT / "docs" / "mle-bench.md"
BEGIN, END = "<!-- graders: begin -->", "<!-- graders: end -->"


def table(found: Sequence[Compared]) -> str:
    """Return a row for each competition: what scores it, whether it is imported, how many grades are equal, and why not all."""
    lines = ["| competition | scored by | imported | grades equal | reason |", "|---|---|---|---|---|"]
    for one in sorted(found, key=lambda one: one.slug.lower()):
        held = one.metric is not None
        equal = f"{len(SUBMISSIONS) - len(one.different)} of {len(SUBMISSIONS)}" if held else ""
        reasons = [f"{name}: {DIFFERENT.get((one.slug, name), what)}" for name, what in one.different.items()]
        why = "; ".join(reasons) if held else NOT_HELD.get(one.slug, one.problem)
        lines.append(f"| {one.slug} | {one.metric or ''} | {'yes' if held else 'no'} | {equal} | {why} |")
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
