"""folds.csv: the hold-out view's training rows, each in one fold, and the labels that out-of-fold predictions are scored by."""

import random
from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.evaluation.answers import LabelledView
from bot.evaluation.layouts.reader import read_layout
from bot.evaluation.scoring import labels_of, open_scorer
from bot.evaluation.views.build import VERSION, build_folds
from bot.evaluation.views.folds import fold_numbers
from bot.evaluation.views.split import split_rows
from scrapers.snapshots.card import TaskCard
from state.errors import UnsupportedLayout
from tests.bot.evaluation.parts import SLUGS, card, column, competition, read, real, write
from tests.bot.evaluation.written_layouts import LAYOUTS, records, view_of, write_layout

FOLDS = 5


def folds_of(data: Path, task: TaskCard, folds: int = FOLDS, seed: int = 0) -> LabelledView:
    place = data.parent / f"folds-{folds}-{seed}"
    build_folds(data, task, seed, folds, place / "data", place / "labels")
    return LabelledView(place / "data", place / "labels", scored_by_registry(task))


def scored_by_registry(task: TaskCard) -> TaskCard:
    """Give a task of texts, whose grader is its own, a metric of texts."""
    own = task.metric.name == "grade.py"
    return task.model_copy(update={"metric": card("levenshtein").metric}) if own else task


def table_of(view: LabelledView) -> tuple[list[str], list[list[str]]]:
    header, *rows = read(view.data / "folds.csv")
    return header, rows


def training_rows(out: Path, data: Path, task: TaskCard, names: list[str]) -> list[list[str]]:
    """The id and key cells of a view's training rows, as a script reads them."""
    path = out / read_layout(data, task).train.path.relative_to(data)
    if path.suffix == ".json":
        return [[str(row[name]) for name in names] for row in records(path)]
    header, *rows = read(path)
    return [[row[header.index(name)] for name in names] for row in rows]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_training_row_of_the_holdout_view_has_a_fold_in_every_layout(layout, tmp_path):
    data, task = write_layout(layout, tmp_path)
    info, out, _ = view_of(data, task)
    view = folds_of(data, task)
    header, rows = table_of(view)
    assert (header[0], header[-1]) == ("row", "fold")
    assert [row[0] for row in rows] == [str(number) for number in range(info.train_rows)]
    assert [row[1:-1] for row in rows] == training_rows(out, data, task, header[1:-1])
    assert len({row[-1] for row in rows} - {"-1"}) >= FOLDS
    # What is validated is scored by its labels, and right predictions of it can be told from the form alone.
    asked, truth = read(view.data / "sample_validation.csv"), read(view.truth)
    ids = [asked[0].index(name) for name in task.row_columns]
    assert [[row[at] for at in ids] for row in asked[1:]] == [row[: len(ids)] for row in truth[1:]]
    assert score_of(view, truth[1:], tmp_path) == score_of(view, truth[:0:-1], tmp_path)


def score_of(view: LabelledView, rows: list[list[str]], place: Path) -> float | None:
    with closing(open_scorer(view.card, None)) as scorer:
        truth = labels_of(view, scorer)
        return truth.score(truth.read(write(place / "oof.csv", read(view.truth)[0], rows)))


@pytest.mark.parametrize(
    ("layout", "named"),
    [
        ("tract_segmentation", ["id", "class"]),
        ("text_normalization", ["sentence_id", "token_id"]),
        ("cervical_fractures", ["StudyInstanceUID"]),
        ("dog_breeds", ["image_id"]),
        ("insults", ["Comment"]),
        ("plant_seedlings", ["file"]),
    ],
)
def test_ids_and_key_columns_are_named_as_the_training_rows_name_them(layout, named, tmp_path):
    assert table_of(folds_of(*write_layout(layout, tmp_path)))[0] == ["row", *named, "fold"]


@pytest.mark.parametrize(
    ("layout", "kind", "key"),
    [
        ("scalar_coupling", "grouped", "molecule_name"),
        ("hemorrhage_kinds", "stratified", None),
        ("insults", "stratified", None),
        ("text_normalization", "stratified", "sentence_id"),
    ],
)
def test_what_belongs_together_is_in_one_fold(layout, kind, key, tmp_path):
    data, task = write_layout(layout, tmp_path)
    info, out, _ = view_of(data, task)
    _, rows = table_of(folds_of(data, task))
    names = [row[0] for row in training_rows(out, data, task, [key])] if key else [row[1] for row in rows]
    units = [name.rpartition("_")[0] if layout == "hemorrhage_kinds" else name for name in names]
    folds = defaultdict(set)
    for unit, row in zip(units, rows, strict=True):
        folds[unit].add(row[-1])
    assert info.split_kind == kind or key == "sentence_id"
    assert len(folds) < len(rows) and all(len(found) == 1 for found in folds.values())


def test_classes_are_dealt_to_all_folds_alike(tmp_path):
    train = [[f"r{n}", n, "abbc"[n % 4]] for n in range(400)]
    data = competition(tmp_path / "data", train, [["t", 0]], header=("id", "x", "y"), default=("a",))
    _, rows = table_of(folds_of(data, card("accuracy")))
    label = {row[0]: row[2] for row in train}
    counts = Counter((row[-1], label[row[1]]) for row in rows)
    # Folds are dealt before the hold-out is left out of them, which takes what it will of each.
    assert {fold for fold, _ in counts} == set("01234")
    assert all(counts[fold, "b"] > counts[fold, "a"] > 5 for fold in "01234")


