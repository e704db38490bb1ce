"""What labs found and measured, in lines and reports made by code."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from bot.agents.comind.labs import conclusions, experiments
from bot.agents.comind.lineage import conclusion, ensemble_gaps
from bot.engine.experiment import Experiment
from bot.engine.results import BlendSoFar
from bot.engine.tree import NodeView, Tree
from bot.evaluation.answers import Gain, NodeScore
from bot.evaluation.answers.experiments import Arrays, ScoredExperiment
from state.tables import Lab


def experiment(node: int, name: str, gain: Gain | None, note: str = "", lab: int = 2) -> Experiment:
    result = ScoredExperiment(Arrays(oof="a"), 0.5, 0.01, None, None, gain)
    return Experiment(node, name, "model", lab, 1, note, (), {}, "", None, result)


def test_the_clearest_comparisons_stand_first_and_credit_the_one_idea_that_they_add(monkeypatch) -> None:
    ideas = [SimpleNamespace(number=number, text=f"idea about {number}") for number in (1, 3, 4)]
    monkeypatch.setattr("bot.agents.comind.labs.idea_texts", lambda _: ideas)
    kept = [
        experiment(2, "plain", None),
        experiment(3, "weak", Gain(0.01, 0.01, "plain")),
        experiment(4, "in-vain", Gain(-0.05, 0.01, "plain"), "idea 3 alone"),
        experiment(5, "both", Gain(0.03, 0.01, "plain"), "idea 1 and idea 4"),
        experiment(6, "of-another-lab", Gain(0.5, 0.01, "plain"), lab=3),
        replace(experiment(7, "fit/trees", Gain(0.4, 0.01, "plain")), kind="portfolio"),
    ]
    context: Any = SimpleNamespace(experiments=SimpleNamespace(all=lambda: kept))
    found = experiments(context, 2)
    assert [(part.name, part.idea, part.gain) for part in found] == [
        ("in-vain", 3, -0.05),
        ("both", None, 0.03),
        ("weak", None, 0.01),
    ]
    assert found[1].ideas == (1, 4)
    assert conclusions(found) == ("not beyond noise: weak", "Build on what gained beyond noise: both.")


def test_what_a_coder_concluded_stands_with_its_direction() -> None:
    row = Lab(run_id="r", id=2, started_at=None, report={"method": "trees", "next": "more seeds"})  # type: ignore[arg-type]
    assert conclusion(row) == 'method: "trees", next: "more seeds"'
    assert "done" in conclusion(Lab(run_id="r", id=3, started_at=None, reason="done"))  # type: ignore[arg-type]


def test_the_blend_lacks_what_was_left_out_and_what_nobody_tried():
    def node(number: int, *families: str) -> NodeView:
        return NodeView(number, "draft", "valid", (), 0.5, families=families)

    blend = BlendSoFar((2, 3), {2: 1.0}, "probabilities", NodeScore(0.4))
    context: Any = SimpleNamespace(blend=blend)
    text = ensemble_gaps(context, Tree((node(2, "linear"), node(3, "naive Bayes"))))
    assert "in the blend: linear." in text
    assert "not in the blend: naive Bayes." in text
    assert "transformer" in text.partition("Not in any scored solution yet: ")[2]
    assert ensemble_gaps(SimpleNamespace(blend=None), Tree(())) == ""  # type: ignore[arg-type] # it reads the blend alone
