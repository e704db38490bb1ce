"""Competitions whose training rows are tables of other names and forms: records, compressed, several, wide, of several rows."""

import gzip
import json
import zipfile

import pytest

from bot.evaluation.views import build_view
from tests.bot.evaluation.parts import card, column, read, write


def build(data, task, name="holdout", seed=0):
    out = data.parent / name.replace("/", "-")
    info = build_view(data, task, name, seed, out / "data", out / "labels")
    return info, out / "data", out / "labels" / "labels.csv"


def records(path):
    text = path.read_text()
    return json.loads(text) if text.lstrip().startswith("[") else [json.loads(line) for line in text.splitlines()]


@pytest.fixture(params=["array", "lines"])
def icebergs(tmp_path, request):
    """statoil-iceberg-classifier-challenge: train.json and test.json, arrays; and the same a line each."""
    data = tmp_path / "data"
    data.mkdir()
    train = [
        {"id": f"{n:08x}", "band_1": [n / 7, -20.5], "is_iceberg": n % 2, "inc_angle": 30.0 + n if n % 5 else "na"}
        for n in range(100)
    ]
    test = [{"id": f"{n:08x}", "band_1": [n / 7, -20.5], "inc_angle": 30.0} for n in range(100, 140)]
    write(data / "sample_submission.csv", ["id", "is_iceberg"], [[row["id"], 0.5] for row in test])
    suffix = "json" if request.param == "array" else "jsonl"
    for name, rows in (("train", train), ("test", test)):
        text = json.dumps(rows) if suffix == "json" else "".join(json.dumps(row) + "\n" for row in rows)
        (data / f"{name}.{suffix}").write_text(text)
    return data, card("log_loss", ("is_iceberg",)), suffix, train


@pytest.mark.parametrize("name", ["sample", "holdout", "final", "fold 2/4"])
def test_records_are_written_without_what_is_withheld(icebergs, name):
    data, task, suffix, train = icebergs
    info, out, labels = build(data, task, name)
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
    data, task, suffix, train = icebergs
    _, out, labels = build(data, task, "swap")
    swapped = records(out / f"test.{suffix}")
    assert [row["id"] for row in swapped] == column(labels, "id") == column(out / "sample_submission.csv", "id")
    assert all(set(row) == {"id", "band_1", "inc_angle"} for row in swapped)
    assert not {row["id"] for row in swapped} & {row["id"] for row in records(out / f"train.{suffix}")}


def test_every_key_that_test_records_lack_is_withheld(tmp_path):
    """random-acts-of-pizza: train.json tells what came after the request, which test.json does not."""
    data, wanted = tmp_path / "data", "requester_received_pizza"
    data.mkdir()
    train = [
        {"request_id": f"t3_{n}", "request_text": f"please {n}", wanted: n % 4 == 0, "votes_at_retrieval": n % 4}
        for n in range(80)
    ]
    (data / "train.json").write_text(json.dumps(train, indent=1))
    (data / "test.json").write_text(json.dumps([{"request_id": f"t3_{n}", "request_text": ""} for n in range(80, 99)]))
    write(data / "sample_submission.csv", ["request_id", wanted], [[f"t3_{n}", 0] for n in range(80, 99)])
    info, out, labels = build(data, card("roc_auc", (wanted,), "request_id"))
    assert set(info.withheld_columns) == {wanted, "votes_at_retrieval"}
    assert {key for row in records(out / "validation.json") for key in row} == {"request_id", "request_text"}
    assert set(column(labels, wanted)) == {"0", "1"}


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
    info, out, labels = build(data, card("roc_auc"))
    again = build(data, card("roc_auc"))[1]
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
    """dog-breed-identification and the like: the table of labels names the id in its own way."""
    data = tmp_path / "data"
    write(data / "labels.csv", ["image_id", "breed"], [[f"d{n}", ("pug", "corgi")[n % 2]] for n in range(60)])
    write(data / "sample_submission.csv", ["id", "corgi", "pug"], [[f"t{n}", 0.5, 0.5] for n in range(20)])
    _, out, labels = build(data, card("log_loss", ("corgi", "pug")))
    assert read(out / "validation.csv")[0] == ["image_id"] and read(labels)[0] == ["id", "corgi", "pug"]
    assert column(out / "validation.csv", "image_id") == column(out / "sample_validation.csv", "id")


