"""How competitions of other kinds look: their pages, and the size of their data."""

from collections.abc import Mapping

from bot.simulator.site.settings import CompetitionKind

NO_METRIC: tuple[CompetitionKind, ...] = ("simulation", "agents", "models", "hackathon", "judged")
"""Kinds that are not scored against hidden answers."""
_HUGE = 2_000_000_000_000
"""Bytes."""
_EVALUATION: Mapping[CompetitionKind, str] = {
    "simulation": """## Evaluation

Each day your team may submit up to {daily} agents. Each submission plays episodes against agents of a similar skill rating,
and its rating rises with every win.
""",
    "agents": """## Evaluation

Your submission is a zip file whose top folder contains `agent.yaml`, which names the entry point and model of your agent. Each
agent runs on 100 hidden tasks, and its score is the share that it solves.
""",
    "models": """## Evaluation

Submit your trained model as one archive with its weights. We load it on our machines and evaluate it on hidden prompts.
""",
    "hackathon": """## Evaluation

Submit a write-up of at most 1,500 words, a three-minute video and a public code repository. A panel of judges reviews all
entries.

| criterion | points |
|---|---|
| Impact | 40 |
| Technical depth | 30 |
| Storytelling | 30 |
""",
    "judged": """## Evaluation

There is no leaderboard. A panel of judges scores each entry by this rubric: innovation, accuracy, relevance, clarity.
""",
    "two-stages": """

## Stages

This is a two-stage competition. The data for the second stage is released when the first stage ends. Only the second stage
counts for the final standings.
""",
}


def pages_of_kind(kind: CompetitionKind, pages: Mapping[str, str], daily: int) -> dict[str, str]:
    """Return the pages' markdown by name as a competition of that kind has them, with so many submissions a day."""
    text = _EVALUATION.get(kind, "").format(daily=daily)
    if not text:
        return dict(pages)
    return {**pages, "evaluation": text if kind in NO_METRIC else f"{pages['evaluation']}{text}"}


def shown_size(kind: CompetitionKind, size: int, total: int) -> int:
    """Return a file's size as it is listed: where the data is huge, all files together have two terabytes."""
    return size * max(1, _HUGE // max(total, 1)) if kind == "huge-data" else size
