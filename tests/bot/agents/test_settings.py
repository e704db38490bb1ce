"""How many rows a run withholds follows from who works on its drafts."""

import pytest

from bot.agents.settings import AgentRunSettings
from bot.coder.coder_config import ChosenCoder


@pytest.mark.parametrize(
    ("agent", "coder", "withholding"),
    [
        ("comind", "lab", "lab"),
        ("hybrid", "lab", "lab"),
        ("comind", "script", "script"),
        ("aide", "lab", "script"),
        ("solo", "lab", "script"),
    ],
)
def test_a_labs_few_rows_are_withheld_where_drafts_are_worked_on_in_labs(agent, coder, withholding):
    settings = AgentRunSettings.model_construct(agent=agent, chosen_coder=ChosenCoder(labs=coder == "lab"))
    assert settings.withholding == withholding
