"""Blends: what they gain, what they may not see, whom they leave out, and what changes nothing."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.evaluation.answers.blends import FittedBlend, Member
from bot.evaluation.blending.blend import blend, write_blend
from bot.evaluation.blending.ordinal import levels_of
from bot.evaluation.blending.regression import Surrogate, regression, surrogates
from bot.evaluation.blending.spaces import enter, leave
from bot.evaluation.blending.weights import simplified
from bot.evaluation.metrics.registry import METRICS
from bot.evaluation.scoring.bank import keep_array, read_predicted
from bot.evaluation.scoring.prediction_file import check_form
from bot.evaluation.view_names import INFO
from bot.evaluation.views.build import ViewInfo
from bot.evaluation.views.strata import SplitKind
from state.errors import InvalidSubmission, NoBlend
from tests.bot.evaluation.blending.parts import Values, lay_out, member, members, noisy, quantities, task

ROWS = 240
ABSOLUTE = """
import numpy as np
{more}

def grade(submission, answers):
    if list(submission["id"]) != list(answers["id"]):
        raise ValueError("each id in its place")
    return np.abs(submission["y0"] - answers["y0"]).mean()
"""


def blended(folder: Path, metric: str, truth: Values, predicted: list[Values], **more: object) -> FittedBlend:
    view = lay_out(folder, task(metric, truth.shape[1]), truth, **more)
    return blend(view, members(folder, predicted), folder / "bank", 0)


def test_it_is_better_than_its_best_member_and_its_score_is_that_of_rows_it_has_not_seen(tmp_path: Path) -> None:
    truth = quantities(ROWS)
    predicted = noisy(truth, [0.5, 0.5, 0.6, 2.0])
    final = list(range(ROWS - 80, ROWS))
    found = blended(tmp_path, "rmse", truth, predicted, final=final)
    alone = float(np.sqrt(((predicted[0] - truth)[:160] ** 2).mean()))
    assert found.score.value < 0.75 * alone
    assert found.score.final == pytest.approx(found.score.value, rel=0.2)
    assert found.score.gain is not None and found.score.gain.std_error is not None
    assert found.score.gain.value > 2 * found.score.gain.std_error
    assert sum(found.recipe.weights.values()) == pytest.approx(1)
    assert found.recipe.weights.get(4, 0) < 0.1, "it is far worse"
    kept = np.load(tmp_path / "bank" / found.score.predictions)
    assert float(np.sqrt(((kept - truth)[:160] ** 2).mean())) == pytest.approx(found.score.value)


@pytest.mark.integration
@pytest.mark.parametrize("groups", [0, 30])
def test_a_row_is_predicted_by_weights_that_have_seen_no_label_of_its_group(tmp_path: Path, groups: int) -> None:
    truth = quantities(ROWS)
    predicted = noisy(truth, [0.5, 0.5, 0.6])
    changed = truth.copy()
    changed[7] += 3
    folders = {tmp_path / "before": truth, tmp_path / "after": changed}
    found = [blended(folder, "pearson", labels, predicted, groups=groups) for folder, labels in folders.items()]
    before, after = (
        np.load(folder / "bank" / one.score.predictions) for folder, one in zip(folders, found, strict=True)
    )
    of_group = slice(7, None, groups or ROWS)
    assert (after[of_group] == before[of_group]).all()
    assert (after != before).any(), "the other folds have seen it"


def test_too_few_groups_give_no_blend(tmp_path: Path) -> None:
    truth = quantities(ROWS)
    with pytest.raises(NoBlend, match="The 3 groups of hold-out rows are too few"):
        blended(tmp_path, "rmse", truth, noisy(truth, [0.5, 0.5, 0.6]), groups=3)


def test_labels_of_the_rows_that_are_scored_apart_change_nothing_else(tmp_path: Path) -> None:
    truth = quantities(ROWS)
    predicted, changed = noisy(truth, [0.5, 0.5, 0.6]), truth.copy()
    changed[200:] += 5
    one, other = (
        blended(tmp_path / name, "mae", labels, predicted, final=list(range(200, ROWS)))
        for name, labels in (("one", truth), ("other", changed))
    )
    assert (one.recipe, replace(one.score, final=None)) == (other.recipe, replace(other.score, final=None))
    assert one.score.final != other.score.final


@pytest.mark.integration
@settings(max_examples=6)
@given(order=st.permutations(range(5)), copied=st.integers(0, 4), metric=st.sampled_from(["rmse", "mae", "spearman"]))
def test_the_order_of_nodes_and_copies_of_them_change_nothing(order: list[int], copied: int, metric: str) -> None:
    truth = quantities(100)
    predicted = noisy(truth, [0.5, 0.6, 0.5, 0.8, 0.7])
    with TemporaryDirectory() as place:
        folder = Path(place)
        view, kept = lay_out(folder, task(metric), truth), members(folder, predicted)
        copy = Member(9, kept[copied].predictions, kept[copied].submission, seconds=50.0)
        found = blend(view, kept, folder / "bank", 0)
        again = blend(view, [copy, *(kept[at] for at in order)], folder / "bank", 0)
        assert again.rejected.pop(9) == f"Its predictions are (nearly) identical to those of node {copied + 1}."
        # Standard errors come from as many draws as there is time for.
        one, other = (replace(blended.score, std_error=None, gain=None) for blended in (again, found))
        assert (again.recipe, one) == (found.recipe, other)


@pytest.mark.integration
@settings(max_examples=8)
@given(seed=st.integers(0, 1000))
def test_turning_the_metric_round_turns_nothing_else(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = (rng.random((150, 1)) < 0.4).astype(float)
    predicted = [np.round(truth + rng.normal(0, 1, truth.shape), 3) for _ in range(4)]
    with TemporaryDirectory() as place:
        found = []
        for name, sign, direction in (("most", 1, "maximize"), ("least", -1, "minimize")):
            folder, made = Path(place) / name, task("roc_auc")
            of = made.model_copy(update={"metric": made.metric.model_copy(update={"direction": direction})})
            view = lay_out(folder, of, truth)
            try:
                one = blend(view, members(folder, [sign * values for values in predicted]), folder / "bank", 0)
                found.append((one.recipe, round(one.score.value if sign > 0 else 1 - one.score.value, 9)))
            except NoBlend as error:
                found.append(str(error))
        assert found[0] == found[1]


@pytest.mark.parametrize("metric", ["rmse", "rmsle", "log_loss", "roc_auc", "spearman", "accuracy", "map_at_k"])
def test_one_perfect_node_gets_all_the_weight(tmp_path: Path, metric: str) -> None:
    truth, predicted = made_for(metric, 150)
    with pytest.raises(NoBlend, match="Node 3 alone is as good as any blend of 6 scripts"):
        blended(tmp_path, metric, truth, [*predicted[:2], perfect(metric, truth), *predicted[2:5]])


def perfect(metric: str, truth: Values) -> Values:
    return truth.astype(object) if METRICS[metric].input_kind != "number" else truth


def test_what_cannot_be_blended_is_left_out_by_its_name(tmp_path: Path) -> None:
    truth = quantities(ROWS)
    good = noisy(truth, [0.5, 0.5, 0.6])
    holes, cut = good[2].copy(), np.full((ROWS - 1, 1), 0.5)
    holes[[3, 5]] = np.nan
    view = lay_out(tmp_path, task("rmse"), truth)
    (tmp_path / "torn.npy").write_bytes(b"no array")
    wrong = [
        member(tmp_path, 3, holes),
        member(tmp_path, 4, np.ones((ROWS, 1))),
        member(tmp_path, 5, cut),
        member(tmp_path, 6, good[2], np.full((ROWS, 1), np.inf)),
        Member(7, tmp_path / "torn.npy", tmp_path / "torn.npy", 1.0),
        member(tmp_path, 8, good[0] + 1e-4),
        member(tmp_path, 9, np.full((ROWS, 1), "a")),
        member(tmp_path, 10, good[0], seconds=9.0),
    ]
    found = blend(view, [*members(tmp_path, good[:2]), *wrong], tmp_path / "bank", 0)
    assert found.recipe.weights.keys() <= {1, 2, 8}
    near = found.rejected.pop(8, None) or found.rejected.pop(1)
    assert "those of node" in near and "those of node" in found.rejected.pop(10)
    assert found.rejected.pop(7).startswith("The stored predictions torn.npy cannot be read")
    assert found.rejected == {
        3: "It predicts NaN or infinity for 2 of the validation rows.",
        4: "It predicts the same value for all validation rows.",
        5: f"Its predictions for the validation rows have the shape {(ROWS - 1, 1)}; expected: {(ROWS, 1)}.",
        6: f"It predicts NaN or infinity for {ROWS} of the test rows.",
        9: "Its predictions for the validation rows are not numbers.",
    }
    with pytest.raises(NoBlend, match="Fewer than two scripts"):
        blend(view, [members(tmp_path, good)[0], *wrong[:3]], tmp_path / "bank", 0)


def made_for(metric: str, rows: int) -> tuple[Values, list[Values]]:
    """Return a truth, and what six scripts predict that err by themselves."""
    rng, facts = np.random.default_rng(4), METRICS[metric]
    if facts.input_kind != "number":
        masks = metric in ("dice", "global_dice", "mask_map_iou")
        right, wrong = ("1 9", ["3 9", "1 4", "40 2"]) if masks else ("a b c", ["b", "d e", "c d"])
        if facts.input_kind == "label":
            right, wrong = "1", ["0", "2"]
        if metric == "kendall_tau":
            wrong = ["b a c", "c a b", "a c b"]
        texts = [right, wrong[0]]
        truth = np.array([texts[n % 2] for n in range(rows)], dtype=object).reshape(-1, 1)
        return truth, [
            np.where(rng.random((rows, 1)) < 0.35, rng.choice(wrong, (rows, 1)), truth).astype(object) for _ in range(6)
        ]
    columns = {"laplace_log_likelihood": 2, "mean_angular_error": 2, "lwlrap": 4, "kl_divergence": 3}.get(metric, 1)
    if metric == "laplace_log_likelihood":
        truth = np.column_stack([rng.normal(2500, 300, rows), np.zeros(rows)])
        return truth, [
            np.column_stack([truth[:, 0] + rng.normal(0, 200, rows), np.full(rows, 250.0)]) for _ in range(6)
        ]
    if facts.of_classes or metric == "kl_divergence":
        logits = rng.normal(0, 1.5, (rows, columns))
        chance = 1 / (1 + np.exp(-logits))
        truth = (rng.random((rows, columns)) < chance).astype(float)
        truth = chance / chance.sum(axis=1, keepdims=True) if metric == "kl_divergence" else truth
        return truth, [1 / (1 + np.exp(-(logits + rng.normal(0, 2, (rows, columns))))) for _ in range(6)]
    truth = np.exp(rng.normal(1, 0.5, (rows, columns)))
    return truth, [truth * np.exp(rng.normal(0, 0.3, (rows, columns))) for _ in range(6)]


@pytest.mark.integration
@pytest.mark.parametrize("metric", METRICS)
def test_each_metric_is_blended_or_has_a_reason(tmp_path: Path, metric: str) -> None:
    truth, predicted = made_for(metric, 200)
    if METRICS[metric].unblended:
        with pytest.raises(NoBlend, match=METRICS[metric].unblended):
            blended(tmp_path, metric, truth, predicted)
        return
    found, of = blended(tmp_path, metric, truth, predicted), task(metric, truth.shape[1])
    oriented = [of.oriented(METRICS[metric].score(truth, one, {})) for one in predicted]
    assert of.oriented(found.score.value) > max(oriented), "six that err by themselves are better together"
    assert found.recipe.space in METRICS[metric].spaces
    chosen = members(tmp_path, predicted)
    out = tmp_path / "submission.csv"
    write_blend(found.recipe, {one.node: one.submission for one in chosen}, tmp_path / "view", of, out)
    check_form(out, tmp_path / "view", of)
    sample = tmp_path / "view" / "sample_submission.csv"
    written, kept = (read_predicted(path, sample, of) for path in (out, tmp_path / "bank" / found.score.submission))
    assert (written == kept).all()
    assert of.oriented(METRICS[metric].score(truth, written, {})) > max(oriented), (
        "the test rows are the withheld ones here"
    )


@pytest.mark.parametrize(
    "metric", ["spearman", "rmse", "rmsle", "mean_columnwise_rmsle", "log_loss", "mean_columnwise_log_loss", "mae"]
)
def test_the_fast_way_to_score_many_means_gives_what_the_metric_gives(metric: str) -> None:
    truth, predicted = made_for(metric, 60)
    of, rows = task(metric, truth.shape[1]), np.arange(0, 60, 2)
    if metric == "spearman":
        truth, predicted = np.round(truth), [np.round(one) for one in predicted]  # ties
    space = METRICS[metric].spaces[0]
    entered = np.stack([enter(space, one, of) for one in predicted])
    each, parts = simplified(of, truth, entered)
    # The mean of two members, and one member.
    found, means = (np.stack([(some[0] + some[1]) / 2, some[2]])[:, rows] for some in (parts, entered))
    wanted = [of.oriented(METRICS[metric].score(truth[rows], leave(space, one, of), {})) for one in means]
    assert each(rows, found) == pytest.approx(wanted)


@pytest.mark.integration
@pytest.mark.parametrize("metric", ["rmse", "log_loss", "roc_auc"])
def test_two_members_and_few_rows_are_not_worse_than_the_best_beyond_chance(tmp_path: Path, metric: str) -> None:
    gains = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        logits = rng.normal(0, 1.5, (2000, 1))
        chance = 1 / (1 + np.exp(-logits))
        truth = logits if metric == "rmse" else (rng.random(chance.shape) < chance).astype(float)
        predicted = [logits + rng.normal(0, spread, logits.shape) for spread in rng.uniform(0.5, 1.5, 2)]
        predicted = predicted if metric == "rmse" else [1 / (1 + np.exp(-one)) for one in predicted]
        folder, of = tmp_path / str(seed), task(metric)
        view = lay_out(folder, of, truth[:200])
        kept = [member(folder, node, one[:200], one[-200:]) for node, one in enumerate(predicted, 1)]
        score = [of.oriented(METRICS[metric].score(truth[:200], one[:200], {})) for one in predicted]
        best = of.oriented(METRICS[metric].score(truth[200:], predicted[int(np.argmax(score))][200:], {}))
        try:
            recipe = blend(view, kept, folder / "bank", seed).recipe
        except NoBlend:
            gains.append(0.0)
            continue
        unseen = {node: folder / f"unseen-{node}.npy" for node in (1, 2)}
        for node, one in enumerate(predicted, 1):
            np.save(unseen[node], one[200:])
        lay_out(folder / "unseen", of, truth[200:])
        out = folder / "unseen.csv"
        write_blend(recipe, unseen, folder / "unseen" / "view", of, out)
        values = read_predicted(out, folder / "unseen" / "view" / "sample_submission.csv", of)
        gains.append(of.oriented(METRICS[metric].score(truth[200:], values, {})) - best)
    assert np.mean(gains) > 0
    assert np.mean(gains) > -2 * np.std(gains) / np.sqrt(len(gains))


@pytest.mark.integration
def test_scripts_that_are_too_sure_are_made_less_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 1, (600, 3))
    truth = np.eye(3)[(logits + rng.gumbel(size=logits.shape)).argmax(axis=1)]
    sure = [np.exp(3 * (logits + rng.normal(0, 0.3, logits.shape))) for _ in range(3)]
    found = blended(tmp_path, "log_loss", truth, [one / one.sum(axis=1, keepdims=True) for one in sure])
    (scale,) = set(found.recipe.calibration["scale"])
    assert 0.2 < scale < 0.7
    kept = np.load(tmp_path / "bank" / found.score.submission)
    assert np.allclose(kept.sum(axis=1), 1)


@pytest.mark.parametrize("kind", ["random", "time"])
def test_a_level_is_corrected_unless_the_rows_are_a_stretch_of_time(tmp_path: Path, kind: SplitKind) -> None:
    truth = 10 + quantities(ROWS)
    low = [0.8 * predicted for predicted in noisy(truth, [0.5, 0.5, 0.6])]
    facts = {"name": "holdout", "seed": 0, "version": 1, "description": "", "split_kind": kind}
    facts |= dict.fromkeys(("train_rows", "of_rows", "validation_rows", "final_rows"), ROWS)
    info = ViewInfo(**facts, withheld_columns=(), label_columns=(), notes=(), unlike=())
    (tmp_path / "labels").mkdir()
    (tmp_path / "labels" / INFO).write_text(info.model_dump_json())
    found = blended(tmp_path, "rmse", truth, low)
    assert ("scale" in found.recipe.calibration) is (kind == "random")


def knowing_parts(rows: int = 1200, views: int = 8) -> tuple[Values, list[Values]]:
    """Return classes, and members that each see one of several independent reasons for them, as naive Bayes would."""
    rng = np.random.default_rng(5)
    truth = np.eye(3)[rng.integers(0, 3, rows)]
    reasons = [truth + rng.normal(0, 1, truth.shape) for _ in range(views)]
    return truth, [np.exp(one) / np.exp(one).sum(axis=1, keepdims=True) for one in reasons]


@pytest.mark.integration
def test_experiments_that_each_know_a_part_add_up_as_all_of_them_may_be_members(tmp_path: Path) -> None:
    """A mean of eight, made less sure or more, was .04 worse on a real text task than their sum."""
    truth, predicted = knowing_parts()
    view = lay_out(tmp_path, task("log_loss", 3), truth)
    scripts = members(tmp_path, predicted)
    few = blend(view, scripts, tmp_path / "bank", 0)
    found = blend(view, [replace(one, validation=one.predictions) for one in scripts], tmp_path / "bank", 0)
    assert few.score.value - found.score.value > 0.005
    assert (set(found.recipe.weights), found.recipe.space) == (set(range(1, 9)), "logit")
    # Each reason is normal with a standard deviation of 1, so that logits add up as they are.
    assert sum(found.recipe.weights.values()) == pytest.approx(8, rel=0.2)
    best = np.exp(sum(np.log(one) for one in predicted))
    assert found.score.value == pytest.approx(
        METRICS["log_loss"].score(truth, best / best.sum(axis=1, keepdims=True), {}), abs=0.01
    )


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize(
    ("metric", "columns", "kind"),
    [
        ("log_loss", 1, "logit"),
        ("mean_columnwise_log_loss", 2, "logit"),
        ("rmse", 1, "mean"),
        ("rmsle", 1, "log"),
        ("mae", 2, "mean"),
    ],
)
def test_weights_of_a_regression_are_those_that_made_the_labels(
    metric: str, columns: int, kind: str, signed: bool
) -> None:
    rng, of = np.random.default_rng(2), task(metric, columns)
    (by,) = surrogates(of)
    assert by.space == kind
    parts = rng.normal(1, 1, (4, 6000, columns))
    weights, offset = ([0.5, 1.5, 0.0, -0.4], 0.7) if signed else ([0.5, 1.5, 0.0, 0.2], 0.0)
    made = np.tensordot(weights, parts, 1) + offset
    if kind == "logit":
        truth = (rng.random(made.shape) < 1 / (1 + np.exp(-made))).astype(float)
    else:
        truth = made if kind == "mean" else np.expm1(made)
    found = regression(parts, truth, by, signed=signed, by_column=columns > 1)
    assert found.weights == pytest.approx(np.tile(np.array(weights)[:, None], columns), abs=0.15)
    assert found.offsets == pytest.approx(np.full(columns, offset), abs=0.15)


def test_a_regression_takes_log_losses_of_chances_that_sum_to_one_as_most_sites_do() -> None:
    assert surrogates(task("log_loss", 3, eps=1e-15, normalize=True)) == [Surrogate("logit", "classes")]
    assert surrogates(task("kl_divergence", 3)) == [Surrogate("logit", "classes")], "labels may be shares"
    assert surrogates(task("log_loss", 3, normalize=False)) == surrogates(task("macro_f1")) == []


@pytest.mark.integration
@pytest.mark.parametrize(
    ("metric", "least"), [("rmse", -0.12), ("mae", -0.1), ("pearson", 0.99), ("spearman", 0.96), ("roc_auc", 0.97)]
)
def test_a_member_that_shows_what_another_gets_wrong_is_taken_off(tmp_path: Path, metric: str, least: float) -> None:
    rng = np.random.default_rng(3)
    truth, error = quantities(1500), rng.normal(0, 1, (1500, 1))
    one, other = truth + error, error + rng.normal(0, 0.1, (1500, 1))
    if metric == "roc_auc":
        truth = (truth > 5).astype(float)
    scripts = [replace(each, validation=each.predictions) for each in members(tmp_path, [one, other])]
    of = task(metric)
    found = blend(lay_out(tmp_path, of, truth), scripts, tmp_path / "bank", 0)
    assert found.recipe.weights[2] < 0 < found.recipe.weights[1]
    assert of.oriented(found.score.value) > least
    alone = METRICS[metric].score(truth, one, {})
    assert of.oriented(found.score.value) - of.oriented(alone) > 0.1


@pytest.mark.integration
def test_classes_that_are_expected_too_often_are_expected_less(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    logits = rng.normal(0, 1, (900, 3))
    truth = np.eye(3)[(logits + rng.gumbel(size=logits.shape)).argmax(axis=1)]
    often = [np.exp(logits + rng.normal(0, 0.3, logits.shape) + [1.0, 0.0, 0.0]) for _ in range(3)]
    found = blended(tmp_path, "log_loss", truth, [one / one.sum(axis=1, keepdims=True) for one in often])
    first, *others = found.recipe.calibration["offset"]
    assert first - max(others) > -1.6 and first - min(others) < -0.4


@pytest.mark.integration
def test_each_column_has_the_script_that_is_good_at_it(tmp_path: Path) -> None:
    truth = np.random.default_rng(0).normal(0, 1, (400, 2))
    rng = np.random.default_rng(1)
    predicted = [truth + rng.normal(0, 1, truth.shape) * spread for spread in ([0.3, 1.5], [1.5, 0.3], [1.5, 1.5])]
    found = blended(tmp_path, "mean_columnwise_rmse", truth, predicted)
    (first, second), (third, fourth) = (found.recipe.columns[node] for node in (1, 2))
    assert first > 0.85 > 0.15 > second and fourth > 0.85 > 0.15 > third
    assert found.recipe.weights[1] == pytest.approx((first + second) / 2)
    assert found.score.value < 0.35
    alike = blended(tmp_path / "alike", "mean_columnwise_rmse", truth, noisy(truth, [0.5, 0.5]))
    assert not alike.recipe.columns, "what is no better by column has one weight for all"


def test_labels_in_an_order_are_cut_from_their_mean_where_the_metric_is_best(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 5, (500, 1))
    # All of them name labels that are too low.
    guesses = [np.clip(np.round(truth + rng.normal(-0.6, 0.9, truth.shape)), 0, 4).astype(int) for _ in range(4)]
    texts = [one.astype(str).astype(object) for one in guesses]
    found = blended(tmp_path, "quadratic_weighted_kappa", truth.astype(str).astype(object), texts)
    assert found.recipe.space == "ordinal" and found.recipe.calibration["levels"] == [0, 1, 2, 3, 4]
    assert sum(found.recipe.calibration["thresholds"]) < sum((0.5, 1.5, 2.5, 3.5)) - 0.5
    kappa = METRICS["quadratic_weighted_kappa"].score
    assert found.score.value > 0.03 + max(kappa(truth, one, {}) for one in guesses)
    assert levels_of(np.array([["0"], ["none"]], dtype=object)) is None, "words have no mean"


@pytest.mark.integration
def test_predictions_are_tied_as_often_as_labels_where_a_rank_correlation_gains_by_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    hidden = rng.normal(0, 1, (1000, 2))
    rating = np.digitize(hidden[:, 0], [0.8, 1.2, 1.6]).astype(float)
    truth = np.stack([rating, hidden[:, 1]], axis=1)
    scripts = members(tmp_path, [hidden + rng.normal(0, 0.4, hidden.shape) for _ in range(4)])
    scripts = [replace(each, validation=each.predictions) for each in scripts]
    of = task("spearman", 2)
    view = lay_out(tmp_path, of, truth)
    found = blend(view, scripts, tmp_path / "bank", 0)
    assert list(found.recipe.ties) == [0] and len(found.recipe.ties[0]) == 3
    untied = np.mean([np.load(one.predictions) for one in scripts], axis=0)
    assert found.score.value > METRICS["spearman"].score(truth, untied, {}) + 0.04
    kept = read_predicted(tmp_path / "bank" / found.score.submission, view.data / "sample_submission.csv", of)
    levels, counts = np.unique(kept[:, 0], return_counts=True)
    assert levels.tolist() == [0, 1 / 3, 2 / 3, 1] and counts[0] == (rating == 0).sum()
    assert len(np.unique(kept[:, 1])) > 900


@pytest.mark.integration
@pytest.mark.parametrize("metric", ["accuracy", "macro_f1", "quadratic_weighted_kappa"])
def test_labels_are_combined_by_the_numbers_that_they_were_made_of(tmp_path: Path, metric: str) -> None:
    rng, of = np.random.default_rng(4), task(metric)
    labels = rng.choice(4, 1200, p=[0.1, 0.2, 0.3, 0.4])
    truth = labels[:, None].astype(str).astype(object)
    ordered = metric == "quadratic_weighted_kappa"
    reasons = [np.eye(4)[labels] + rng.normal(0, 0.8, (1200, 4)) for _ in range(6)]
    numbers = [np.exp(one) / np.exp(one).sum(axis=1, keepdims=True) for one in reasons]
    if ordered:
        numbers = [labels[:, None] + rng.normal(0, 1.5, (1200, 1)) for _ in range(6)]
    texts = [(np.clip(np.round(one), 0, 3) if ordered else one.argmax(axis=1)[:, None]).astype(int) for one in numbers]
    view, bank = lay_out(tmp_path, of, truth), tmp_path / "bank"
    (view.data / "classes.json").write_text('["0", "1", "2", "3"]')
    known, unknown = (
        [
            Member(node, file := bank / keep_array(text.astype(str).astype(object), bank, own), file, 1.0, file)
            for node, (text, own) in enumerate(zip(texts, kept, strict=True), 1)
        ]
        for kept in (numbers, [None] * 6)
    )
    found, votes = (blend(view, one, bank, 0) for one in (known, unknown))
    assert found.recipe.space == ("numbers" if ordered else "classes") and len(found.recipe.weights) == 6
    assert of.oriented(found.score.value) - of.oriented(votes.score.value) > 0.05
    kept = read_predicted(bank / found.score.submission, view.data / "sample_submission.csv", of)
    assert METRICS[metric].score(truth, kept, {}) == pytest.approx(found.score.value, abs=0.03)
    out = tmp_path / "submission.csv"
    write_blend(found.recipe, {one.node: one.submission for one in known}, view.data, of, out)
    assert (read_predicted(out, view.data / "sample_submission.csv", of) == kept).all()
    with pytest.raises(InvalidSubmission, match="does not contain the numbers from which its labels were derived"):
        write_blend(found.recipe, {one.node: one.submission for one in unknown}, view.data, of, out)


@pytest.mark.integration
def test_a_competitions_own_grader_scores_the_mean_of_the_leading_few(tmp_path: Path) -> None:
    truth = quantities(120)
    of = task("grade.py")
    view = lay_out(tmp_path, of, truth, grader=ABSOLUTE.format(more=""), final=list(range(100, 120)))
    predicted = noisy(truth, [0.5, 0.6, 0.5])
    found = blend(view, members(tmp_path, predicted), tmp_path / "bank", 0)
    assert found.score.value < min(float(np.abs((one - truth)[:100]).mean()) for one in predicted)
    assert found.recipe.space == "mean" and found.score.predictions.endswith(".csv")
    texts = of.model_copy(update={"metric": of.metric.model_copy(update={"params": {"predictions": "text"}})})
    with pytest.raises(NoBlend, match="cannot be combined"):
        blend(lay_out(tmp_path, texts, truth, grader=ABSOLUTE), members(tmp_path, predicted), tmp_path / "bank", 0)


@pytest.mark.integration
def test_a_grader_that_takes_long_scores_no_blend(tmp_path: Path) -> None:
    slow = ABSOLUTE.replace(
        "    if list", "    end = time.monotonic() + 0.4\n    while time.monotonic() < end: pass\n    if list"
    )
    view = lay_out(tmp_path, task("grade.py"), truth := quantities(60), grader=slow.format(more="import time"))
    with pytest.raises(NoBlend, match="The competition's grader would take"):
        blend(view, members(tmp_path, noisy(truth, [0.5, 0.6, 0.5])), tmp_path / "bank", 0)


def test_one_script_is_no_blend(tmp_path: Path) -> None:
    with pytest.raises(NoBlend, match="Fewer than two scripts have a score"):
        blended(tmp_path, "rmse", quantities(60), noisy(quantities(60), [0.5]))


@pytest.mark.integration
def test_a_sample_of_many_rows_has_rows_of_each_fold(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = rng.normal(0, 1, (5_200, 8))
    found = blended(tmp_path, "median_absolute_error", truth, noisy(truth, [0.5, 0.5, 0.5]))
    assert len(found.recipe.weights) == 3, "each as good as the others, by 1,000 rows"


@pytest.mark.integration
def test_a_sample_of_many_rows_has_rows_of_rare_classes(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random((8_000, 8)) < 0.3).astype(float)
    truth[:, :5] = np.arange(8_000)[:, None] < 3
    found = blended(tmp_path, "roc_auc", truth, [truth + rng.normal(0, 2, truth.shape) for _ in range(3)])
    assert len(found.recipe.weights) == 3, "each as good as the others, and not without a score by 1,000 rows"
