"""Tests of the derived card: right, or left open with what is missing; never wrong, whatever a page says besides."""

import random
import tomllib
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.evaluation.metrics.registry import METRIC_DIRECTIONS, METRICS
from scrapers.kaggle.card.derive import derive
from scrapers.kaggle.card.evidence import Sample, Tables
from scrapers.kaggle.card.findings import OWNER, Derived
from scrapers.kaggle.card.metric import contradicted
from scrapers.kaggle.card.overrides import CardOverrides
from tests.scrapers.kaggle.card.cases import BOARDS, DATA, DEFAULTS, Case, load_cases, make_evidence, make_tables

CASES = load_cases()
DISTRACTORS = (
    "For reference, the MAE of the sample submission is 0.31.",
    "In the Store Sales competition, submissions are evaluated on RMSLE.",
    "Last year, submissions were scored on accuracy.",
    "Our baseline reaches an AUC of 0.71.",
    "If submissions were evaluated on MAPE, outliers would dominate.",
    "Are submissions evaluated on log loss? Find out in the forum.",
    "We considered mean squared error.",
    "Unlike RMSE, other metrics are more robust.",
    "The column `rmse` is the sensor's root mean squared error.",
    "Submissions are not evaluated on QWK.",
    "A related paper reports the F1 score.",
    "Locally, you may want to monitor cross-entropy.",
    "Ties are broken by MAE.",
    "Good luck!",
)
UNTOLD = {
    *("weighted_log_loss", "pinball_loss", "laplace_log_likelihood", "binary_f1", "binary_f_beta"),
    *("multilabel_samples_f1", "top_k_error", "levenshtein_ratio", "kendall_tau", "mask_map_iou"),
}


def check(derived: Derived, case: Case) -> None:
    """Fail if the card says anything that is not true."""
    card = derived.card
    if card is None:
        assert derived.missing
        return
    assert case.answerable, f"nobody could tell, but the card says {card.metric.name}: {derived.findings['metric']}"
    assert card.metric.name == case.metric
    assert card.metric.direction == METRIC_DIRECTIONS[card.metric.name]
    assert (card.id_column, card.prediction_columns) == (case.id_column, case.predictions)
    assert DEFAULTS | card.metric.params == case.params


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_card_is_right_or_left_open(case: Case) -> None:
    derived = derive(case.evidence, METRIC_DIRECTIONS)
    check(derived, case)
    assert derived.card is not None or not case.complete, [str(one) for one in derived.missing]


def test_most_of_what_a_person_could_tell_is_told() -> None:
    answerable = [case for case in CASES if case.answerable]
    told = [case for case in answerable if derive(case.evidence, METRIC_DIRECTIONS).card is not None]
    print(f"{len(CASES)} pages, {len(answerable)} of which a person could be certain; the rules are of {len(told)}")
    assert len(told) >= 0.8 * len(answerable)


@settings(max_examples=100, deadline=None)
@given(st.sampled_from(CASES), st.lists(st.sampled_from(DISTRACTORS), max_size=4), st.integers(0, 2**16))
def test_a_card_stays_right_among_sentences_about_other_things(case: Case, added: list[str], seed: int) -> None:
    page = case.evidence.pages[0]
    parts = page.content.split("\n\n")
    rng = random.Random(seed)
    for sentence in added * rng.randint(1, 2):
        written = f"<p>{sentence}</p>" if "html" in page.mime_type else sentence
        parts.insert(rng.randint(0, len(parts)), written)
    mixed = page.model_copy(update={"content": "\n\n".join(parts)})
    evidence = make_evidence(
        mixed.content,
        field=case.evidence.fields.evaluation_metric,
        board=case.evidence.board,
        tables=case.evidence.tables,
        pages=[(one.name, one.content) for one in case.evidence.pages[1:]],
        mime=page.mime_type,
    )
    check(derive(evidence, METRIC_DIRECTIONS), case)


def test_every_computable_metric_can_be_told_but_those_that_no_name_says_for_certain() -> None:
    told = {case.metric for case in CASES if case.complete}
    assert told == METRIC_DIRECTIONS.keys() - UNTOLD


def test_a_card_names_a_source_for_each_of_its_fields() -> None:
    card = derive(make_evidence("Submissions are evaluated on RMSE.", field="RMSE"), METRIC_DIRECTIONS).card
    assert card is not None
    assert set(card.sources) == set(type(card).model_fields) - {"sources"}
    assert "Kaggle's evaluationMetric: 'RMSE'" in card.sources["metric"]
    assert 'page "evaluation": "submissions are evaluated on rmse."' in card.sources["metric"]
    assert "the leaderboard goes up from 0.1021 to 0.9" in card.sources["metric"]
    assert card.sources["id_column"].startswith("sample_submission.csv: id, price")
    assert (card.max_daily_submissions, card.kind, card.category) == (5, "csv", "Playground")
    assert "Submissions are evaluated on RMSE." in card.description