@pytest.fixture
def couplings(tmp_path):
    """champs-scalar-coupling: pairs of atoms of molecules; further tables tell of all molecules, or of training ones alone."""
    data = tmp_path / "data"
    pairs = [(m, a) for m in range(120) for a in range(3)]
    write(
        data / "train.csv",
        ["id", "molecule", "atom", "coupling"],
        [[n, f"m{m:03d}", a, n * 1.5] for n, (m, a) in enumerate(pairs) if m < 90],
    )
    write(
        data / "test.csv",
        ["id", "molecule", "atom"],
        [[n, f"m{m:03d}", a] for n, (m, a) in enumerate(pairs) if m >= 90],
    )
    write(data / "sample_submission.csv", ["id", "coupling"], [[n, 0] for n, (m, _) in enumerate(pairs) if m >= 90])
    write(data / "structures.csv", ["molecule", "atom", "x"], [[f"m{m:03d}", a, m] for m, a in pairs])
    write(data / "contributions.csv", ["molecule", "atom", "fc"], [[f"m{m:03d}", a, m] for m, a in pairs if m < 90])
    for side, some in (("train", range(90)), ("test", range(90, 120))):
        write(data / f"spectra_{side}.csv", ["molecule", "s"], [[f"m{m:03d}", m] for m in some])
    return data, card("mae", ("coupling",))


@pytest.mark.parametrize("name", ["sample", "holdout", "final", "fold 3/3"])
def test_groups_of_a_shared_key_stay_together_and_their_labels_elsewhere_go(couplings, name):
    data, task = couplings
    info, out, labels = build(data, task, name)
    assert info.split_kind == "grouped"
    shown, asked = set(column(out / "train.csv", "molecule")), set(column(out / "validation.csv", "molecule"))
    assert shown and asked and not shown & asked
    assert set(column(out / "contributions.csv", "molecule")) <= shown
    assert (out / "structures.csv").samefile(data / "structures.csv")
    assert (out / "spectra_train.csv").samefile(data / "spectra_train.csv")
    values = dict(zip(column(data / "train.csv", "id"), column(data / "train.csv", "coupling"), strict=True))
    assert [values[i] for i in column(labels, "id")] == column(labels, "coupling")


def test_further_tables_of_the_test_hold_what_stands_in_for_it(couplings):
    data, task = couplings
    _, out, labels = build(data, task, "swap")
    tested = set(column(out / "test.csv", "molecule"))
    assert column(out / "test.csv", "id") == column(out / "sample_submission.csv", "id") == column(labels, "id")
    assert set(column(out / "spectra_test.csv", "molecule")) == tested
    assert not set(column(out / "spectra_train.csv", "molecule")) & tested
    assert not set(column(out / "contributions.csv", "molecule")) & tested
    assert read(out / "test.csv")[0] == ["id", "molecule", "atom"]


def test_ids_that_end_in_columns_are_matched_to_wide_labels(tmp_path):
    """rsna-2022-cervical-spine-fracture-detection: a row of predictions for each bone of a study."""
    data, bones = tmp_path / "data", ("overall", "C1", "C2")
    train = [[f"1.2.{n}", *(n % k % 2 for k in (2, 3, 5))] for n in range(80)]
    write(data / "train.csv", ["study", "overall", "C1", "C2"], train)
    asked = [[f"1.2.{n}_{bone}", f"1.2.{n}", bone] for n in range(80, 100) for bone in bones]
    write(data / "test.csv", ["row_id", "study", "bone"], asked)
    write(data / "sample_submission.csv", ["row_id", "fractured"], [[row[0], 0.5] for row in asked])
    info, out, labels = build(data, card("log_loss", ("fractured",), "row_id"))
    studies = column(out / "validation.csv", "study")
    assert info.label_columns == bones and read(out / "validation.csv")[0] == ["study"]
    assert column(labels, "row_id") == [f"{s}_{bone}" for s in studies for bone in bones]
    wide = {row[0]: row[1:] for row in train}
    assert column(labels, "fractured") == [str(cell) for s in studies for cell in wide[s]]
    _, out, _ = build(data, card("log_loss", ("fractured",), "row_id"), "sample")
    assert len(read(out / "test.csv")) == 61


