"""Small competitions in the layouts of real ones, under the names that their files have; nothing of their data is real."""

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from PIL import Image

from bot.evaluation.views.build import ViewInfo, build_view
from scrapers.snapshots.card import TaskCard
from tests.bot.evaluation.parts import card, write

SPECIES = ("Black-grass", "Charlock", "Sugar beet")
ORGANS = ("large_bowel", "small_bowel", "stomach")
BONES = ("patient_overall", "C1", "C2")


def picture(path: Path, rng: random.Random, size: tuple[int, int] = (8, 6), base: int = 0) -> Path:
    """Write an image of noise, the brighter the higher its base."""
    path.parent.mkdir(parents=True, exist_ok=True)
    pixels = bytes(min(255, base + rng.randrange(100)) for _ in range(size[0] * size[1]))
    Image.frombytes("L", size, pixels).save(path)
    return path


def _name(rng: random.Random) -> str:
    return f"{rng.randrange(16**9):09x}"


def plant_seedlings(data: Path) -> TaskCard:
    """Folders by class: `train/Charlock/0050f38b3.png`, `test/0021e90e4.png`."""
    rng = random.Random(1)
    for number, name in enumerate(SPECIES):
        for _ in range(24):
            picture(data / "train" / name / f"{_name(rng)}.png", rng, base=40 * number)
    tests = [picture(data / "test" / f"{_name(rng)}.png", rng).name for _ in range(20)]
    write(data / "sample_submission.csv", ["file", "species"], [[name, "Sugar beet"] for name in tests])
    return card("accuracy", ("species",), "file")


def dogs_vs_cats(data: Path) -> TaskCard:
    """Names by class: `train/cat.0.jpg`, `test/1.jpg`; ids are the test's numbers."""
    rng = random.Random(2)
    for number, name in enumerate(("cat", "dog")):
        for at in range(30):
            picture(data / "train" / f"{name}.{at}.jpg", rng, base=60 * number)
    for at in range(1, 21):
        picture(data / "test" / f"{at}.jpg", rng)
    write(data / "sample_submission.csv", ["id", "label"], [[at, 0.5] for at in range(1, 21)])
    description = "For each image you predict a probability that the image is a dog (1 = dog, 0 = cat)."
    return card("log_loss", ("label",)).model_copy(update={"description": description})


def speech_commands(data: Path) -> TaskCard:
    """Folders by class in which the same names come again: `train/audio/yes/0a7c_nohash_0.wav`."""
    rng = random.Random(4)
    for word in ("yes", "no", "up"):
        for number in range(20):
            path = data / "train" / "audio" / word / f"{number:04x}_nohash_0.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(rng.randbytes(100))
    names = [f"clip_{number:04x}.wav" for number in range(20)]
    for name in names:
        (data / "test" / "audio").mkdir(parents=True, exist_ok=True)
        (data / "test" / "audio" / name).write_bytes(rng.randbytes(100))
    write(data / "sample_submission.csv", ["fname", "label"], [[name, "no"] for name in names])
    return card("accuracy", ("label",), "fname")


def denoising_documents(data: Path) -> TaskCard:
    """A file a row and its label in another folder; each pixel is asked for: `1_1_1`."""
    rng, asked = random.Random(5), []
    for number in range(30):
        picture(data / "train" / f"{number}.png", rng)
        picture(data / "train_cleaned" / f"{number}.png", rng)
    for number in range(30, 34):
        picture(data / "test" / f"{number}.png", rng)
        asked += [[f"{number}_{y}_{x}", 1] for x in range(1, 9) for y in range(1, 7)]
    write(data / "sample_submission.csv", ["id", "value"], asked)
    return card("rmse", ("value",))


def salt_masks(data: Path) -> TaskCard:
    """Images, masks of training images alone, and run lengths in train.csv."""
    rng = random.Random(6)
    ids = [f"{rng.randrange(16**10):010x}" for _ in range(70)]
    for number, identifier in enumerate(ids):
        side = "train" if number < 50 else "test"
        picture(data / side / "images" / f"{identifier}.png", rng)
        if side == "train":
            picture(data / "train" / "masks" / f"{identifier}.png", rng)
    labels = [[i, f"{n + 1} {n + 2}" if n % 3 else ""] for n, i in enumerate(ids[:50])]
    write(data / "train.csv", ["id", "rle_mask"], labels)
    write(data / "depths.csv", ["id", "z"], [[i, n] for n, i in enumerate(ids)])
    write(data / "sample_submission.csv", ["id", "rle_mask"], [[i, "1 1"] for i in ids[50:]])
    return card("grade.py", ("rle_mask",), predictions="text")


def records(path: Path) -> list[dict[str, Any]]:
    """Read the records of a file, an array or one a line."""
    text = path.read_text()
    return list(json.loads(text) if text.lstrip()[:1] == "[" else map(json.loads, text.splitlines()))


def _write_records(path: Path, rows: list[dict[str, Any]], *, lines: bool = False) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) if lines else json.dumps(rows))


