"""Competitions whose training rows are tables of other names and forms: records, compressed, several, wide, of several rows."""

import gzip
import json
import zipfile

import pytest

from state.errors import UnsupportedLayout
from tests.bot.evaluation.parts import card, column, read, write
from tests.bot.evaluation.written_layouts import BONES, ORGANS, records, statoil_icebergs, view_of, write_layout


@pytest.fixture(params=["json", "jsonl"])
def icebergs(tmp_path, request):
    data = tmp_path / "data"
    task = statoil_icebergs(data, lines=request.param == "jsonl")
    return data, task, request.param


@pytest.mark.parametrize("name", ["sample", "holdout"])
def test_records_are_written_without_what_is_withheld(icebergs, name):
    data, task, suffix = icebergs
    train = records(data / f"train.{suffix}")
    info, out, labels = view_of(data, task, name)
    shown, asked = records(out / f"train.{suffix}"), records(out / f"validation.{suffix}")
    assert info.withheld_columns == ("is_iceberg",) and info.split_kind == "stratified"
    by_id = {row["id"]: row for row in train}
    assert all(row == by_id[row["id"]] for row in shown) and len(shown) == info.train_rows
    assert all(set(row) == {"id", "band_1", "inc_angle"} and row.items() <= by_id[row["id"]].items() for row in asked)
    assert [row["id"] for row in asked] == column(out / "sample_validation.csv", "id") == column(labels, "id")
    assert [str(by_id[row["id"]]["is_iceberg"]) for row in asked] == column(labels, "is_iceberg")
    assert not {row["id"] for row in shown} & {row["id"] for row in asked}
    assert len(records(out / f"test.{suffix}")) == 40


def test_records_may_stand_in_for_those_of_the_test(icebergs):
    data, task, suffix = icebergs
    _, out, labels = view_of(data, task, "swap")
    swapped = records(out / f"test.{suffix}")
    assert [row["id"] for row in swapped] == column(labels, "id") == column(out / "sample_submission.csv", "id")
    assert all(set(row) == {"id", "band_1", "inc_angle"} for row in swapped)
    assert not {row["id"] for row in swapped} & {row["id"] for row in records(out / f"train.{suffix}")}


def test_every_key_that_test_records_lack_is_withheld(tmp_path):
    data, task = write_layout("acts_of_pizza", tmp_path)
    info, out, labels = view_of(data, task)
    assert set(info.withheld_columns) == {"requester_received_pizza", "votes_at_retrieval"}
    assert {key for row in records(out / "validation.json") for key in row} == {"request_id", "request_text"}
    assert set(column(labels, "requester_received_pizza")) == {"0", "1"}


@pytest.mark.parametrize(
    ("name", "packed"),
    [
        ("labels.csv", None),
        ("train_labels.csv", None),
        ("training.csv", None),
        ("train/train.csv", None),
        ("en_train.tsv", None),
        ("train.csv.gz", gzip),
        ("train.csv.zip", zipfile),
        ("train.zip", zipfile),
    ],
)
def test_tables_of_other_names_are_rewritten_where_they_are(tmp_path, name, packed):
    data = tmp_path / "data"
    tab = "\t" if name.endswith(".tsv") else ","
    text = "".join(
        tab.join(map(str, row)) + "\n" for row in [("id", "x", "y"), *((f"r{n}", n, n % 2) for n in range(60))]
    )
    path = data / name
    path.parent.mkdir(parents=True)
    if packed is gzip:
        path.write_bytes(gzip.compress(text.encode()))
    elif packed is zipfile:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("train.csv", text)
    else:
        path.write_text(text)
    write(data / "sample_submission.csv", ["id", "y"], [[f"t{n}", 0] for n in range(20)])
    write(data / "test.csv", ["id", "x"], [[f"t{n}", n] for n in range(20)])
    info, out, labels = view_of(data, card("roc_auc"))
    again = view_of(data, card("roc_auc"))[1]
    if packed is gzip:
        shown = gzip.decompress((out / name).read_bytes()).decode()
    elif packed is zipfile:
        with zipfile.ZipFile(out / name) as archive:
            shown = archive.read(archive.namelist()[0]).decode()
    else:
        shown = (out / name).read_text()
    kept = shown.splitlines()[1:]
    assert (out / name).read_bytes() == (again / name).read_bytes() and len(kept) == info.train_rows
    assert set(kept) < set(text.splitlines()) and not {line.split(tab)[0] for line in kept} & set(column(labels, "id"))
    asked = next(out.glob("validation.*")).read_text().splitlines()
    assert asked[0] == f"id{tab}x" and len(asked) == info.validation_rows + 1


