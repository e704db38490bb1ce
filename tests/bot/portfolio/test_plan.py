"""Which models of the portfolio are fitted, and with which settings."""

import pytest

from bot.evaluation.metrics.registry import METRICS
from bot.portfolio import plan
from bot.portfolio.fit_portfolio import FAMILIES
from bot.portfolio.plan import CONFIGURATIONS, PortfolioJob, is_logarithmic, next_models, portfolio_model
from state.errors import UsageError


def test_each_configuration_is_of_a_family_that_the_script_fits() -> None:
    assert {family for family, _ in CONFIGURATIONS.values()} == set(FAMILIES)


def test_metrics_with_an_objective_of_their_own_are_in_the_registry() -> None:
    assert {*plan._LOGARITHMIC, *plan._MEDIAN} <= set(METRICS)


def test_configurations_come_before_further_seeds() -> None:
    names = next_models([], {"lightgbm-2": 1.0})
    assert names[: len(CONFIGURATIONS)] == list(CONFIGURATIONS)
    assert names[len(CONFIGURATIONS) :] == [f"lightgbm-2-seed-{seed}" for seed in (1, 2, 3, 4)]


def test_seeds_are_those_of_the_ensembles_members_heaviest_first() -> None:
    weights = {"network-1": 0.3, "catboost-1": 0.2, "catboost-1-seed-1": 0.2, "linear": 0.3}
    assert next_models([*CONFIGURATIONS, "catboost-1-seed-1"], weights, seeds=3) == [
        "network-1-seed-1",
        "catboost-1-seed-2",
        "network-1-seed-2",
    ]


def test_members_that_are_not_the_portfolios_are_passed_over() -> None:
    assert next_models(list(CONFIGURATIONS), {"my-stack": 1.0}) == []


def test_a_further_seed_has_its_configurations_settings() -> None:
    first, third = (portfolio_model(name, "rmse", "number") for name in ("xgboost-1", "xgboost-1-seed-2"))
    assert (first.seed, third.seed) == (0, 2)
    assert first.settings == third.settings


def test_boosting_learns_the_median_where_the_metric_asks_for_it() -> None:
    assert portfolio_model("lightgbm-1", "mae", "number").settings["objective"] == "quantile"
    assert "objective" not in portfolio_model("lightgbm-1", "rmse", "number").settings


def test_only_numbers_are_learned_as_logarithms() -> None:
    assert is_logarithmic("rmsle", "number")
    assert not is_logarithmic("rmse", "number")


def test_an_unknown_model_is_refused() -> None:
    with pytest.raises(UsageError):
        portfolio_model("lightbgm-1", "rmse", "number")


def test_a_job_of_several_classes_says_how_many() -> None:
    with pytest.raises(ValueError, match="classes"):
        PortfolioJob(kind="multiclass", fold_kind="random", models=(), cpu_seconds=1)
