"""The live task card: what a competition's fields, pages, tables and leaderboard agree on, or what its owner must say."""

from scrapers.kaggle.card.derive import derive
from scrapers.kaggle.card.evidence import Evidence, Sample, Tables
from scrapers.kaggle.card.findings import OWNER, Derived, Finding, Missing
from scrapers.kaggle.card.overrides import CardOverrides

__all__ = [
    "OWNER",
    "CardOverrides",
    "Derived",
    "Evidence",
    "Finding",
    "Missing",
    "Sample",
    "Tables",
    "derive",
]