def test_ids_that_end_in_places_are_matched_to_lists_of_labels(tmp_path):
    """stanford-covid-vaccine: train.json holds lists, and the sample asks for each of their places."""
    data = tmp_path / "data"
    data.mkdir()
    rows = [{"id": f"id_{n}", "sequence": "GAC" * 2, "reactivity": [n, n + 0.5], "deg": [0.1, n]} for n in range(60)]
    (data / "train.json").write_text("".join(json.dumps(row) + "\n" for row in rows))
    tests = [{"id": f"id_{n}", "sequence": "GAC" * 2} for n in range(60, 70)]
    (data / "test.json").write_text("".join(json.dumps(row) + "\n" for row in tests))
    asked = [[f"id_{n}_{place}", 0, 0] for n in range(60, 70) for place in range(6)]
    write(data / "sample_submission.csv", ["id_seqpos", "reactivity", "deg"], asked)
    info, out, labels = build(data, card("rmse", ("reactivity", "deg"), "id_seqpos"))
    first = records(out / "validation.json")[0]
    number = int(first["id"][3:])
    assert set(first) == {"id", "sequence"} and len(read(labels)) == 2 * info.validation_rows + 1
    assert read(labels)[1:3] == [[f"id_{number}_0", str(number), "0.1"], [f"id_{number}_1", f"{number}.5", str(number)]]


def test_ids_that_two_columns_make_up_keep_the_rows_of_the_first_together(tmp_path):
    """text-normalization-challenge: en_train.csv, en_test_2.csv, and ids of sentence and token."""
    data = tmp_path / "data"
    tokens = [(s, t) for s in range(60) for t in range(4)]
    write(data / "en_train.csv", ["sentence", "token", "before", "after"], [[s, t, "a", f"b{t}"] for s, t in tokens])
    write(data / "en_test_2.csv", ["sentence", "token", "before"], [[s, t, "a"] for s, t in tokens[:80]])
    write(data / "sample_submission.csv", ["id", "after"], [[f"{s}_{t}", "a"] for s, t in tokens[:80]])
    _, out, labels = build(data, card("accuracy", ("after",)))
    shown, asked = set(column(out / "en_train.csv", "sentence")), set(column(out / "validation.csv", "sentence"))
    assert shown and asked and not shown & asked
    assert read(labels)[1][0] == "_".join(read(out / "validation.csv")[1][:2])
    assert read(out / "validation.csv")[0] == ["sentence", "token", "before"]


def test_several_rows_of_masks_make_up_one_label_and_their_number_is_not_told(tmp_path):
    """airbus-ship-detection: train_ship_segmentations_v2.csv has a row for each ship of an image."""
    data = tmp_path / "data"
    ships = [[f"{n}.jpg", f"{10 * n + k} 3" if n % 4 else ""] for n in range(60) for k in range(max(1, n % 4))]
    write(data / "train_ship_segmentations_v2.csv", ["ImageId", "EncodedPixels"], ships)
    write(data / "sample_submission.csv", ["ImageId", "EncodedPixels"], [[f"t{n}.jpg", "1 2"] for n in range(20)])
    task = card("grade.py", ("EncodedPixels",), "ImageId", predictions="text")
    for name in ("sample", "holdout", "fold 1/4"):
        _, out, labels = build(data, task, name)
        asked = column(out / "validation.csv", "ImageId")
        assert len(asked) == len(set(asked)) and asked == column(labels, "ImageId")
        assert not set(asked) & set(column(out / "train_ship_segmentations_v2.csv", "ImageId"))
        whole = {i: " ".join(row[1] for row in ships if row[0] == i and row[1]) for i in asked}
        assert column(labels, "EncodedPixels") == [whole[i] for i in asked]


