import pytest

from tests.bot.evaluation.parts import write
from tests.bot.evaluation.rejections import IDS


@pytest.fixture
def sample(tmp_path):
    return write(tmp_path / "sample_submission.csv", ["id", "y"], [[one, 0] for one in IDS])