def test_where_the_test_comes_last_the_earliest_rows_are_never_validated(tmp_path):
    data, task = write_layout("store_sales", tmp_path)
    _, out, _ = view_of(data, task)
    _, rows = table_of(folds_of(data, task))
    days = column(out / "train.csv", "date")
    by_fold = defaultdict(list)
    for day, row in zip(days, rows, strict=True):
        by_fold[int(row[-1])].append(day)
    assert min(by_fold) == -1 and sorted(by_fold) == list(range(-1, len(by_fold) - 1))
    assert all(max(by_fold[n]) < min(by_fold[n + 1]) for n in range(-1, len(by_fold) - 2))


def test_rows_without_a_label_are_listed_and_never_validated(tmp_path):
    data = competition(tmp_path / "data", [[f"r{n}", n, "" if n % 4 == 0 else n] for n in range(200)], [["t", 0]])
    view = folds_of(data, card())
    _, rows = table_of(view)
    assert {row[1] for row in rows if row[-1] == "-1"} == {f"r{n}" for n in range(0, 200, 4)}
    assert set(column(view.truth, "id")) == {row[1] for row in rows if row[-1] != "-1"}


def test_training_rows_of_one_fold_alone_are_refused(tmp_path):
    # Seventy rows of the first day, which are never validated, and thirty later ones, which are withheld.
    train = [[f"r{n}", f"2020-01-{max(1, n - 68):02d}", n] for n in range(100)]
    data = competition(tmp_path / "data", train, [[f"t{n}", f"2020-03-{n:02d}"] for n in range(1, 11)])
    with pytest.raises(UnsupportedLayout, match="too few training rows for 2 folds"):
        folds_of(data, card(), folds=2)


@pytest.mark.integration
@settings(max_examples=25)
@given(
    kind=st.sampled_from(["classes", "quantity", "groups", "days", "between", "repeated", "unlabelled"]),
    rows=st.integers(150, 400),
    folds=st.integers(2, 6),
    seed=st.integers(0, 5),
)
def test_folds_part_the_training_rows_and_are_cut_from_all_labelled_rows_where_time_does_not_cut_them(
    tmp_path_factory, kind, rows, folds, seed
):
    place = tmp_path_factory.mktemp("folds")
    data, task = _competition(kind, rows, place)
    layout = read_layout(data, task)
    split = split_rows(layout, seed, VERSION)
    header, listed = table_of(folds_of(data, task, folds, seed))
    assert [row[0] for row in listed] == [str(number) for number in range(len(split.rows("train")))]
    assert [row[header.index("id")] for row in listed] == [layout.ids[row] for row in split.rows("train")]
    fold_of = dict(zip(split.rows("train"), (int(row[-1]) for row in listed), strict=True))
    if split.kind == "time":
        sizes = Counter(fold for fold in fold_of.values() if fold >= 0)
        assert sorted(sizes) == list(range(folds)), "none is lost with the latest rows, which are withheld"
        assert max(sizes.values()) <= 1.5 * min(sizes.values())
        return
    labelled = [row for row in range(len(layout.ids)) if layout.has_label(row)]
    dealt, forward, _ = fold_numbers(layout, split, labelled, folds, seed, VERSION)
    assert not forward and set(dealt) == set(labelled)
    assert fold_of == {row: dealt.get(row, -1) for row in fold_of}


def _competition(kind: str, rows: int, place: Path) -> tuple[Path, TaskCard]:
    header, rng = ("id", "x", "y"), random.Random(rows)
    task = card("accuracy") if kind == "classes" else card()
    test: list[list[object]] = [[f"t{n}", "new"] for n in range(60)]
    days = [f"{2001 + n // 336}-{n // 28 % 12 + 1:02d}-{n % 28 + 1:02d}" for n in range(2 * rows)]
    train: list[list[object]] = [[f"r{n}", n % 7, rng.randrange(4)] for n in range(rows)]
    if kind == "groups":
        train = [[f"r{n}", f"g{n % 40}", n % 3] for n in range(rows)]
        test = [[f"t{n}", f"g{40 + n % 20}"] for n in range(200)]
    elif kind == "days":
        train = [[f"r{n}", days[n], n] for n in range(rows)]
        test = [[f"t{n}", days[rows + n]] for n in range(60)]
    elif kind == "between":
        train = [[f"r{n}", day, n] for n, day in enumerate(days) if n % 60 < 40]
        test = [[f"t{n}", day] for n, day in enumerate(days) if n % 60 >= 40]
    elif kind == "repeated":
        train = [[f"r{n // 2}", "", n // 2 % 5] for n in range(rows)]
    elif kind == "unlabelled":
        train = [[f"r{n}", n % 7, "" if n % 3 else n] for n in range(rows)]
    return competition(place / "data", train, test, header=header), task


@pytest.mark.integration
@pytest.mark.parametrize("slug", SLUGS)
def test_real_competitions_have_folds(slug, tmp_path):
    folder, task = real(slug)
    labels = tmp_path / "labels"
    build_folds(folder / "data", task, 1, FOLDS, tmp_path / "data", labels)
    view = LabelledView(tmp_path / "data", labels, task)
    layout = read_layout(folder / "data", task)
    _, rows = table_of(view)
    assert [row[1] for row in rows] == [layout.ids[row] for row in split_rows(layout, 1, VERSION).rows("train")]
    assert score_of(view, read(view.truth)[1:], tmp_path) == pytest.approx(1.0 if task.metric.name == "roc_auc" else 0)
