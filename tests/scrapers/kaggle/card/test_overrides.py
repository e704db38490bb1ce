"""Tests of what the owner writes into bot.toml about a competition."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.configuration import read_settings
from bot.configuration.competition import CompetitionSettings
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from scrapers.kaggle.card.derive import derive
from scrapers.kaggle.card.overrides import CardOverrides
from state.errors import UsageError
from tests.scrapers.kaggle.card.cases import make_evidence, make_tables


def read(folder: Path, text: str) -> dict[str, CompetitionSettings]:
    (folder / "bot.toml").write_text(text)
    return read_settings(folder / "bot.toml").competitions


def test_each_competition_has_a_table(tmp_path: Path) -> None:
    told = read(
        tmp_path,
        '[competitions.spooky-author-identification]\nmetric = "log_loss"\nmetric_params = { eps = 1e-7, normalize = false }\n'
        'prediction_columns = ["EAP", "HPL", "MWS"]\ndeadline = 2027-01-31T23:59:00+01:00\n[competitions.other]\nkind = "code"\n',
    )
    own = told["spooky-author-identification"].card
    assert (own.metric, own.metric_params) == ("log_loss", {"eps": 1e-7, "normalize": False})
    assert own.prediction_columns == ("EAP", "HPL", "MWS")
    assert own.deadline == datetime(2027, 1, 31, 22, 59, tzinfo=UTC)
    assert told["other"].card == CardOverrides(kind="code")
    assert "unknown" not in told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[competitions.a]\nmetrik = 'rmse'", r"2: unknown key 'metrik' in \[competitions.a\]; did you mean 'metric'"),
        ("[competitions.a]\ndirection = 'up'", "competitions.a.direction"),
        ("[competitions.a]\ndeadline = 2027-01-31T23:59:00", "competitions.a.deadline must be a time with its zone"),
        ("[competitions.a]\nsubmission_file = '../x.csv'", "competitions.a.submission_file"),
        ("[competitions.a]\nprediction_columns = []", "competitions.a.prediction_columns"),
        ("[competitions]\nmetric = 'rmse'", "competitions.metric"),
    ],
)
def test_a_wrong_word_is_refused(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        read(tmp_path, text)


def test_the_lines_that_a_card_asks_for_settle_it(tmp_path: Path) -> None:
    shape = {"sample": ["image_id", "patient_id", "age"], "train": [], "test": []}
    evidence = make_evidence("", field="MAE", tables=make_tables(shape), deadline=None)
    missing = derive(evidence, METRIC_DIRECTIONS).missing
    assert {one.field for one in missing} == {"metric", "prediction_columns", "deadline"}
    lines = [one.line for one in missing if one.field != "metric"]
    own = read(tmp_path, "\n".join(["[competitions.house-pricing]", *lines, 'metric = "mae"']))["house-pricing"].card
    assert derive(evidence, METRIC_DIRECTIONS, own).card is not None
