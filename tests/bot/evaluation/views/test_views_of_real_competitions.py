import csv
import io
import zipfile

import pytest

from bot.evaluation.views.build import build_view
from tests.bot.evaluation.parts import SLUGS, column, read, real

pytestmark = pytest.mark.integration

EXPECTED = {
    "aerial-cactus-identification": ("stratified", ("has_cactus",)),
    "bike-sharing-demand": ("time", ("casual", "registered", "count")),
    "leaf-classification": ("stratified", ("species",)),
    "nomad2018-predict-transparent-conductors": ("stratified", ("formation_energy_ev_natom", "bandgap_energy_ev")),
    "spooky-author-identification": ("stratified", ("author",)),
}


@pytest.fixture(scope="module", params=SLUGS)
def built(request, tmp_path_factory):
    """The views of one real competition: (folder, card, {name: (info, data, labels)})."""
    folder, card = real(request.param)
    place = tmp_path_factory.mktemp("views")
    views = {}
    for name in ("sample", "holdout", "full"):
        info = build_view(folder / "data", card, name, 1, place / name / "data", place / name / "labels")
        views[name] = (info, place / name / "data", place / name / "labels" / "labels.csv")
    return folder / "data", card, views


def test_the_split_and_what_is_withheld_fit_the_data(built):
    _, card, views = built
    for info, _, _ in views.values():
        assert (info.split_kind, info.withheld_columns) == EXPECTED[card.slug]


def test_every_view_has_the_competitions_files_and_two_more(built):
    data, _, views = built
    names = {path.name for path in data.iterdir()}
    for _, out, _ in views.values():
        assert {path.name for path in out.iterdir()} == names | {"validation.csv", "sample_validation.csv"}
        assert not any(path.is_symlink() for path in out.rglob("*"))


def test_classes_are_in_every_part(built):
    data, card, views = built
    if card.category in ("tabular-regression", "tabular-time-indexed"):
        return
    label = views["holdout"][0].label_columns[0]
    classes = set(column(data / "train.csv", label))
    for name in ("sample", "holdout"):
        _, out, labels = views[name]
        assert set(column(out / "train.csv", label)) == classes
        assert len({tuple(row[1:]) for row in read(labels)[1:]}) == len(classes)


def test_few_rows_are_few(built):
    data, card, views = built
    info, out, _ = views["sample"]
    assert info.train_rows <= (495 if card.slug == "leaf-classification" else 400)
    assert info.validation_rows <= 200
    assert len(read(out / "sample_submission.csv")) <= 201
    assert sum(1 for path in out.glob("*.zip") if path.samefile(data / path.name)) == len(list(data.glob("*.zip")))


def text_of(out):
    """Every table of a view and every text member of its archives, as (name, text)."""
    for path in sorted(out.rglob("*")):
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                for member in archive.namelist():
                    content = archive.read(member)
                    if not content.startswith(b"\xff\xd8"):
                        yield member, content.decode()
        elif path.is_file():
            yield path.name, path.read_text()


@pytest.mark.parametrize("name", ["sample", "holdout"])
def test_no_withheld_label_can_be_had_from_any_file_of_a_view(built, name):
    data, card, views = built
    info, out, labels = views[name]
    header, *rows = read(data / "train.csv")
    id_at = header.index(card.id_column)
    shown = set(column(out / "train.csv", card.id_column))
    withheld = {row[id_at]: row for row in rows if row[id_at] not in shown}
    assert set(column(labels, card.id_column)) <= withheld.keys()
    assert len(withheld) + len(shown) == len(rows)
    at = [header.index(c) for c in info.withheld_columns]
    leaked = []
    for file, text in text_of(out):
        if file in ("test.csv", "sample_submission.csv"):
            original = (data / file).read_text()
            assert text == original or set(text.splitlines()) <= set(original.splitlines())
        elif file.endswith(".csv"):
            table = list(csv.reader(io.StringIO(text, newline="")))
            columns = set(table[0]) & set(info.withheld_columns)
            leaked += [row for row in table[1:] if columns and row[table[0].index(card.id_column)] in withheld]
            assert file != "validation.csv" or not columns
            if file == "sample_validation.csv":
                assert len({tuple(row[1:]) for row in table[1:]}) == 1
                leaked = [row for row in leaked if row not in table]
        else:
            identifier = file.split("/")[1]
            if file.startswith("train/") and identifier in withheld:
                leaked += [cell for i in at if (cell := withheld[identifier][i]) in text.split()]
    assert not leaked


def test_names_in_archives_do_not_sort_the_images(built):
    data, card, _ = built
    for path in data.glob("*.zip"):
        with zipfile.ZipFile(path) as archive:
            depths = {name.count("/") for name in archive.namelist()}
            assert len(depths) == 1 and depths <= {0, 2}, (card.slug, path.name)
