"""Entries for tests."""

from datetime import UTC, datetime
from typing import Any

from bot.knowledge.entry import Entry, EntrySource, PaperFields

KNOWN = datetime(2020, 1, 1, tzinfo=UTC)
FIELDS = PaperFields(
    data_type="tables", data_domain="many", task="regression", technique="trees", contribution="they are better"
)


def entry(id: str, claim: str = "A claim that is long enough to be one.", **given: Any) -> Entry:
    """Return a trick on regression with one source, known since 2020, but for what is given."""
    facts = {
        "kind": "trick",
        "title": id.replace("-", " "),
        "labels": ("tabular/regression",),
        "known_at": KNOWN,
        "sources": (EntrySource(title="A source", path="runs/one", licence="CC0-1.0"),),
        "support": "reported",
        "evidence": "One source.",
    }
    if given.get("kind") == "paper":
        facts["paper"] = FIELDS
    return Entry.model_validate({**facts, "id": id, "claim": claim, **given})
