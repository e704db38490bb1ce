"""A view as the guards use it: opened, with its targets in a form for prediction."""

from functools import cached_property

from bot.evaluation.guards.targets import ExpectedRows, Target, targets_of
from bot.evaluation.scoring.prediction_file import read_truth
from bot.evaluation.views.opened_view import OpenedView


class GuardedView(OpenedView):
    """A view for guards."""

    @cached_property
    def targets(self) -> list[Target]:
        """The targets to predict: classes as a whole, each quantity by itself."""
        truth = read_truth(self.labels / "labels.csv", self.asked_ids, self.card)
        return targets_of(self.layout, range(len(self.train)), ExpectedRows(self.asked_ids, truth, self.asked))