def test_what_is_missing_names_the_line_that_settles_it() -> None:
    derived = derive(make_evidence("Good luck!", board=()), METRIC_DIRECTIONS)
    assert derived.card is None
    (missing,) = derived.missing
    assert missing.line == (
        f'metric = "NAME", where NAME is one of {", ".join(sorted(METRIC_DIRECTIONS))}, '
        "or the path of a grade.py that scores"
    )
    # A sentence that is repeated each day does not repeat all names.
    assert str(missing) == (
        "house-pricing: metric is not certain: neither Kaggle's evaluationMetric nor the pages name it in so many words; "
        'write into bot.toml, below [competitions.house-pricing]: metric = "NAME", the name of a metric '
        "(`bot doctor` lists them), or the path of a grade.py that scores"
    )


def test_a_metric_that_is_named_in_doubt_is_the_one_that_is_proposed() -> None:
    text = "Submissions are evaluated on multi-class log loss. Each id has one true class. Rare classes count twice."
    evidence = make_evidence(text, field="MulticlassLoss", tables=make_tables(DATA["three classes"]))
    (missing,) = derive(evidence, METRIC_DIRECTIONS).missing
    assert (missing.line, missing.brief) == ('metric = "log_loss"', "")
    both = make_evidence("Submissions are evaluated on RMSE.", field="MAE")
    (missing,) = derive(both, METRIC_DIRECTIONS).missing
    assert missing.line == 'metric = "NAME", where NAME is one of mae, rmse, or the path of a grade.py that scores'


@pytest.mark.parametrize(
    ("sentence", "params"),
    [
        (
            "The submitted probabilities for a given observation are not required to sum to one because they are rescaled "
            "prior to being scored (each row is divided by the row sum).",
            {"normalize": True},
        ),
        (
            "In order to avoid the extremes of the log function, predicted probabilities are replaced with "
            "max(min(p,1-10^{-15}),10^{-15}).",
            {"eps": 1e-15},
        ),
        (
            "The probabilities of a row are divided by their sum before scoring, and then kept between 1e-7 and\n1 - 1e-7.",
            {"eps": 1e-7, "normalize": True},
        ),
        ("Predicted probabilities are bounded away from 0 and 1 by 1e-15 before scoring.", {"eps": 1e-15}),
        ("Each row is scaled to sum to one before being scored.", {"normalize": True}),
        ("Probabilities are clipped to [0.05, 0.95].", {"eps": 0.05}),
        ("The probabilities of a row are divided by their sum and then squared before scoring.", None),
        ("The probabilities of rare classes are divided by their sum before scoring, and weighted.", None),
        ("The probabilities of a row are divided by their sum before scoring, and each class counts twice.", None),
        ("The loss of a row is divided by their sum before scoring.", None),
        ("The log loss is divided by the row sum of the baseline.", None),
        ("Predictions are scaled before scoring.", None),
    ],
)
@pytest.mark.parametrize("field", ["", "MulticlassLoss"])
def test_rescaling_and_clipping_are_log_losss_own(field: str, sentence: str, params: dict[str, float] | None) -> None:
    text = f"Submissions are evaluated using multi-class logarithmic loss. Each id has one true class. {sentence}"
    evidence = make_evidence(text, field=field, board=BOARDS["up"], tables=make_tables(DATA["three classes"]))
    card = derive(evidence, METRIC_DIRECTIONS).card
    if params is None:
        assert card is None
    else:
        assert card is not None
        assert card.metric.params == params


def test_a_metric_that_cannot_be_computed_is_named() -> None:
    derived = derive(make_evidence("Submissions are evaluated on NDCG.", board=BOARDS["down"]), METRIC_DIRECTIONS)
    assert "it is scored by ndcg, which cannot be computed yet" in derived.missing[0].why


def test_a_metric_that_is_learnt_later_is_told_without_more_ado() -> None:
    evidence = make_evidence("Submissions are evaluated on NDCG.", board=BOARDS["down"])
    card = derive(evidence, {"ndcg": "maximize"}).card
    assert card is not None
    assert card.metric.name == "ndcg"