def test_ids_may_be_named_otherwise_in_training_rows(tmp_path):
    data, task = write_layout("dog_breeds", tmp_path)
    _, out, labels = view_of(data, task)
    assert read(out / "validation.csv")[0] == ["image_id"] and read(labels)[0] == ["id", "corgi", "pug"]
    assert column(out / "validation.csv", "image_id") == column(out / "sample_validation.csv", "id")


@pytest.fixture
def couplings(tmp_path):
    return write_layout("scalar_coupling", tmp_path)


@pytest.mark.parametrize("name", ["sample", "holdout"])
def test_groups_of_a_shared_key_stay_together_and_their_labels_elsewhere_go(couplings, name):
    data, task = couplings
    info, out, labels = view_of(data, task, name)
    assert info.split_kind == "grouped"
    shown, asked = set(column(out / "train.csv", "molecule_name")), set(column(out / "validation.csv", "molecule_name"))
    assert shown and asked and not shown & asked
    assert set(column(out / "scalar_coupling_contributions.csv", "molecule_name")) <= shown
    assert (out / "structures.csv").samefile(data / "structures.csv")
    assert (out / "spectra_train.csv").samefile(data / "spectra_train.csv")
    values = dict(
        zip(column(data / "train.csv", "id"), column(data / "train.csv", "scalar_coupling_constant"), strict=True)
    )
    assert [values[i] for i in column(labels, "id")] == column(labels, "scalar_coupling_constant")


def test_further_tables_of_the_test_hold_what_stands_in_for_it(couplings):
    data, task = couplings
    _, out, labels = view_of(data, task, "swap")
    tested = set(column(out / "test.csv", "molecule_name"))
    assert column(out / "test.csv", "id") == column(out / "sample_submission.csv", "id") == column(labels, "id")
    assert set(column(out / "spectra_test.csv", "molecule_name")) == tested
    assert not set(column(out / "spectra_train.csv", "molecule_name")) & tested
    assert not set(column(out / "scalar_coupling_contributions.csv", "molecule_name")) & tested
    assert read(out / "test.csv")[0] == ["id", "molecule_name", "atom_index_0"]


def test_ids_that_end_in_columns_are_matched_to_wide_labels(tmp_path):
    data, task = write_layout("cervical_fractures", tmp_path)
    info, out, labels = view_of(data, task)
    studies = column(out / "validation.csv", "StudyInstanceUID")
    assert info.label_columns == BONES and read(out / "validation.csv")[0] == ["StudyInstanceUID"]
    assert column(labels, "row_id") == [f"{study}_{bone}" for study in studies for bone in BONES]
    wide = {row[0]: row[1:] for row in read(data / "train.csv")}
    assert column(labels, "fractured") == [cell for study in studies for cell in wide[study]]
    assert len(read(view_of(data, task, "sample")[1] / "test.csv")) == 61


def test_ids_that_end_in_places_are_matched_to_lists_of_labels(tmp_path):
    info, out, labels = view_of(*write_layout("covid_vaccine", tmp_path))
    first = records(out / "validation.json")[0]
    number = int(first["id"][3:])
    assert set(first) == {"id", "sequence"} and len(read(labels)) == 2 * info.validation_rows + 1
    assert read(labels)[1:3] == [[f"id_{number}_0", str(number), "0.1"], [f"id_{number}_1", f"{number}.5", str(number)]]