def statoil_icebergs(data: Path, *, lines: bool = False) -> TaskCard:
    """Records with lists of numbers in train.json and test.json."""
    suffix = "jsonl" if lines else "json"
    rows = [
        {"id": f"{n:08x}", "band_1": [n / 7, -20.5 + 9 * (n % 2)], "inc_angle": 30.0 + n if n % 5 else "na"}
        for n in range(140)
    ]
    _write_records(data / f"train.{suffix}", [r | {"is_iceberg": n % 2} for n, r in enumerate(rows[:100])], lines=lines)
    _write_records(data / f"test.{suffix}", rows[100:], lines=lines)
    write(data / "sample_submission.csv", ["id", "is_iceberg"], [[row["id"], 0.5] for row in rows[100:]])
    return card("log_loss", ("is_iceberg",))


def acts_of_pizza(data: Path) -> TaskCard:
    """Records whose training part holds what came after the request, too."""
    wanted = "requester_received_pizza"
    rows = [{"request_id": f"t3_{n}", "request_text": f"please send number {n} a pizza"} for n in range(100)]
    later = [row | {wanted: n % 4 == 0, "votes_at_retrieval": n % 4} for n, row in enumerate(rows[:80])]
    _write_records(data / "train.json", later)
    _write_records(data / "test.json", rows[80:])
    write(data / "sample_submission.csv", ["request_id", wanted], [[row["request_id"], 0] for row in rows[80:]])
    return card("roc_auc", (wanted,), "request_id")


def scalar_coupling(data: Path) -> TaskCard:
    """Pairs of atoms of molecules; further tables cover all molecules, or of training ones alone, or a table a side."""
    pairs = [(f"m{m:03d}", a) for m in range(120) for a in range(3)]
    rows = [[n, m, a, n * 1.5] for n, (m, a) in enumerate(pairs)]
    header = ["id", "molecule_name", "atom_index_0", "scalar_coupling_constant"]
    write(data / "train.csv", header, rows[:270])
    write(data / "test.csv", header[:3], [row[:3] for row in rows[270:]])
    write(data / "sample_submission.csv", [header[0], header[3]], [[row[0], 0] for row in rows[270:]])
    write(data / "structures.csv", ["molecule_name", "atom_index", "x"], [[m, a, m[1:]] for m, a in pairs])
    parts = [[m, a, n] for n, (m, a) in enumerate(pairs[:270])]
    write(data / "scalar_coupling_contributions.csv", ["molecule_name", "atom_index_0", "fc"], parts)
    for side, some in (("train", pairs[:270:3]), ("test", pairs[270::3])):
        write(data / f"spectra_{side}.csv", ["molecule_name", "s"], [[m, m[1:]] for m, _ in some])
    return card("mae", ("scalar_coupling_constant",))


def cervical_fractures(data: Path) -> TaskCard:
    """Wide labels, and a sample with a row for each study and bone."""
    header = ["StudyInstanceUID", *BONES]
    write(data / "train.csv", header, [[f"1.2.{n}", *(n % k % 2 for k in (2, 3, 5))] for n in range(80)])
    asked = [[f"1.2.{n}_{bone}", f"1.2.{n}", bone] for n in range(80, 100) for bone in BONES]
    write(data / "test.csv", ["row_id", "StudyInstanceUID", "prediction_type"], asked)
    write(data / "sample_submission.csv", ["row_id", "fractured"], [[row[0], 0.5] for row in asked])
    return card("log_loss", ("fractured",), "row_id")


def covid_vaccine(data: Path) -> TaskCard:
    """Records with lists of labels, and a sample with a row for each of their places."""
    rows = [{"id": f"id_{n}", "sequence": "GAC" * 2} for n in range(70)]
    labelled = [row | {"reactivity": [n, n + 0.5], "deg_Mg_pH10": [0.1, n]} for n, row in enumerate(rows[:60])]
    _write_records(data / "train.json", labelled, lines=True)
    _write_records(data / "test.json", rows[60:], lines=True)
    asked = [[f"{row['id']}_{place}", 0, 0] for row in rows[60:] for place in range(6)]
    write(data / "sample_submission.csv", ["id_seqpos", "reactivity", "deg_Mg_pH10"], asked)
    return card("rmse", ("reactivity", "deg_Mg_pH10"), "id_seqpos")


def text_normalization(data: Path) -> TaskCard:
    """en_train.csv, en_test_2.csv, and ids of sentence and token."""
    tokens = [(s, t) for s in range(80) for t in range(4)]
    header = ["sentence_id", "token_id", "before", "after"]
    write(data / "en_train.csv", header, [[s, t, f"b{t}", f"b{t}"] for s, t in tokens[80:]])
    write(data / "en_test_2.csv", header[:3], [[s, t, f"b{t}"] for s, t in tokens[:80]])
    write(data / "sample_submission.csv", ["id", "after"], [[f"{s}_{t}", f"b{t}"] for s, t in tokens[:80]])
    return card("accuracy", ("after",))