def test_a_map_whose_k_is_not_said_asks_for_it() -> None:
    evidence = make_evidence("Submissions are evaluated according to MAP@K.", field="MAP@{K}", board=BOARDS["down"])
    (missing,) = derive(evidence, METRIC_DIRECTIONS).missing
    assert (missing.field, missing.line) == ("metric_params", "metric_params = { k = 5 }")
    card = derive(evidence, METRIC_DIRECTIONS, CardOverrides(metric_params={"k": 7})).card
    assert card is not None
    assert card.metric.params == {"k": 7}


@pytest.mark.parametrize("name", sorted(METRIC_DIRECTIONS.keys() - UNTOLD))
def test_what_a_metric_cannot_score_is_known_as_the_registry_knows_it(name: str) -> None:
    facts = METRICS[name]
    assert (contradicted(name, -0.5, None) is not None) == (facts.least == 0)
    assert (contradicted(name, None, 1.5) is not None) == (facts.most == 1)


def test_the_owners_word_goes_before_all_others_and_is_named() -> None:
    evidence = make_evidence("Submissions are evaluated on RMSE.", field="MAE")
    own = CardOverrides(metric="mae", submission_file="mine.csv", kind="code", max_daily_submissions=2)
    derived = derive(evidence, METRIC_DIRECTIONS, own)
    assert derived.card is not None
    assert (derived.card.metric.name, derived.card.submission_file, derived.card.kind) == ("mae", "mine.csv", "code")
    assert derived.card.max_daily_submissions == 2
    assert derived.card.sources["metric"].startswith(OWNER)
    assert derived.card.sources["kind"] == OWNER
    assert "more than one metric is named: mae, rmse" in derived.findings["metric"].conflicts


def test_a_board_that_contradicts_the_owners_metric_asks_for_the_direction_too() -> None:
    evidence = make_evidence("Good luck!", board=BOARDS["down"])
    derived = derive(evidence, METRIC_DIRECTIONS, CardOverrides(metric="mae"))
    assert [(one.field, one.line) for one in derived.missing] == [("direction", 'direction = "minimize"')]
    assert derive(evidence, METRIC_DIRECTIONS, CardOverrides(metric="mae", direction="minimize")).card is not None


def test_an_owners_grader_scores_what_no_name_is_known_of_and_takes_the_boards_direction() -> None:
    text = "Submissions are evaluated on the harmonic mean of two things."
    own = CardOverrides(metric="graders/grade.py")
    for board, direction in ((BOARDS["up"], "minimize"), (BOARDS["down"], "maximize")):
        card = derive(make_evidence(text, board=board, tables=make_tables(DATA["houses"])), METRIC_DIRECTIONS, own).card
        assert card is not None
        assert (card.metric.name, card.metric.direction, card.metric.params) == ("grade.py", direction, {})
        assert "graders/grade.py" in card.sources["metric"]
    silent = make_evidence(text, board=(), tables=make_tables(DATA["houses"]))
    (missing,) = derive(silent, METRIC_DIRECTIONS, own).missing
    assert (missing.field, missing.line) == ("direction", 'direction = "maximize"')
    said = own.model_copy(update={"direction": "minimize", "metric_params": {"predictions": "text"}})
    told = derive(silent, METRIC_DIRECTIONS, said).card
    assert told is not None
    assert (told.metric.direction, told.metric.params) == ("minimize", {"predictions": "text"})
    # The owner's word goes before the board's, which is kept as what speaks against it.
    against = derive(
        make_evidence(text, board=BOARDS["down"], tables=make_tables(DATA["houses"])), METRIC_DIRECTIONS, said
    )
    assert against.card is not None
    assert against.findings["direction"].conflicts


def test_an_owner_cannot_turn_a_metric_round_or_name_one_that_is_not_there() -> None:
    evidence = make_evidence("Good luck!")
    turned = derive(evidence, METRIC_DIRECTIONS, CardOverrides(metric="mae", direction="maximize"))
    assert "mae is to minimize, but bot.toml says maximize" in turned.missing[0].why
    unknown = derive(evidence, METRIC_DIRECTIONS, CardOverrides(metric="mean absolut eror"))
    assert "is no metric that can be computed" in unknown.missing[0].why


def test_an_owner_settles_columns_one_by_one() -> None:
    shape = {"sample": ["image_id", "patient_id", "age"], "train": [], "test": []}
    evidence = make_evidence("Submissions are evaluated on MAE.", tables=make_tables(shape))
    open_ = derive(evidence, METRIC_DIRECTIONS)
    assert [(one.field, one.line) for one in open_.missing] == [
        ("id_column", 'id_column = "image_id"'),
        ("prediction_columns", 'prediction_columns = ["patient_id", "age"]'),
    ]
    half = derive(evidence, METRIC_DIRECTIONS, CardOverrides(id_column="image_id"))
    assert [one.field for one in half.missing] == ["prediction_columns"]
    whole = CardOverrides(id_column="image_id", prediction_columns=("age",))
    card = derive(evidence, METRIC_DIRECTIONS, whole).card
    assert card is not None
    assert (card.id_column, card.prediction_columns, card.sources["prediction_columns"]) == (
        "image_id",
        ("age",),
        OWNER,
    )


