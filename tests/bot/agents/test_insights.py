"""What labs found and measured, in lines and reports made by code."""

from types import SimpleNamespace
from typing import Any

from bot.agents.comind.insights import lacks
from bot.agents.comind.labs import experiments
from bot.engine.results import BlendSoFar
from bot.engine.tree import NodeView, Tree
from state.tables import Lab


def hint(name: str, gain: float | None, error: float | None = 0.01, note: str | None = None) -> dict[str, Any]:
    return {"name": name, "score": 0.5, "note": note, "against": "plain", "gain": gain, "gain_error": error}


def test_the_clearest_comparisons_stand_first_and_credit_the_one_idea_that_they_name():
    hints = [hint("first", None, None), hint("weak", 0.01), hint("in vain", -0.05, note="idea 3 alone")]
    row = Lab(run_id="r", id=2, started_at=None, hints=[*hints, hint("both", 0.03, note="idea 1 and idea 4")])
    found = experiments(row)
    assert [(part.name, part.idea, part.gain) for part in found] == [
        ("in vain", 3, -0.05),
        ("both", None, 0.03),
        ("weak", None, 0.01),
    ]


def test_the_blend_lacks_what_was_left_out_and_what_nobody_tried():
    def node(number: int, *families: str) -> NodeView:
        return NodeView(number, "draft", "valid", (), 0.5, families=families)

    blend = BlendSoFar((2, 3), {2: 1.0}, "probabilities", 0.4, None, None, None)
    context: Any = SimpleNamespace(blend=blend)
    text = lacks(context, Tree((node(2, "linear"), node(3, "naive Bayes"))))
    assert "in the blend: linear." in text
    assert "not in it: naive Bayes." in text
    assert "transformer" in text.partition("Nothing scored yet uses: ")[2]
    assert lacks(SimpleNamespace(blend=None), Tree(())) == ""  # type: ignore[arg-type] # it reads the blend alone
