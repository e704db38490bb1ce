"""A competition's pages: the snapshot's description split into parts, and what the stand-in adds."""

import re
from dataclasses import dataclass

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.simulator.site.competition_kinds import pages_of_kind
from bot.simulator.site.rendering import rendered, share_of
from bot.simulator.site.settings import SiteSettings
from bot.simulator.site.wire import Json
from scrapers.snapshots.card import TaskCard

METRIC_WORDS = {
    "log_loss": "Log Loss",
    "rmse": "Root Mean Squared Error",
    "rmsle": "Root Mean Squared Logarithmic Error",
    "mean_columnwise_rmsle": "Mean Columnwise Root Mean Squared Logarithmic Error",
    "mae": "Mean Absolute Error",
    "roc_auc": "Area Under the ROC Curve",
    "accuracy": "Categorization Accuracy",
    "mean_columnwise_rmse": "Mean Columnwise Root Mean Squared Error",
    "r2": "R2 Score",
    "pearson": "Pearson Correlation Coefficient",
    "spearman": "Mean Columnwise Spearman's Correlation Coefficient",
    "mcc": "Matthews Correlation Coefficient",
    "word_jaccard": "Word-level Jaccard Score",
    "levenshtein": "Mean Levenshtein Distance",
    "dice": "Mean Dice Coefficient",
    "global_dice": "Global Dice Coefficient",
}
"""Kaggle's names for metrics, where they differ from the registry's."""

RULES = """# Competition rules

These are the rules of a rehearsal: a local server that simulates a past competition.

- **One account per participant.** You may not sign up or submit from more than one account.
- **No private sharing outside teams.** Code and data may be shared publicly, on the forum, under an open licence.
- **Team size.** The maximum team size is {team}.
- **Submission limits.** You may submit at most {daily} entries per day, and select up to 2 final submissions for judging.
- **External data** is allowed if it is publicly available and equally accessible to all at minimal cost.
- **Timeline.** The competition begins on {begins} and ends on {ends}, both in UTC.
"""

CHANGED_RULES = "\n- **Amendment.** The hosts have changed these rules; by continuing, you accept the new rules.\n"

_HEADING = re.compile(r"^(#{1,6})\s*(.+?)\s*#*\s*$")
_PAGES = (
    ("evaluation", "evaluation"),
    ("prize", "prizes"),
    ("timeline", "timeline"),
    ("citation", "citation"),
    ("dataset description", "data-description"),
    ("file description", "data-description"),
    ("data field", "data-description"),
    ("data description", "data-description"),
)
_TITLES = {"data": "data-description", "files": "data-description", "submission file": "evaluation", "rules": "rules"}
_ORDER = ("description", "evaluation", "timeline", "prizes", "citation", "data-description", "rules")


@dataclass(frozen=True)
class SimulatedPages:
    """The pages in markdown, by name."""

    content: dict[str, str]
    settings: SiteSettings

    def answer(self, page_name: str, *, rules_changed: bool) -> list[Json]:
        """Return the pages as ListCompetitionPages does, all or the one requested."""
        return [
            self._page(name, text + (CHANGED_RULES if name == "rules" and rules_changed else ""))
            for name, text in self.content.items()
            if not page_name or page_name.lower() == name
        ]

    def _page(self, name: str, text: str) -> Json:
        form = self.settings.page_format
        html = form == "html" or (form == "mixed" and share_of(self.settings.seed, "page", name) < 0.5)
        return {
            "name": name,
            "content": rendered(text) if html else text,
            "isPublished": True,
            "postTitle": name.replace("-", " ").capitalize(),
            "mimeType": "text/html" if html else "text/markdown",
        }


def make_pages(card: TaskCard, description: str, settings: SiteSettings, daily: int) -> SimulatedPages:
    """Split a description by its headings; an evaluation page and rules are added if it has none."""
    content = {name: text for name, text in _parts(description).items() if text.strip()}
    content.setdefault("description", card.title)
    content.setdefault("evaluation", _evaluation(card))
    begins, end = (f"{time:%Y-%m-%d %H:%M}" for time in (card.enabled_at, card.deadline))
    content.setdefault("rules", RULES.format(team=settings.max_team_size, daily=daily, begins=begins, ends=end))
    in_order = {name: content[name] for name in _ORDER if name in content}
    return SimulatedPages(pages_of_kind(settings.kind, in_order, daily), settings)


def metric_words(card: TaskCard) -> str:
    """Return the metric's name for people; a log loss over several prediction columns is a multi-class one."""
    if card.metric.name == "log_loss" and len(card.prediction_columns) > 1:
        return "Multi-class Log Loss"
    if card.metric.name == "map_at_k" and "k" in card.metric.params:
        return f"MAP@{card.metric.params['k']}"
    return METRIC_WORDS.get(card.metric.name, card.metric.name.replace("_", " "))


def _parts(description: str) -> dict[str, str]:
    parts: dict[str, list[str]] = {}
    current, level, fenced = "description", 0, False
    for line in description.splitlines(keepends=True):
        fenced ^= line.lstrip().startswith("```")
        heading = None if fenced else _HEADING.match(line.strip("\n"))
        if heading:
            current, level = _turn(len(heading[1]), heading[2].strip().lower(), current, level)
        parts.setdefault(current, []).append(line)
    return {name: "".join(lines) for name, lines in parts.items()}


def _turn(depth: int, title: str, current: str, level: int) -> tuple[str, int]:
    """Return the page that a heading begins or belongs to, and the level of the page's own heading."""
    name = _TITLES.get(title) or next((page for part, page in _PAGES if part in title), None)
    if level and depth > level:
        return current, level
    if name is not None:
        return name, depth
    if current != "description" and depth <= level and title in ("description", "overview"):
        return "description", 0
    return (current, level) if current == "description" else ("description", 0)


def _evaluation(card: TaskCard) -> str:
    columns = ",".join(card.columns)
    better = "lower" if METRIC_DIRECTIONS.get(card.metric.name, card.metric.direction) == "minimize" else "higher"
    return (
        f"Submissions are evaluated on the {metric_words(card)}; {better} scores are better.\n\n## Submission file\n\n"
        f"For each row of the test set, predict the columns of the sample submission. The file must have a "
        f"header and the following format:\n\n```\n{columns}\n```\n"
    )