def test_what_tells_rows_apart_beside_an_id_that_repeats_is_proposed_to_the_owner() -> None:
    header, organs = ("id", "class", "predicted"), ("liver", "lung")
    rows = [(f"case{n}", organ, "") for n in range(20) for organ in organs]
    tables = Tables(Sample.of(header, rows), train=header, test=("id", "class"))
    evidence = make_evidence("Submissions are evaluated on MAE.", tables=tables)
    open_ = derive(evidence, METRIC_DIRECTIONS)
    assert [one.line for one in open_.missing] == [
        'id_column = "id"',
        'key_columns = ["class"]',
        'prediction_columns = ["predicted"]',
    ]
    written = tomllib.loads("\n".join(one.line for one in open_.missing))
    card = derive(evidence, METRIC_DIRECTIONS, CardOverrides.model_validate(written)).card
    assert card is not None
    assert (card.row_columns, card.prediction_columns) == (("id", "class"), ("predicted",))
    assert card.sources["key_columns"] == OWNER


def test_an_owners_column_that_the_sample_lacks_is_refused() -> None:
    own = CardOverrides(id_column="id", prediction_columns=("prize",))
    (missing,) = derive(make_evidence("Submissions are evaluated on MAE."), METRIC_DIRECTIONS, own).missing
    assert "'prize' is said twice, or is no column of the sample submission" in str(missing)


def test_several_files_that_may_be_the_sample_are_put_to_the_owner() -> None:
    evidence = make_evidence("Submissions are evaluated on MAE.", tables=Tables(candidates=("a_sub.csv", "b_sub.csv")))
    (missing,) = derive(evidence, METRIC_DIRECTIONS).missing
    assert (missing.field, missing.line) == ("sample_submission", 'sample_submission = "a_sub.csv"')
    assert missing.why == "any of a_sub.csv, b_sub.csv may be the sample submission"


def test_times_that_kaggle_does_not_say_are_asked_for() -> None:
    evidence = make_evidence("Submissions are evaluated on MAE.", deadline=None)
    (missing,) = derive(evidence, METRIC_DIRECTIONS).missing
    assert (missing.field, missing.line) == ("deadline", "deadline = 2027-01-31T23:59:00Z")
    own = CardOverrides(deadline=datetime(2027, 1, 1, tzinfo=UTC))
    card = derive(evidence, METRIC_DIRECTIONS, own).card
    assert card is not None
    assert card.deadline == datetime(2027, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("board", [("-3", "-2"), ("-0.1", "0.2")])
def test_a_board_with_scores_that_the_metric_cannot_have_leaves_it_open(board: tuple[str, ...]) -> None:
    evidence = make_evidence("Submissions are evaluated on MAE.", field="MAE", board=board)
    (missing,) = derive(evidence, METRIC_DIRECTIONS).missing
    assert "less than mae can have" in missing.why


def test_pages_that_are_absurdly_long_leave_the_metric_open() -> None:
    evidence = make_evidence("Submissions are evaluated on MAE. " * 3_000, field="MAE")
    assert "too long to be read" in derive(evidence, METRIC_DIRECTIONS).missing[0].why


def test_a_notebooks_competition_is_known_by_its_field() -> None:
    evidence = make_evidence("Submissions are evaluated on MAE.", is_kernels_submissions_only=True)
    card = derive(evidence, METRIC_DIRECTIONS).card
    assert card is not None
    assert card.kind == "code"


def test_without_data_only_the_columns_are_open() -> None:
    evidence = make_evidence("Submissions are evaluated on MAE.", field="MAE")
    without = type(evidence)(evidence.slug, evidence.fields, evidence.pages, None, evidence.board)
    assert {one.field for one in derive(without, METRIC_DIRECTIONS).missing} == {"id_column", "prediction_columns"}


def test_parameters_that_the_owner_names_are_taken() -> None:
    evidence = make_evidence("Submissions are evaluated on log loss.", tables=make_tables(DATA["houses"]))
    card = derive(evidence, METRIC_DIRECTIONS, CardOverrides(metric_params={"eps": 1e-7})).card
    assert card is not None
    assert card.metric.params == {"eps": 1e-7}
