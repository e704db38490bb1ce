"""Which families of models code uses, and which prose names."""

import json

import pytest

from bot.engine.families import FAMILIES, families, families_in, families_of, not_used


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import lightgbm as lgb\nmodel = lgb.train({}, data)", {"lightgbm"}),
        ("from sklearn.linear_model import Ridge as R\nR().fit(X, y)", {"linear"}),
        ("from xgboost import *\nfit()", {"xgboost"}),
        ("import importlib\nmodel = importlib.import_module('catboost')", {"catboost"}),
        ("from models import LGBMRegressor\nLGBMRegressor().fit(X, y)", {"lightgbm"}),
        ("import importlib, lightgbm\nimportlib.import_module('.models', __package__)\nlightgbm.cv({})", {"lightgbm"}),
        # What is named but not used.
        ("import xgboost as xgb\nimport lightgbm as lgb\nlgb.cv({})", {"lightgbm"}),
        ("# was LGBMClassifier\n'''CatBoostRegressor'''\nname = 'XGBClassifier'\nx = 1", set()),
        ("ColumnTransformer(transformers=[('t', TfidfVectorizer(), 'text')])", set()),
        ("StandardScaler(); OrdinalEncoder(); CatBoostEncoder()", set()),
        # What does not parse.
        ("import lightgbm as lgb\nprint 'XGBClassifier' # CatBoost\nlgb.train(", {"lightgbm"}),
        ("%matplotlib inline\n!pip install catboost\nfrom sklearn.svm import SVC\nSVC()", {"kernel method"}),
    ],
)
def test_a_family_counts_where_code_uses_it_and_not_where_it_is_only_named(code: str, expected: set[str]) -> None:
    assert set(families(code)) == expected


def test_all_families_of_all_files_count_the_most_often_used_first() -> None:
    notebook = json.dumps({"cells": [{"cell_type": "code", "source": ["GaussianNB()\n", "KNeighborsClassifier()"]}]})
    script = "RandomForestRegressor(); ExtraTreesRegressor(); Lasso()"
    found = families_of({"fit.py": script, "look.ipynb": notebook, "params.json": "LGBMClassifier", "x.ipynb": "{"})
    assert found[0] == "forest"
    assert set(found) == {"forest", "linear", "naive Bayes", "neighbours"}
    assert set(found) <= set(FAMILIES)


def test_prose_names_the_same_families() -> None:
    assert families_in("Multinomial NB, an RBF SVM and LightGBM") == {"naive Bayes", "kernel method", "lightgbm"}
    assert families_in("Keep punctuation marks as tokens") == frozenset()


def test_any_boosting_is_boosted_trees() -> None:
    named = families_in("Gradient boosting on dates")
    assert named and not_used(named, ("linear",)) == named
    assert all(not not_used(named, (one,)) for one in ("lightgbm", "xgboost", "catboost", "scikit-learn boosting"))
    assert not_used(families_in("XGBoost"), ("lightgbm",)) == {"xgboost"}