def test_rows_of_one_id_for_each_class_are_asked_for_with_their_class(tmp_path):
    """uw-madison-gi-tract-image-segmentation: three rows an image, and the sample says of which organ each is."""
    data, organs = tmp_path / "data", ("large", "small", "stomach")
    rows = [[f"case{n}", organ, f"{n} {at}" if n % 2 else ""] for n in range(50) for at, organ in enumerate(organs)]
    write(data / "train.csv", ["id", "class", "segmentation"], rows)
    asked = [[f"test{n}", organ, ""] for n in range(20) for organ in organs]
    write(data / "sample_submission.csv", ["id", "class", "predicted"], asked)
    info, out, labels = build(data, card("grade.py", ("class", "predicted"), predictions="text"))
    shown = read(out / "sample_validation.csv")[1:]
    assert info.label_columns == ("segmentation",)
    assert read(out / "validation.csv")[1:] == [row[:2] for row in shown] and all(row[2] == "" for row in shown)
    truth = {(row[0], row[1]): row[2] for row in rows}
    assert read(labels)[1:] == [[i, organ, truth[i, organ]] for i, organ, _ in shown]
    assert {i for i, _, _ in shown}.isdisjoint(column(out / "train.csv", "id")) and len(shown) % 3 == 0


def test_equal_rows_of_an_id_stay_on_one_side(tmp_path):
    """detecting-insults: the comment is the id, and some were posted twice."""
    data = tmp_path / "data"
    rows = [[n % 2, f"text {n}"] for n in range(60)] + [[n % 2, f"text {n}"] for n in range(0, 60, 3)]
    write(data / "train.csv", ["Insult", "Comment"], rows)
    write(data / "sample_submission.csv", ["Insult", "Comment"], [[0.5, f"test {n}"] for n in range(20)])
    info, out, labels = build(data, card("roc_auc", ("Insult",), "Comment"))
    assert set(column(labels, "Comment")).isdisjoint(column(out / "train.csv", "Comment"))
    assert column(labels, "Comment") == column(out / "validation.csv", "Comment") and info.split_kind == "stratified"


def test_ids_of_thing_and_kind_keep_a_thing_together(tmp_path):
    """rsna-intracranial-hemorrhage-detection: a row for each image and kind, in the training table as in the sample."""
    data = tmp_path / "data"
    rows = [[f"ID_{n:03x}_{kind}", int(n % k == 0)] for n in range(60) for k, kind in ((2, "any"), (4, "subdural"))]
    write(data / "train.csv", ["ID", "Label"], rows)
    write(
        data / "sample_submission.csv",
        ["ID", "Label"],
        [[f"ID_{n}_{kind}", 0.5] for n in "xyz" for kind in ("any", "subdural")],
    )
    _, out, labels = build(data, card("log_loss", ("Label",), "ID"))
    images = {identifier.rpartition("_")[0] for identifier in column(labels, "ID")}
    assert images.isdisjoint(identifier.rpartition("_")[0] for identifier in column(out / "train.csv", "ID"))
    assert len(read(labels)) == 2 * len(images) + 1


def test_no_cell_of_a_withheld_label_is_in_any_file_of_the_view(tmp_path):
    """Labels that occur nowhere else are looked for in every file of every view, whatever the layout."""
    for layout in ("plain", "records", "melted", "joined", "gz"):
        data = tmp_path / layout / "data"
        data.mkdir(parents=True)
        task, secrets = _layout_with_secrets(layout, data)
        for name in ("sample", "holdout", "final", "fold 1/3", "swap"):
            _, out, labels = build(data, task, name)
            told = labels.read_text()
            withheld = {secret for secret in secrets if secret in told}
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
