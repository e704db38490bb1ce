"""What an experiment uses, read from its files and its note."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.community.ideas.uses import Uses, added, credited, ideas_named, uses

IDEAS = {
    1: "TF-IDF of character n-grams (1 to 5) with logistic regression, C 10: 0.31 instead of 0.36 by word counts.",
    2: "Target encoding of the category out of fold, with a smoothing of 20, rather than one-hot columns.",
    3: "Predict the log of the target, as the metric is RMSLE.",
    4: "Gradient boosting on lags of the count.",
    5: "Random forest on colour histograms with 32 bins.",
    6: "Sort the answers by their length.",
    7: "CatBoost",
}
CODES = {
    1: "v = TfidfVectorizer(analyzer='char', ngram_range=(1, 5))\nLogisticRegression(C=10).fit(v.fit_transform(X), y)",
    2: "enc = TargetEncoder(smooth=20).fit_transform(X, y)",
    3: "y = np.log1p(train.sales)\np = np.expm1(model.predict(X))",
    4: "import lightgbm as lgb\nd['before'] = d['count'].shift(1)\nlgb.train({}, d)",
    5: "colour_histogram = np.histogram(image, bins=32)\nRandomForestClassifier().fit(colour_histogram, y)",
    7: "from catboost import CatBoostRegressor\nCatBoostRegressor().fit(X, y)",
}


@pytest.mark.parametrize("number", CODES)
def test_an_idea_is_seen_in_code_that_carries_it_out_and_in_no_other(number: int) -> None:
    assert uses({"fit.py": CODES[number]}, "v2", IDEAS).seen == {number}
    commented = "\n".join(f"# {line}" for line in CODES[number].splitlines())
    assert not uses({"fit.py": commented, "notes.txt": CODES[number]}, "v2", IDEAS).seen


def test_another_forest_is_another_idea() -> None:
    assert uses({"fit.py": "RandomForestClassifier().fit(tokens, y)"}, "", IDEAS).ideas == frozenset()


def test_several_files_are_one_experiment() -> None:
    found = uses({"features.py": CODES[2], "fit.py": CODES[7]}, "", IDEAS)
    assert (found.families, found.ideas) == (("catboost",), {2, 7})


def test_an_idea_that_is_named_by_number_counts_whatever_it_says_and_the_note_goes_before_comments() -> None:
    assert uses({}, "idea6-sorted: by length", IDEAS).named == {6}
    assert uses({"fit.py": "# Idea 6 and idea 2\nx = 1"}, "sorted", IDEAS).named == {2, 6}
    assert uses({"fit.py": "# idea 2\nx = 1"}, "idea 6", IDEAS).named == {6}
    assert uses({}, "idea 99", IDEAS).ideas == frozenset(), "the pool has none of this number"
    assert uses({"fit.py": CODES[2]}, "without idea 2", IDEAS).ideas == frozenset()


@given(st.lists(st.integers(1, 999), min_size=1, max_size=4), st.sampled_from([", ", " and ", " + ", ", idea "]))
def test_lists_of_numbers_are_read_whole(numbers: list[int], between: str) -> None:
    assert ideas_named(f"v3: ideas {between.join(map(str, numbers))}, 0.5 better") >= set(numbers)


def test_a_gain_is_credited_to_the_one_idea_that_differs_or_that_the_coder_names() -> None:
    none, one = (Uses((), frozenset(), frozenset(seen)) for seen in ((), {1}))
    two = Uses((), frozenset(), frozenset({1, 2}))
    assert (credited(one, none), credited(two, one), credited(two, none)) == (1, 2, None)
    assert (added(two, one), added(two, None)) == ({2}, {1, 2})
    said = Uses((), frozenset({5}), frozenset({1, 2}))
    assert (credited(said, none), credited(said, None), credited(two, None)) == (5, 5, None)