def test_ids_that_two_columns_make_up_keep_the_rows_of_the_first_together(tmp_path):
    _, out, labels = view_of(*write_layout("text_normalization", tmp_path))
    shown, asked = set(column(out / "en_train.csv", "sentence_id")), set(column(out / "validation.csv", "sentence_id"))
    assert shown and asked and not shown & asked
    assert [row[0] for row in read(labels)[1:]] == ["_".join(row[:2]) for row in read(out / "validation.csv")[1:]]
    assert read(out / "validation.csv")[0] == ["sentence_id", "token_id", "before"]


@pytest.mark.parametrize("name", ["sample", "holdout"])
def test_several_rows_of_masks_make_up_one_label_and_their_number_is_not_revealed(tmp_path, name):
    data, task = write_layout("ship_detection", tmp_path)
    _, out, labels = view_of(data, task, name)
    asked, ships = column(out / "validation.csv", "ImageId"), read(data / "train_ship_segmentations_v2.csv")[1:]
    assert len(asked) == len(set(asked)) and asked == column(labels, "ImageId")
    assert not set(asked) & set(column(out / "train_ship_segmentations_v2.csv", "ImageId"))
    whole = {i: " ".join(row[1] for row in ships if row[0] == i and row[1]) for i in asked}
    assert column(labels, "EncodedPixels") == [whole[i] for i in asked]


