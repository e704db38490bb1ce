"""The messages for refused prediction files."""

import pytest

from bot.evaluation.scoring.prediction_file import read_submission
from state.errors import InvalidSubmission
from tests.bot.evaluation.parts import card

IDS = ["1", "2", "3"]
GOOD = "id,y\n1,0.5\n2,1\n3,2\n"


def rejection(path, sample, task=None):
    with pytest.raises(InvalidSubmission) as caught:
        read_submission(path, sample, task or card())
    message = str(caught.value)
    assert message.isprintable() and message.endswith(".") and len(message) < 500
    return message


def saying(sample, content, task=None):
    path = sample.with_name("submission.csv")
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    message = rejection(path, sample, task)
    assert message.startswith("submission.csv")
    return message
