"""An import that gets stuck at its second competition, to be killed there: `stuck_import ROOT`."""

import sys
from datetime import UTC, datetime
from pathlib import Path

from bot.research.importers.mle_bench.importing import BenchImport
from bot.research.importers.mle_bench.prepared_files import find_places
from bot.research.metric_search.grade_calls import FoundMetric, MetricQuestion


def _find(question: MetricQuestion) -> FoundMetric:
    if question.slug == "second":
        print(f"asking for the metric of {question.slug}", flush=True)
        sys.stdin.read()
    return FoundMetric("rmse", "minimize", "for the test")


def _main(root: Path) -> None:
    importing = BenchImport(root / "out", {"rmse": "minimize"}, _find, datetime(2026, 11, 20, tzinfo=UTC))
    for place in find_places([root / "data"], root / "competitions"):
        importing.run(place)


if __name__ == "__main__":
    _main(Path(sys.argv[1]))
