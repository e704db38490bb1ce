"""What the worker process may be asked to do: names, and where the functions lie."""

from collections.abc import Mapping

OPERATIONS: Mapping[str, str] = {
    "build_view": "bot.evaluation.views.build:build_view",
    "share_everything": "bot.evaluation.views.build:share_everything",
    "check_form": "bot.evaluation.scoring.prediction_file:check_form",
    "score_execution": "bot.evaluation.score:score_execution",
    "check_views_scorable": "bot.evaluation.score:check_views_scorable",
    "grade": "bot.evaluation.grading.grade:grade",
    "grade_some": "bot.evaluation.grading.grade:grade_some",
    "grade_nodes": "bot.evaluation.hidden:grade_nodes",
    "rank_correlation": "bot.evaluation.hidden:rank_correlation",
    "agree": "bot.evaluation.scoring.agreement:agree",
    "score_noise": "bot.evaluation.noise:score_noise",
    "guard_view": "bot.evaluation.guards.running:guard_view",
    "guard_execution": "bot.evaluation.guards.running:guard_execution",
    "validation_interval": "bot.evaluation.scoring.interval:validation_interval",
    "check_file": "bot.evaluation.guards.copies:check_file",
    "sketch_script": "bot.evaluation.script_sketches:sketch_script",
    "preview": "bot.evaluation.preview:preview",
    "find_metric": "bot.evaluation.grading.find_metric:find_metric",
    "report": "bot.report.page:write_report",
}
"""Name to `module:function`; anything else is refused. Imported only when first asked for, in the worker."""


def function_path(op: str) -> str | None:
    """Return `module:function` for an operation's name, or for one of these paths itself; None if not allowed."""
    if op in OPERATIONS:
        return OPERATIONS[op]
    return op if op in OPERATIONS.values() else None