def test_rows_of_one_id_for_each_class_are_asked_for_with_their_class(tmp_path):
    data, task = write_layout("tract_segmentation", tmp_path)
    info, out, labels = view_of(data, task)
    shown = read(out / "sample_validation.csv")[1:]
    assert info.label_columns == ("segmentation",)
    assert read(out / "validation.csv")[1:] == [row[:2] for row in shown] and all(row[2] == "" for row in shown)
    truth = {(row[0], row[1]): row[2] for row in read(data / "train.csv")[1:]}
    assert read(labels)[1:] == [[i, organ, truth[i, organ]] for i, organ, _ in shown]
    assert {i for i, _, _ in shown}.isdisjoint(column(out / "train.csv", "id"))
    assert [organ for _, organ, _ in shown] == list(ORGANS) * (len(shown) // 3)


def test_equal_rows_of_an_id_stay_on_one_side(tmp_path):
    info, out, labels = view_of(*write_layout("insults", tmp_path))
    assert set(column(labels, "Comment")).isdisjoint(column(out / "train.csv", "Comment"))
    assert column(labels, "Comment") == column(out / "validation.csv", "Comment") and info.split_kind == "stratified"


def test_rows_of_one_id_are_distinguished_by_their_order_where_the_sample_repeats_ids_too(tmp_path):
    data, task = write_layout("insults", tmp_path)
    rows = [[n % 3 % 2, f"comment number {n % 50} of them"] for n in range(120)]
    write(data / "train.csv", ["Insult", "Comment"], rows)
    write(data / "sample_submission.csv", ["Insult", "Comment"], [[0.5, f"test {n % 15}"] for n in range(20)])
    _, _out, labels = view_of(data, task)
    asked = column(labels, "Comment")
    assert len(set(asked)) < len(asked)
    for comment in set(asked):
        kept = [row[1] for row in read(labels)[1:] if row[0] == comment]
        assert kept == [str(label) for label, one in rows if one == comment], "in the order of the training table"


def test_a_key_column_that_training_rows_lack_is_beyond_views(tmp_path):
    data, task = write_layout("tract_segmentation", tmp_path)
    rows = [[row[0], row[2]] for row in read(data / "train.csv")[1:]]
    write(data / "train.csv", ["id", "segmentation"], rows)
    with pytest.raises(
        UnsupportedLayout, match="must have exactly one column named 'class', as the sample submission does"
    ):
        view_of(data, task)


def test_key_columns_of_a_layout_that_knows_none_are_beyond_views(tmp_path):
    data, task = write_layout("plant_seedlings", tmp_path)
    header, *rows = read(data / "sample_submission.csv")
    paired = [[row[0], part, *row[1:]] for row in rows for part in ("left", "right")]
    write(data / "sample_submission.csv", [header[0], "part", *header[1:]], paired)
    with pytest.raises(UnsupportedLayout, match="have no column file and part"):
        view_of(data, task.model_copy(update={"key_columns": ("part",)}))


def test_labels_of_keyed_rows_are_numbers_where_the_metric_takes_numbers(tmp_path):
    data, task = write_layout("tract_segmentation", tmp_path)
    numbers = task.model_copy(update={"metric": card("rmse").metric})
    with pytest.raises(UnsupportedLayout, match=r"the label 'segmentation' is '.*', but rmse requires numbers"):
        view_of(data, numbers)


def test_keyed_training_rows_stand_in_for_keyed_test_rows(tmp_path):
    data, task = write_layout("tract_segmentation", tmp_path)
    test = [row[:2] for row in read(data / "sample_submission.csv")[1:]]
    write(data / "test.csv", ["id", "class"], test)
    _, out, labels = view_of(data, task, "swap")
    assert [row[:2] for row in read(out / "test.csv")[1:]] == [row[:2] for row in read(labels)[1:]]
    assert read(out / "sample_submission.csv")[0] == ["id", "class", "predicted"]


def test_ids_of_thing_and_kind_keep_a_thing_together(tmp_path):
    _, out, labels = view_of(*write_layout("hemorrhage_kinds", tmp_path))
    images = {identifier.rpartition("_")[0] for identifier in column(labels, "ID")}
    assert images.isdisjoint(identifier.rpartition("_")[0] for identifier in column(out / "train.csv", "ID"))
    assert len(read(labels)) == 2 * len(images) + 1


def test_several_series_are_cut_off_at_one_time(tmp_path):
    data, task = write_layout("store_sales", tmp_path)
    info, out, _ = view_of(data, task)
    assert info.split_kind == "time" and max(column(out / "train.csv", "date")) < min(
        column(out / "validation.csv", "date")
    )
    assert set(column(out / "validation.csv", "store")) == {"0", "1", "2"}


def test_no_cell_of_a_withheld_label_is_in_any_file_of_the_view(tmp_path):
    """Labels that occur nowhere else are looked for in every file of every view, whatever the layout."""
    for layout in ("plain", "records", "melted", "joined", "gz"):
        data = tmp_path / layout / "data"
        data.mkdir(parents=True)
        task, secrets = _layout_with_secrets(layout, data)
        for name in ("sample", "holdout", "swap"):
            _, out, labels = view_of(data, task, name)
            kept = labels.read_text()
            withheld = {secret for secret in secrets if secret in kept}
            assert withheld
            for path in (p for p in out.rglob("*") if p.is_file()):
                content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
                assert not [s for s in withheld if s.encode() in content], (layout, name, path)


def _layout_with_secrets(layout, data):
    """Write a competition whose every label is a number of its own; returns its card and those numbers."""
    secrets = [f"{7_000_000 + 37 * n}.25" for n in range(120)]
    tests = [f"t{n}" for n in range(20)]
    if layout == "melted":
        write(data / "train.csv", ["key", "u", "v"], [[f"r{n}", secrets[2 * n], secrets[2 * n + 1]] for n in range(60)])
        write(data / "sample_submission.csv", ["id", "y"], [[f"{t}_{c}", 0] for t in tests for c in "uv"])
        return card(), secrets
    write(data / "sample_submission.csv", ["id", "y"], [[t, 0] for t in tests])
    rows = [[f"r{n // 2 if layout == 'joined' else n}", n, secret] for n, secret in enumerate(secrets)]
    write(data / "notes.csv", ["id", "said"], [[row[0], f"it was {row[2]}"] for row in rows])
    if layout == "records":
        found = [dict(zip(("id", "x", "y"), (i, x, float(y)), strict=True)) for i, x, y in rows]
        (data / "train.json").write_text(json.dumps(found))
        (data / "test.json").write_text(json.dumps([{"id": t, "x": 1} for t in tests]))
    elif layout == "gz":
        text = "id,x,y\n" + "".join(f"{i},{x},{y}\n" for i, x, y in rows)
        (data / "train.csv.gz").write_bytes(gzip.compress(text.encode()))
        write(data / "backup_train.csv", ["id", "x", "y"], rows)
    else:
        write(data / "train.csv", ["id", "x", "y"], rows)
    if layout == "joined":
        return card("grade.py", predictions="text"), secrets
    return card(), secrets