def ship_detection(data: Path) -> TaskCard:
    """A row of run lengths for each ship of an image, and an empty one for an image of none."""
    ships = [[f"{n:04x}.jpg", f"{10 * n + k} 3" if n % 4 else ""] for n in range(60) for k in range(max(1, n % 4))]
    write(data / "train_ship_segmentations_v2.csv", ["ImageId", "EncodedPixels"], ships)
    asked = [[f"{n:04x}.jpg", "1 2"] for n in range(60, 80)]
    write(data / "sample_submission.csv", ["ImageId", "EncodedPixels"], asked)
    return card("grade.py", ("EncodedPixels",), "ImageId", predictions="text")


def tract_segmentation(data: Path) -> TaskCard:
    """Three rows an image, and a sample that names the organ of each."""
    ids = [f"case{n}_day1_slice_{n:04d}" for n in range(70)]
    rows = [[i, organ, f"{n} {at + 1}" if n % 2 else ""] for n, i in enumerate(ids) for at, organ in enumerate(ORGANS)]
    write(data / "train.csv", ["id", "class", "segmentation"], rows[:150])
    write(data / "sample_submission.csv", ["id", "class", "predicted"], [[*row[:2], ""] for row in rows[150:]])
    return card("grade.py", ("predicted",), predictions="text").model_copy(update={"key_columns": ("class",)})


def insults(data: Path) -> TaskCard:
    """The comment is the id, and some were posted twice."""
    rows = [[n % 2, f"comment number {n} of them"] for n in [*range(60), *range(0, 60, 3)]]
    tests = [[0.5, f"test number {n} of them"] for n in [*range(20), *range(0, 20, 10)]]
    write(data / "train.csv", ["Insult", "Comment"], rows)
    write(data / "sample_submission.csv", ["Insult", "Comment"], tests)
    return card("roc_auc", ("Insult",), "Comment")


def hemorrhage_kinds(data: Path) -> TaskCard:
    """A row for each image and kind, in the training table as in the sample."""
    rows = [[f"ID_{n:03x}_{kind}", int(n % k == 0)] for n in range(80) for k, kind in ((2, "any"), (4, "subdural"))]
    write(data / "train.csv", ["ID", "Label"], rows[:120])
    write(data / "sample_submission.csv", ["ID", "Label"], [[row[0], 0.5] for row in rows[120:]])
    return card("log_loss", ("Label",), "ID")


def dog_breeds(data: Path) -> TaskCard:
    """Labels in a table named for them, under another name of the id, and images beside it."""
    rng = random.Random(7)
    rows = [[_name(rng), ("pug", "corgi")[n % 2]] for n in range(60)]
    tests = [_name(rng) for _ in range(20)]
    for side, names in (("train", [row[0] for row in rows]), ("test", tests)):
        for name in names:
            picture(data / side / f"{name}.jpg", rng)
    write(data / "labels.csv", ["image_id", "breed"], rows)
    write(data / "sample_submission.csv", ["id", "corgi", "pug"], [[name, 0.5, 0.5] for name in tests])
    return card("log_loss", ("corgi", "pug"))


def store_sales(data: Path) -> TaskCard:
    """Several series over time: the test is what comes last, in every store."""
    days = [f"2017-{month:02d}-{day:02d}" for month in range(1, 7) for day in range(1, 29)]
    rows = [
        [f"{n}", day, store, n % 7 + store] for n, (day, store) in enumerate((d, s) for d in days for s in range(3))
    ]
    cut = 140 * 3
    write(data / "train.csv", ["id", "date", "store", "sales"], rows[:cut])
    write(data / "test.csv", ["id", "date", "store"], [row[:3] for row in rows[cut:]])
    write(data / "sample_submission.csv", ["id", "sales"], [[row[0], 0] for row in rows[cut:]])
    return card("rmsle", ("sales",))


LAYOUTS: Mapping[str, Callable[[Path], TaskCard]] = {
    layout.__name__: layout
    for layout in (
        *(plant_seedlings, dogs_vs_cats, speech_commands, denoising_documents, salt_masks, statoil_icebergs),
        *(acts_of_pizza, scalar_coupling, cervical_fractures, covid_vaccine, text_normalization, ship_detection),
        *(tract_segmentation, insults, hemorrhage_kinds, dog_breeds, store_sales),
    )
}
"""Every layout by name: writes a competition's data folder and returns its card."""


def write_layout(name: str, folder: Path) -> tuple[Path, TaskCard]:
    """Write a layout below a folder; returns where its data is, and its card."""
    data = folder / "data"
    data.mkdir(parents=True)
    return data, LAYOUTS[name](data)


def view_of(data: Path, task: TaskCard, name: str = "holdout", seed: int = 0) -> tuple[ViewInfo, Path, Path]:
    """Build a view beside a data folder; returns what it is, its own data folder and its labels."""
    out = data.parent / name.replace("/", "-")
    info = build_view(data, task, name, seed, out / "data", out / "labels")
    return info, out / "data", out / "labels" / "labels.csv"
