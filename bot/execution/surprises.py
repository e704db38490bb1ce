"""Surprises of the installed packages: common code that newer versions refuse, or run with another result."""

import re
from collections.abc import Iterable

_SURPRISES: tuple[tuple[str, tuple[int, int], str], ...] = (
    (
        "pandas",
        (3, 0),
        "Series.values, .to_numpy() and DataFrame.values may be read-only: take .to_numpy(copy=True) before writing into one or "
        "shuffling it",
    ),
    (
        "pandas",
        (3, 0),
        "columns of text have dtype str, so that `dtype == object` is False for them: use pd.api.types.is_string_dtype or "
        'select_dtypes(["object", "str"])',
    ),
    (
        "pandas",
        (3, 0),
        'df["a"][mask] = x and df["a"].fillna(x, inplace=True) change nothing: write df.loc[mask, "a"] = x and '
        'df["a"] = df["a"].fillna(x); a float cannot be written into a column of integers',
    ),
    (
        "pandas",
        (3, 0),
        'times count microseconds: .astype("int64") // 10**6 is seconds; frequencies are "h", "min", "ME", "YE"',
    ),
    (
        "pandas",
        (3, 0),
        "gone: applymap (map), fillna(method=) (ffill, bfill), DataFrame.append (pd.concat), delim_whitespace=, date_parser=, "
        "infer_datetime_format=; groupby().apply does not show the grouping columns",
    ),
    (
        "numpy",
        (2, 0),
        "gone: np.float_, np.NaN, np.Inf, np.product, array.ptp()",
    ),
    ("numpy", (2, 0), "small integers overflow: np.uint8(200) + 100 is 44"),
    (
        "numpy",
        (2, 4),
        "gone: np.trapz (np.trapezoid), np.in1d (np.isin); float(array) takes arrays without dimensions alone",
    ),
    ("scipy", (1, 14), "gone: sparse .A (toarray()), integrate.simps and trapz (simpson, trapezoid), interp2d"),
    (
        "scikit-learn",
        (1, 6),
        "gone: mean_squared_error(squared=) (root_mean_squared_error), OneHotEncoder(sparse=) (sparse_output=), base_estimator= "
        "(estimator=), fit_params= (params=), log_loss(eps=), TSNE(n_iter=) (max_iter=)",
    ),
    (
        "scikit-learn",
        (1, 8),
        'gone: LogisticRegression(multi_class=), liblinear for three classes or more, CalibratedClassifierCV(cv="prefit") '
        "(FrozenEstimator), AdaBoostClassifier(algorithm=); instead of penalty= give l1_ratio= (0 is l2, 1 is l1) and C=",
    ),
    ("scikit-learn", (1, 6), "HistGradientBoosting* takes no text: convert such columns to category first"),
    ("scikit-learn", (1, 7), "MLPRegressor's first argument is `loss`: give `hidden_layer_sizes=` by name"),
    (
        "pillow",
        (10, 0),
        "Image.ANTIALIAS is gone (Image.Resampling.LANCZOS); np.asarray(image) is read-only, np.array(image) is not",
    ),
    (
        "lightgbm",
        (4, 0),
        "fit() takes no early_stopping_rounds= and no verbose=: callbacks=[lgb.early_stopping(50)] and verbose=-1 in the "
        'constructor; columns of text must be of dtype category, and names may not hold any of []{}:,"',
    ),
    (
        "xgboost",
        (3, 0),
        'early_stopping_rounds= and eval_metric= go to the constructor, not to fit(); device="cuda" instead of "gpu_hist"; '
        "classes must be 0 to n - 1; columns of text need dtype category and enable_categorical=True",
    ),
    ("polars", (1, 0), "gone: groupby (group_by), apply (map_elements), with_column (with_columns)"),
    ("optuna", (4, 0), "optuna.integration is a package of its own, which may not be there"),
    (
        "albumentations",
        (2, 0),
        "RandomResizedCrop(size=(h, w)); Cutout and Flip are gone; CoarseDropout takes num_holes_range, hole_height_range and "
        "hole_width_range, GaussNoise std_range: older arguments are ignored with a warning",
    ),
    (
        "transformers",
        (5, 0),
        "TrainingArguments(eval_strategy=), not evaluation_strategy=; Trainer(processing_class=), not tokenizer=; AdamW is "
        "torch.optim's",
    ),
)
"""Package, the first version that it holds for, and the surprise: `gone: ` begins what raises an error that names it."""
_SAME = {"xgboost-cpu": "xgboost"}


def surprises(packages: Iterable[str]) -> tuple[str, ...]:
    """Return a sentence for each surprise in these packages.

    Args:
        packages: `name version` of each, as in `Machine.packages`.
    """
    installed: dict[str, tuple[int, int]] = {}
    for package in packages:
        name, _, version = package.partition(" ")
        if match := re.match(r"(\d+)(?:\.(\d+))?", version):
            installed[_SAME.get(name, name)] = (int(match[1]), int(match[2] or 0))
    return tuple(f"{name}: {what}" for name, since, what in _SURPRISES if installed.get(name, (-1, 0)) >= since)
