"""The table of the suite in docs/sandboxes.md: `python -m tests.hostile.table` prints it, `--write` puts it there."""

import sys

from tests.hostile.suite import ATTACKS, FAMILIES
from tests.source_tree import ROOT

PAGE = ROOT / "docs" / "sandboxes.md"
BEGIN, END = "<!-- hostile suite: begin -->", "<!-- hostile suite: end -->"


def table() -> str:
    """Return the table: a row for each family, with what is let through under each back end."""
    lines = [f"| attacks ({len(ATTACKS)}) | bubblewrap | docker |", "|---|---|---|"]
    for family in FAMILIES:
        lines.append(f"| {family.title} ({len(family.attacks)}) | {family.bubblewrap} | {family.docker} |")
    return "\n".join(lines)


def in_document(text: str) -> str:
    """Return the document with the table between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(in_document(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        print(table())
