"""What must hold between tables."""

from pathlib import Path

import pytest

from bot.configuration import read_settings
from state.errors import ConfigurationError

MODELS = """[models]
model = "nobody-sells-this"
roles.coder = "nor-that"
prices.nor-that = { input = 1, output = 2 }
"""


def mistakes(folder: Path, text: str) -> list[str]:
    (folder / "bot.toml").write_text(text)
    try:
        read_settings(folder / "bot.toml")
    except ConfigurationError as error:
        return [f"{one.line}: {one.message}" for one in error.problems]
    return []


@pytest.mark.parametrize("cap", ["[budget.day]\nmoney = 3\n", "[competitions.c]\nmax_cost_per_day = 3\n"])
def test_under_a_cap_on_money_every_model_has_a_price(tmp_path: Path, cap: str) -> None:
    assert mistakes(tmp_path, MODELS) == []
    (sentence,) = mistakes(tmp_path, MODELS + cap)
    assert sentence.startswith("2: models.model names a model of unknown price")
    assert mistakes(tmp_path, MODELS.replace("nobody-sells-this", "gpt-4o") + cap) == []


def test_so_have_the_models_of_fallbacks_and_competitions(tmp_path: Path) -> None:
    text = (
        "[run.budget]\nmoney = 1\n[[models.fallback]]\nmodel = 'none-such'\n[[models.fallback]]\nmodel = 'priced'\n"
        "prices.priced = { input = 0, output = 0 }\n[competitions.c]\n"
        "roles.coder = 'none-other'\n[competitions.d]\nmodel = 'x-1'\n"
    )
    assert [sentence.split(" names")[0] for sentence in mistakes(tmp_path, text)] == [
        "4: models.fallback.1.model",
        "9: competitions.c.roles.coder",
        "11: competitions.d.model",
    ]


def test_a_capped_competition_with_a_model_of_its_own_needs_no_price_of_the_others(tmp_path: Path) -> None:
    assert mistakes(tmp_path, MODELS + "[competitions.c]\nmax_cost_per_day = 3\nmodel = 'gpt-4o'\n") == []


def test_a_competition_without_a_cap_may_have_models_of_unknown_price(tmp_path: Path) -> None:
    assert mistakes(tmp_path, "[competitions.c]\nmodel = 'x-1'\n[competitions.d]\nmax_cost = 1\n") == []
    assert mistakes(tmp_path, "[competitions.c]\nmodel = 'builtin'\nmax_cost = 1\n") == []


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[models]\nmodel = 'gpt-4o'\n[competitions.c]\n", "3: gpt-4o"),
        ("[competitions.c]\nmodel = 'openai:gpt-4o'\nmax_cost = 50\n", "1: gpt-4o"),
        ("[competitions.c]\nroles.coder = 'gpt-4o'\n", "1: gpt-4o"),
        (MODELS + "[competitions.c]\n", "5: nor-that"),
        ("[models]\nmodel = 'x'\n[[models.fallback]]\nmodel = 'gpt-4o'\n[competitions.c]\n", "5: gpt-4o"),
        ("[models]\nmodel = 'gpt-4o'\n[competitions.c]\nmax_cost_per_day = 1\n", None),
        ("[models]\nmodel = 'gpt-4o'\n[budget.day]\nmoney = 1\n[competitions.c]\n", None),
        ("[models]\nmodel = 'gpt-4o'\n[competitions.c]\nmodel = 'builtin'\n", None),
        ("[models]\nmodel = 'x'\nprices.x = { input = 0, output = 0 }\n[competitions.c]\n", None),
        ("[models]\nmodel = 'gpt-4o'\n", None),
    ],
)
def test_a_competition_whose_model_costs_money_has_a_cap_on_it_a_day(
    tmp_path: Path, text: str, named: str | None
) -> None:
    found = mistakes(tmp_path, text)
    assert len(found) == (named is not None)
    for sentence in found:
        line, model = str(named).split(": ")
        assert sentence == (
            f"{line}: competitions.c needs max_cost_per_day (or `money` under [budget.day]) "
            f"because its models cost money ({model})"
        )


def test_a_fast_clock_is_not_for_kaggle_itself(tmp_path: Path) -> None:
    (sentence,) = mistakes(tmp_path, "[daemon]\nrehearsal = true\n")
    assert sentence.startswith("2: daemon.rehearsal must be false when [kaggle] url is Kaggle's own")
    assert mistakes(tmp_path, "[daemon]\nrehearsal = true\n[kaggle]\nurl = 'http://127.0.0.1:8899/v1'\n") == []


def test_tables_are_held_against_each_other_though_a_third_is_wrong(tmp_path: Path) -> None:
    found = mistakes(tmp_path, "[daemon]\nrehearsal = true\n[weights]\noffer = 1\n")
    assert [sentence.split(" must")[0] for sentence in found] == ["2: daemon.rehearsal", "4: weights.offer"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ('metric = "rmse"', None),
        ('metric = "graders/grade.py"', None),
        ('metric = "~/nothing/there/grade.py"\nmetric_params = { predictions = "label" }', None),
        ('metric = "rmse"\nmetric_params = { predictions = "txt" }', None),
        (
            'metric = "log-los"',
            "2: competitions.c.metric must be a metric that the bot can compute, or the path of a file named grade.py",
        ),
        ('metric = "nosuchmetric"', "2: competitions.c.metric must be a metric"),
        ('metric = "/x/grader.py"', "2: competitions.c.metric must be the path of a file named grade.py"),
        ('metric = "grader.py"', "2: competitions.c.metric must be the path of a file named grade.py"),
        ('metric = "/x/grade"', "2: competitions.c.metric must be the path of a file named grade.py"),
        (
            'metric = "/x/grade.py"\nmetric_params = { predictions = "txt" }',
            '3: competitions.c.metric_params.predictions must be one of "number", "label", "text"',
        ),
        (
            'metric = "/x/grade.py"\nmetric_params = { predictions = true }',
            "3: competitions.c.metric_params.predictions",
        ),
    ],
)
def test_a_metric_is_one_that_can_be_computed_or_a_grader(tmp_path: Path, lines: str, expected: str | None) -> None:
    found = mistakes(tmp_path, f"[competitions.c]\n{lines}\n")
    assert len(found) == (expected is not None)
    assert all(sentence.startswith(expected or "") for sentence in found)


def test_an_unknown_metric_is_told_with_the_nearest_or_with_all(tmp_path: Path) -> None:
    (near,) = mistakes(tmp_path, '[competitions.c]\nmetric = "Log-Los"\n')
    assert near.endswith("did you mean log_loss?")
    (none_near,) = mistakes(tmp_path, '[competitions.c]\nmetric = "zzz"\n')
    assert "choose from accuracy, " in none_near
