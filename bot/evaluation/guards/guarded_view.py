"""A view as the guards look at it: opened, and with its targets in a form in which they can be foretold."""

from functools import cached_property

from bot.evaluation.guards.targets import Asked, Target, targets_of
from bot.evaluation.scoring.prediction_file import read_truth
from bot.evaluation.views.opened_view import OpenedView


class GuardedView(OpenedView):
    """A view that guards look at."""

    @cached_property
    def targets(self) -> list[Target]:
        """What is to be foretold: classes as a whole, each quantity by itself."""
        truth = read_truth(self.labels / "labels.csv", self.asked_ids, self.card)
        return targets_of(self.layout, range(len(self.train)), Asked(self.asked_ids, truth, self.asked))
