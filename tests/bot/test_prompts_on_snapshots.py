"""Every role's prompt on every snapshot: it says how the competition is scored and what its data is, and little else."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.execution.task import TaskText
from scrapers.snapshots.snapshot import Snapshot
from tests import needs
from tests.bot.models.test_foreign_text import PROMPTS

SAID = {
    "aerial-cactus-identification": ("area under the ROC curve", "train.csv"),
    "bike-sharing-demand": ("Root Mean Squared Logarithmic Error", "registered"),
    "leaf-classification": ("multi-class logarithmic loss", "margin"),
    "nomad2018-predict-transparent-conductors": ("root mean squared logarithmic error", "Lattice vectors and angles"),
    "spooky-author-identification": ("multi-class logarithmic loss", "train.csv"),
}
"""Words of how each is scored, and of its data section."""
UNSAID = ("Prizes", "## Timeline", "Acknowledg")
MOST_CHARACTERS = 25_000
"""Of a prompt without a preview, posts and scripts: the description's bound, and what is always said."""


def on(prompt: Any, card: Any) -> Any:
    """Return a role's prompt, filled for a competition."""
    return replace(prompt, task=TaskText.from_card(card))


@pytest.mark.integration
@pytest.mark.parametrize("slug", SAID)
def test_every_prompt_says_how_it_is_scored_and_what_the_data_is(slug: str) -> None:
    card = Snapshot.load(Path(needs.snapshots()) / slug, METRIC_DIRECTIONS).card
    for prompt in PROMPTS:
        if not hasattr(prompt, "task") or prompt.name == "repair_kernel":  # these are not to better a score
            continue
        text = "\n".join(message.content for message in on(prompt, card).messages())
        assert card.metric.direction in text, prompt.name
        for words in SAID[slug]:
            assert words.lower() in text.lower(), prompt.name
        assert not [words for words in UNSAID if f"\n{words}" in text or f"# {words}" in text], prompt.name
        assert len(text) < MOST_CHARACTERS, prompt.name
        for column in card.prediction_columns[:3]:
            assert column in text, prompt.name
