"""A hold-out that was split off in another way than the test rows."""

from bot.evaluation.answers.findings import Finding, not_run, passed, suspicious
from bot.evaluation.guards.guarded_view import GuardedView
from bot.evaluation.views.build import view_info


def split_unlike_the_test(guard: str, view: GuardedView) -> Finding:
    """Report where the split could not follow how the test rows were split off, as the view's builder found it."""
    info = view_info(view.labels)
    if info is None:
        return not_run(guard, "it is not known how the rows were split")
    if info.unlike:
        return suspicious(guard, "; ".join(info.unlike))
    return passed(guard, f"nothing shows that the test rows were split off in another way ({info.split_kind})")
