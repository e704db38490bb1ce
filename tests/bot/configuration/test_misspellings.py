"""Names in a bot.toml that are nearly right."""

from pathlib import Path

import pytest

from bot.configuration import read_settings
from tests.bot.configuration.test_contradictions import mistakes


@pytest.mark.parametrize("name", ["builtn", "built-in", "Builtin"])
def test_a_model_that_is_nearly_the_built_in_one_is_caught(tmp_path: Path, name: str) -> None:
    (sentence,) = mistakes(tmp_path, f'[models]\nmodel = "{name}"\n')
    assert sentence == '2: models.model is not a model; did you mean "builtin"?'
    (sentence,) = mistakes(tmp_path, f'[competitions.c]\nroles.coder = "{name}"\n')
    assert sentence == '2: competitions.c.roles.coder is not a model; did you mean "builtin"?'
    assert mistakes(tmp_path, '[competitions.c]\nmodel = "builtin"\n') == []


@pytest.mark.parametrize(
    ("name", "meant"), [("auc", "roc_auc"), ("Log-Loss", "log_loss"), ("qwk", "quadratic_weighted_kappa")]
)
def test_a_metric_is_known_by_its_other_names(tmp_path: Path, name: str, meant: str) -> None:
    (sentence,) = mistakes(tmp_path, f'[competitions.c]\nmetric = "{name}"\n')
    assert sentence.endswith(f"did you mean {meant}?")


def test_a_table_may_have_a_competitions_address(tmp_path: Path) -> None:
    (tmp_path / "bot.toml").write_text('[competitions."https://www.kaggle.com/c/titanic"]\nsubmit = true\n')
    assert list(read_settings(tmp_path / "bot.toml").competitions) == ["titanic"]
