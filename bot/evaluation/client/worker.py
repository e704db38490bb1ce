"""The functions of the worker process, which holds pandas, numpy and scikit-learn so that the bot's own process never does.

Each takes the arguments of the function of its name, which documents them and the errors. Any of them may raise
InfrastructureFailure: the worker failed, or took too long.
"""

from typing import TYPE_CHECKING

from bot.evaluation.answers import Agreement, GradeReport, HiddenScores, Interval, NodeScore, PublicCopy, ScoredFiles
from bot.evaluation.answers.blends import CandidateRanking, FittedBlend
from bot.evaluation.answers.diagnostics import Diagnostics
from bot.evaluation.answers.experiments import FitRows, ScoredExperiment
from bot.evaluation.answers.findings import GuardFinding
from bot.evaluation.client.process import Remote, WorkerProcess

if TYPE_CHECKING:
    from bot.evaluation import choosing, preview
    from bot.evaluation.blending import blend
    from bot.evaluation.experiments import diagnose, fit_rows
    from bot.evaluation.experiments import score as experiments
    from bot.evaluation.grading import grade
    from bot.evaluation.guards import copies, running
    from bot.evaluation.scoring import agreement, interval, prediction_file
    from bot.evaluation.scoring import score as scoring
    from bot.evaluation.views import build

_BUILD = "bot.evaluation.views.build"
_SCORING = "bot.evaluation.scoring.score"
_BLEND = "bot.evaluation.blending.blend"
_EXPERIMENTS = "bot.evaluation.experiments.score"
_FIT_ROWS = "bot.evaluation.experiments.fit_rows"
_GUARDS = "bot.evaluation.guards.running"
_COPIES = "bot.evaluation.guards.copies"
_GRADE = "bot.evaluation.grading.grade"


class Worker(WorkerProcess):
    """The functions of the worker."""

    build_view = Remote(_BUILD, object, lambda: build.build_view)
    build_folds = Remote(_BUILD, str, lambda: build.build_folds)
    share_everything = Remote(_BUILD, object, lambda: build.share_everything)
    describe_split = Remote(_BUILD, str, lambda: build.describe_split)
    preview = Remote("bot.evaluation.preview", str, lambda: preview.preview)
    check_view_scorable = Remote(_SCORING, object, lambda: scoring.check_view_scorable)
    score_execution = Remote(_SCORING, ScoredFiles, lambda: scoring.score_execution)
    score_predictions = Remote(_SCORING, NodeScore, lambda: scoring.score_predictions)
    check_form = Remote("bot.evaluation.scoring.prediction_file", object, lambda: prediction_file.check_form)
    validation_interval = Remote("bot.evaluation.scoring.interval", Interval, lambda: interval.validation_interval)
    agree = Remote("bot.evaluation.scoring.agreement", Agreement, lambda: agreement.agree)
    score_experiment = Remote(_EXPERIMENTS, ScoredExperiment, lambda: experiments.score_experiment)
    diagnose = Remote("bot.evaluation.experiments.diagnose", Diagnostics | None, lambda: diagnose.diagnose)
    take_test = Remote(_EXPERIMENTS, str, lambda: experiments.take_test)
    write_fit_rows = Remote(_FIT_ROWS, FitRows, lambda: fit_rows.write_fit_rows)
    write_all_fit_rows = Remote(_FIT_ROWS, FitRows, lambda: fit_rows.write_all_fit_rows)
    blend = Remote(_BLEND, FittedBlend, lambda: blend.blend, 240)
    write_blend = Remote(_BLEND, object, lambda: blend.write_blend)
    write_predictions = Remote(_BLEND, object, lambda: blend.write_predictions)
    choose_candidate = Remote("bot.evaluation.choosing", CandidateRanking, lambda: choosing.choose_candidate)
    guard_view = Remote(_GUARDS, tuple[GuardFinding, ...], lambda: running.guard_view)
    guard_execution = Remote(_GUARDS, tuple[GuardFinding, ...], lambda: running.guard_execution)
    check_file = Remote(_COPIES, PublicCopy, lambda: copies.check_file)
    sketch_script = Remote(_COPIES, tuple[str, str, str] | None, lambda: copies.sketch_script)
    grade = Remote(_GRADE, GradeReport, lambda: grade.grade)
    grade_nodes = Remote(_GRADE, HiddenScores, lambda: grade.grade_nodes)
    rank_correlation = Remote(_GRADE, float | None, lambda: grade.rank_correlation)
