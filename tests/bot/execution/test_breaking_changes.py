"""What is said of newer versions is so: each thing is tried on the version that is installed."""

import warnings
from dataclasses import replace
from importlib import metadata

import numpy as np
import pandas as pd
import pytest
import scipy.integrate
import scipy.sparse
from PIL import Image
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.manifold import TSNE
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import cross_val_score
from sklearn.neural_network import MLPRegressor
from sklearn.preprocessing import OneHotEncoder

from bot.coder.lab.prompts import LabTask
from bot.coder.prompts import WriteScript
from bot.execution.machine import breaking_changes
from tests.bot.models.test_foreign_text import PROMPTS

X, Y = np.arange(60.0).reshape(30, 2), np.arange(30) % 3
FRAME = pd.DataFrame({"a": [1, 2, 3], "b": [1.0, None, 3.0], "s": ["x", "y", None]})


def installed(name, since):
    version = metadata.version(name)
    if tuple(map(int, version.split(".")[:2])) < since:
        pytest.skip(f"{name} {version} is older")
    return breaking_changes([f"{name} {version}"])


def write_into(array):
    array[0] = 9


def refused(*calls):
    for call in calls:
        with pytest.raises((TypeError, ValueError, AttributeError, OverflowError, NotImplementedError)):
            call()


def test_only_what_is_installed_and_new_enough_is_spoken_of():
    assert breaking_changes(["pandas 2.3.1", "numpy 1.26.4", "python 3.12"]) == ()
    assert all(one.startswith("numpy: ") for one in breaking_changes(["numpy 2.1.0"])) and breaking_changes(
        ["numpy 2.1.0"]
    )
    assert len(breaking_changes(["numpy 2.4.6"])) > len(breaking_changes(["numpy 2.1.0"]))
    assert breaking_changes(["xgboost-cpu 3.2.0"])[0].startswith("xgboost: ")
    assert breaking_changes(["numpy unknown"]) == ()


def test_pandas_3_has_read_only_arrays_and_columns_of_dtype_str():
    assert any("read-only" in one for one in installed("pandas", (3, 0)))
    refused(lambda: write_into(FRAME["a"].values), lambda: write_into(FRAME["a"].to_numpy()))
    refused(lambda: write_into(FRAME[["b"]].values), lambda: np.random.default_rng(0).shuffle(FRAME["a"].values))
    write_into(FRAME["a"].to_numpy(copy=True))
    assert FRAME["s"].dtype != object and pd.api.types.is_string_dtype(FRAME["s"].dtype)
    assert list(FRAME.select_dtypes(["object", "str"]).columns) == ["s"]


def test_pandas_3_does_not_write_through_a_chain():
    installed("pandas", (3, 0))
    frame = FRAME.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame["a"][frame["b"].isna()] = 7
        frame["b"].fillna(0, inplace=True)
    pd.testing.assert_frame_equal(frame, FRAME)
    refused(lambda: frame.loc.__setitem__((0, "a"), 1.5))


def test_pandas_3_counts_time_in_microseconds_and_lacks_old_names():
    installed("pandas", (3, 0))
    assert pd.to_datetime(pd.Series(["1970-01-02"])).astype("int64")[0] // 10**6 == 24 * 3600
    refused(*(lambda freq=freq: pd.date_range("2020", periods=2, freq=freq) for freq in ("H", "T", "M", "Y")))
    assert all(len(pd.date_range("2020", periods=2, freq=freq)) == 2 for freq in ("h", "min", "ME", "YE"))
    refused(lambda: FRAME.applymap(str), lambda: FRAME.fillna(method="ffill"), lambda: FRAME.append(FRAME))
    assert "a" not in FRAME.groupby("a").apply(lambda group: list(group.columns))[1]


def test_numpy_2_lacks_old_names_and_overflows():
    installed("numpy", (2, 0))
    refused(*(lambda name=name: getattr(np, name) for name in ("float_", "NaN", "Inf", "product")), lambda: X.ptp())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.uint8(200) + 100 == 44


def test_numpy_2_4_lacks_more():
    installed("numpy", (2, 4))
    refused(lambda: np.trapz, lambda: np.in1d, lambda: float(np.array([1.0])))
    assert np.trapezoid([1, 1]) == 1 and np.isin([1], [1]).all()


def test_scipy_lacks_old_names():
    installed("scipy", (1, 14))
    refused(lambda: scipy.sparse.csr_matrix([[1]]).A, lambda: scipy.integrate.simps, lambda: scipy.integrate.trapz)


def test_scikit_learn_lacks_old_arguments():
    installed("scikit-learn", (1, 6))
    refused(
        lambda: mean_squared_error([1], [1], squared=False),
        lambda: OneHotEncoder(sparse=False),
        lambda: BaggingClassifier(base_estimator=None),
        lambda: cross_val_score(Ridge(), X, Y, fit_params={}),
        lambda: log_loss([0, 1], [0.1, 0.9], eps=1e-7),
        lambda: TSNE(n_iter=300),
        lambda: HistGradientBoostingClassifier().fit(pd.DataFrame({"a": ["x", "y"] * 15}), Y),
    )


def test_scikit_learn_1_8_lacks_more():
    installed("scikit-learn", (1, 8))
    refused(
        lambda: LogisticRegression(multi_class="multinomial"),
        lambda: LogisticRegression(solver="liblinear").fit(X, Y),
        lambda: CalibratedClassifierCV(LogisticRegression().fit(X, Y % 2), cv="prefit").fit(X, Y % 2),
        lambda: AdaBoostClassifier(algorithm="SAMME"),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        LogisticRegression(l1_ratio=1.0, solver="liblinear").fit(X, Y % 2)


def test_pillow_gives_arrays_that_are_read_only():
    installed("pillow", (10, 0))
    image = Image.new("L", (2, 2))
    refused(lambda: Image.ANTIALIAS, lambda: write_into(np.asarray(image)))
    write_into(np.array(image))


def test_the_first_argument_of_a_neural_regressor_is_its_loss():
    assert any("hidden_layer_sizes" in one for one in installed("scikit-learn", (1, 7)))
    refused(lambda: MLPRegressor((8,), max_iter=2).fit(X, X[:, 0]))


def test_who_sees_errors_at_once_is_not_told_what_is_gone() -> None:
    told = breaking_changes(["numpy 2.4.6", "pandas 3.0.1", "scikit-learn 1.8.0"])
    gone = [one for one in told if ": gone: " in one]
    assert len(gone) > 3
    (lab,) = (prompt for prompt in PROMPTS if isinstance(prompt, LabTask))
    (script, *_) = (prompt for prompt in PROMPTS if isinstance(prompt, WriteScript))
    for prompt, lacks in ((lab, gone), (script, [])):
        text = replace(prompt, machine=replace(prompt.machine, breaking_changes=told)).messages()[-1].content
        assert [one for one in told if one not in text] == lacks
