"""The tables of each competition of MLE-bench: the columns of its answers and of a submission, as its prepare.py writes them.

Read from openai/mle-bench at commit 783b15a. Lists of classes are not repeated here: they are read from the repository.
"""

import runpy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from tests.mle_bench import kinds
from tests.mle_bench.kinds import Cells, Kind

TRUE_OR_FALSE = (False, True)
Extra = Callable[[Random, int], object]


@dataclass(frozen=True)
class Shape:
    """One competition's tables."""

    key: tuple[str, ...]
    columns: tuple[str, ...]
    """Of a submission, without the key."""
    kind: Kind
    lower: bool = False
    """Whether a lower score is better; for the leaderboard that is made where the real one is a pointer."""
    worst: float = 1.0
    """The last score of that leaderboard, where lower is better."""
    ids: Callable[[int], Cells] = lambda place: (f"r{place:04d}",)
    extra: Mapping[str, Extra] = field(default_factory=dict)
    """Columns that only the answers have."""
    renamed: Mapping[str, str] = field(default_factory=dict)
    """The answers' names of prediction columns."""
    rows: int = 60
    special: str = ""
    """Answers that are no table with a row for each row of a submission: `boxes` or `questions`."""
    not_scored: Cells = ()
    """What the answers have for rows that do not count, a quarter of them; empty: all rows count."""


def classes(repository: Path, place: str, name: str = "CLASSES") -> tuple[str, ...]:
    """Return a list of classes that a file of the repository has."""
    return tuple(runpy.run_path(str(repository / "mlebench/competitions" / place))[name])


def _one(key: str, column: str, kind: Kind, **more: object) -> Shape:
    return Shape((key,), (column,), kind, **more)


def _whole(place: int) -> Cells:
    return (place + 1,)


def _bird(rng: Random) -> str:
    numbers = " ".join([*f"{rng.uniform(0, 9):.2f} {rng.uniform(0, 9):.2f}".split(), "1.0", "2.0", "4.0", "1.5"])
    return f"1.0 {numbers} 0.2 {rng.choice(('car', 'bus'))}"


def _pixels(rng: Random) -> str:
    x, y = rng.randint(0, 50), rng.randint(0, 50)
    return f"{rng.choice(('opacity', 'negative'))} {rng.random():.3f} {x} {y} {x + 20} {y + 20}"


def _lesion(rng: Random) -> str:
    x, y = rng.randint(0, 50), rng.randint(0, 50)
    return f"{rng.randint(0, 3)} 1.0 {x} {y} {x + 20} {y + 20}"


def _pages() -> Kind:
    """Letters with boxes; a prediction has a point in each."""

    def letter(rng: Random) -> str:
        return f"U+{rng.randint(3040, 3044)} {rng.randint(0, 90)} {rng.randint(0, 90)} 8 8"

    def point(cells: Cells) -> Cells:
        parts = str(cells[0]).split()
        found = zip(parts[0::5], parts[1::5], parts[2::5], strict=True)
        return (" ".join(f"{name} {int(x) + 1} {int(y) + 1}" for name, x, y in found),)

    def noisy(rng: Random, cells: Cells) -> Cells:
        parts = str(cells[0]).split()
        points = [parts[at : at + 3] for at in range(0, len(parts), 3)]
        kept = [one for one in points if rng.random() < 0.7] or points[:1]
        return (" ".join(" ".join(one) for one in kept),)

    def truth(rng: Random) -> Cells:
        return (" ".join(letter(rng) for _ in range(rng.randint(1, 4))),)

    return Kind(truth, noisy, ("U+003F 1 1 U+FF2F 2 2",), point)


def _spans() -> Kind:
    def truth(rng: Random) -> object:
        start = rng.randint(0, 40)
        return rng.choice(("", f"{start}:{start + 5}", f"{start}:{start + 5}"))

    return kinds.one(truth, lambda rng, true: "" if rng.random() < 0.3 else true, "")


def _place() -> Kind:
    """Latitude and longitude near one another."""

    def noisy(rng: Random, cells: Cells) -> Cells:
        return tuple(round(float(cell) + rng.gauss(0, 1e-5), 9) for cell in cells)

    def truth(rng: Random) -> Cells:
        return round(37 + rng.random() / 100, 9), round(-122 + rng.random() / 100, 9)

    return Kind(truth, noisy, (37.0, -122.0))


def _capacity() -> Kind:
    """Volume and confidence."""

    def noisy(rng: Random, cells: Cells) -> Cells:
        volume = cells[0] if cells[0] != "" else 2000
        return round(float(volume) + rng.gauss(0, 150)), rng.choice((50, 100, 200))

    return Kind(lambda rng: (rng.randint(1500, 4000), 100), noisy, (2000, 100))


def _known(rng: Random, place: int) -> object:
    return int(place % 3 > 0)


_TEN = tuple(range(10))
_WORDS = ("yes", "no", "up", "down", "left", "silence")
_TAGS = ("c", "java", "php", "css", "sql", "regex")
_NUMBERS = tuple(str(1000 + place) for place in range(12))
_IDENTITIES = ("male", "female", "homosexual_gay_or_lesbian", "christian", "jewish", "muslim", "black", "white")


def shapes(repository: Path) -> dict[str, Shape]:
    """Return the shape of every competition, by id."""
    return {**_probabilities(repository), **_labels(), **_texts(), **_quantities(repository), **_pictures()}


def _probabilities(repository: Path) -> dict[str, Shape]:
    def several(key: str, names: Sequence[str], **more: object) -> Shape:
        return Shape((key,), tuple(names), kinds.columns(kinds.chance(), len(names)), **more)

    def exclusive(key: str, names: Sequence[str]) -> Shape:
        # graders of classes that are rare in sixty rows need all of them
        return Shape((key,), tuple(names), kinds.one_of(len(names)), lower=True, worst=5.0)

    def of(place: str, name: str = "CLASSES") -> tuple[str, ...]:
        return classes(repository, place, name)

    votes = of("hms-harmful-brain-activity-classification/constants.py", "TARGET_COLS")
    bones = ("C1", "C2", "C3", "C4", "C5", "C6", "C7", "patient_overall")
    return {
        "aerial-cactus-identification": _one("id", "has_cactus", kinds.chance()),
        "alaska2-image-steganalysis": _one("Id", "Label", kinds.chance(0)),
        "detecting-insults-in-social-commentary": Shape(
            ("Comment",),
            ("Insult",),
            kinds.chance(0),
            ids=lambda place: (f'"You, {place - place % 30 // 29}"',),
            extra={"Date": lambda rng, place: f"201206{place % 30 + 1:02d}", "Usage": lambda rng, place: "PrivateTest"},
        ),
        "histopathologic-cancer-detection": _one("id", "label", kinds.chance(0)),
        "invasive-species-monitoring": _one("name", "invasive", kinds.chance(), ids=_whole),
        "mlsp-2013-birds": _one(
            "Id", "Probability", kinds.chance(0), ids=lambda place: (place // 19 * 100 + place % 19,)
        ),
        "random-acts-of-pizza": _one("request_id", "requester_received_pizza", kinds.chance(0)),
        "rsna-miccai-brain-tumor-radiogenomic-classification": _one(
            "BraTS21ID", "MGMT_value", kinds.chance(), ids=lambda place: (f"{place:05d}",)
        ),
        "seti-breakthrough-listen": _one("id", "target", kinds.chance()),
        "siim-isic-melanoma-classification": _one("image_name", "target", kinds.chance(0)),
        "tabular-playground-series-may-2022": _one(
            "id", "target", kinds.chance(), ids=_whole, extra={"f_00": lambda rng, place: round(rng.gauss(0, 1), 4)}
        ),
        "the-icml-2013-whale-challenge-right-whale-redux": _one("clip", "probability", kinds.chance(0)),
        "jigsaw-toxic-comment-classification-challenge": several(
            "id", of("jigsaw-toxic-comment-classification-challenge/classes.py"), not_scored=(-1,) * 6
        ),
        "plant-pathology-2020-fgvc7": several("image_id", ("healthy", "multiple_diseases", "rust", "scab")),
        "playground-series-s3e18": several("id", ("EC1", "EC2"), ids=_whole),
        "ranzcr-clip-catheter-line-classification": several(
            "StudyInstanceUID", of("ranzcr-clip-catheter-line-classification/classes.py")
        ),
        "freesound-audio-tagging-2019": several(
            "fname", of("freesound-audio-tagging-2019/vocabulary.py", "CLASS_NAMES")
        ),
        "jigsaw-unintended-bias-in-toxicity-classification": Shape(
            ("id",),
            ("prediction",),
            kinds.chance(0.0),
            renamed={"prediction": "toxicity"},
            ids=_whole,
            rows=400,
            extra={
                **dict.fromkeys((*_IDENTITIES, "psychiatric_or_mental_illness"), lambda rng, place: rng.randint(0, 1)),
                "comment_text": lambda rng, place: f"comment {place}",
            },
        ),
        "rsna-breast-cancer-detection": _one("prediction_id", "cancer", kinds.chance(0)),
        "dogs-vs-cats-redux-kernels-edition": _one("id", "label", kinds.chance(), lower=True, ids=_whole),
        "statoil-iceberg-classifier-challenge": _one("id", "is_iceberg", kinds.chance(), lower=True),
        "dog-breed-identification": exclusive("id", of("dog-breed-identification/dogs.py", "DOGS_LIST")),
        "leaf-classification": exclusive("id", of("leaf-classification/classes.py")),
        "spooky-author-identification": exclusive("id", of("spooky-author-identification/classes.py")),
        "lmsys-chatbot-arena": exclusive("id", ("winner_model_a", "winner_model_b", "winner_tie")),
        "hms-harmful-brain-activity-classification": Shape(
            ("eeg_id",), votes, kinds.votes(len(votes)), lower=True, ids=_whole
        ),
        "rsna-2022-cervical-spine-fracture-detection": _one(
            "row_id",
            "fractured",
            kinds.chance(),
            lower=True,
            ids=lambda place: (f"1.2.{place // 8}_{bones[place % 8]}",),
            rows=80,
        ),
    }


def _labels() -> dict[str, Shape]:
    return {
        "cassava-leaf-disease-classification": _one("image_id", "label", kinds.label(_TEN[:5])),
        "cdiscount-image-classification-challenge": _one(
            "_id", "category_id", kinds.label([1000010653 + place for place in range(6)]), ids=_whole
        ),
        "iwildcam-2020-fgvc7": _one("Id", "Category", kinds.label(_TEN)),
        "ml2021spring-hw2": _one("Id", "ClassId", kinds.label(_TEN), ids=_whole),
        "movie-review-sentiment-analysis-kernels-only": _one(
            "PhraseId", "Sentiment", kinds.label(_TEN[:5]), ids=_whole
        ),
        "paddy-disease-classification": _one("image_id", "label", kinds.label(("blast", "hispa", "normal", "tungro"))),
        "plant-seedlings-classification": _one(
            "file", "species", kinds.label(("Black-grass", "Common Chickweed", "Maize"))
        ),
        "spaceship-titanic": _one(
            "PassengerId",
            "Transported",
            kinds.label(TRUE_OR_FALSE),
            ids=lambda place: (f"{place // 2:04d}_{place % 2 + 1:02d}",),
            extra={"Age": lambda rng, place: rng.randint(1, 80)},
        ),
        "tabular-playground-series-dec-2021": _one(
            "Id",
            "Cover_Type",
            kinds.label((1, 2, 3, 4, 6, 7)),
            ids=_whole,
            extra={"Slope": lambda rng, place: rng.randint(0, 60)},
        ),
        "tensorflow-speech-recognition-challenge": _one("fname", "label", kinds.label(_WORDS)),
        "aptos2019-blindness-detection": _one("id_code", "diagnosis", kinds.label(_TEN[:5])),
        "learning-agency-lab-automated-essay-scoring-2": _one("essay_id", "score", kinds.label((1, 2, 3, 4, 5, 6))),
        **{
            slug: _one("Id", "Predicted", kinds.label(_TEN), ids=_whole)
            for slug in ("herbarium-2020-fgvc7", "herbarium-2021-fgvc8", "herbarium-2022-fgvc9")
        },
        "iwildcam-2019-fgvc6": _one("Id", "Category", kinds.label(_TEN)),
        "inaturalist-2019-fgvc6": _one("id", "predicted", kinds.label(_TEN), lower=True, ids=_whole),
        "nfl-player-contact-detection": _one("contact_id", "contact", kinds.label((0, 1))),
        "facebook-recruiting-iii-keyword-extraction": _one("Id", "Tags", kinds.listed(_TAGS), ids=_whole),
        "imet-2020-fgvc7": _one("id", "attribute_ids", kinds.listed(_NUMBERS)),
        "plant-pathology-2021-fgvc8": _one("image", "labels", kinds.listed(("healthy", "scab", "rust", "complex"))),
        "hotel-id-2021-fgvc8": _one("image", "hotel_id", kinds.listed(_NUMBERS, 5, ranked=True)),
        "h-and-m-personalized-fashion-recommendations": _one("customer_id", "prediction", kinds.listed(_NUMBERS, 9)),
        "whale-categorization-playground": _one("Image", "Id", kinds.listed(("new_whale", *_NUMBERS), 5, ranked=True)),
    }


def _texts() -> dict[str, Shape]:
    def token(place: int) -> Cells:
        return (f"{place // 7}_{place % 7}",)

    return {
        "billion-word-imputation": _one("id", "sentence", kinds.sentence(5), lower=True, worst=40.0, ids=_whole),
        "bms-molecular-translation": _one("image_id", "InChI", kinds.sentence(1, 2), lower=True, worst=40.0),
        "chaii-hindi-and-tamil-question-answering": _one("id", "PredictionString", kinds.sentence(1, 4)),
        "tweet-sentiment-extraction": _one("textID", "selected_text", kinds.sentence()),
        "multi-modal-gesture-recognition": _one(
            "Id", "Sequence", kinds.listed([str(place) for place in range(1, 21)], 8), lower=True, ids=_whole
        ),
        "AI4Code": _one("id", "cell_order", kinds.order(("ad3f", "be21", "c0d9", "d77a", "e5a1"))),
        "text-normalization-challenge-english-language": _one(
            "id", "after", kinds.label(("one", "twenty, two", ".", "mister")), ids=token
        ),
        "text-normalization-challenge-russian-language": _one(
            "id", "after", kinds.label(("один", "два", ".", "сто")), ids=token
        ),
        "tensorflow2-question-answering": _one(
            "example_id",
            "PredictionString",
            _spans(),
            special="questions",
            ids=lambda place: (f"{place // 2}_{'long' if place % 2 else 'short'}",),
        ),
    }


def _quantities(repository: Path) -> dict[str, Shape]:
    degradation = ("reactivity", "deg_Mg_pH10", "deg_pH10", "deg_Mg_50C", "deg_50C")
    quest = classes(repository, "google-quest-challenge/classes.py")
    return {
        "denoising-dirty-documents": _one(
            "id", "value", kinds.number(0, 1, 6), lower=True, ids=lambda at: (f"1_{at % 8}_{at // 8}",)
        ),
        "new-york-city-taxi-fare-prediction": _one(
            "key", "fare_amount", kinds.number(3, 60, 2), lower=True, worst=20.0
        ),
        "petfinder-pawpularity-score": _one("Id", "Pawpularity", kinds.number(1, 100, 0), lower=True, worst=40.0),
        "predict-volcanic-eruptions-ingv-oe": _one(
            "segment_id", "time_to_eruption", kinds.number(0, 5e7, 0), lower=True, worst=2e7, ids=_whole
        ),
        "nomad2018-predict-transparent-conductors": Shape(
            ("id",),
            ("formation_energy_ev_natom", "bandgap_energy_ev"),
            kinds.columns(kinds.number(0, 5), 2),
            lower=True,
            ids=_whole,
            extra={"spacegroup": lambda rng, place: rng.randint(1, 230)},
        ),
        "us-patent-phrase-to-phrase-matching": _one("id", "score", kinds.number(0, 1)),
        "icecube-neutrinos-in-deep-ice": Shape(
            ("event_id",), ("azimuth", "zenith"), kinds.angles(), lower=True, worst=2.0, ids=_whole
        ),
        "google-quest-challenge": Shape(("qa_id",), quest, kinds.columns(kinds.number(0, 1), len(quest)), ids=_whole),
        "champs-scalar-coupling": _one(
            "id",
            "scalar_coupling_constant",
            kinds.number(-20, 200),
            lower=True,
            worst=5.0,
            ids=_whole,
            extra={"type": lambda rng, place: ("1JHC", "2JHH", "3JHN")[place % 3]},
        ),
        "stanford-covid-vaccine": Shape(
            ("id_seqpos",),
            degradation,
            kinds.columns(kinds.number(-1, 3), 5),
            lower=True,
            ids=lambda place: (f"id_{place // 12}_{place % 12}",),
            extra={"keep": lambda rng, place: place % 12 < 8},
        ),
        "ventilator-pressure-prediction": _one(
            "id", "pressure", kinds.number(0, 60), lower=True, worst=20.0, ids=_whole, extra={"u_out": _known}
        ),
        "osic-pulmonary-fibrosis-progression": Shape(
            ("Patient_Week",),
            ("FVC", "Confidence"),
            _capacity(),
            ids=lambda place: (f"ID{place // 12:03d}_{place % 12}",),
            extra={"Patient": lambda rng, place: f"ID{place // 12:03d}"},
            not_scored=("", 100),
        ),
        "smartphone-decimeter-2022": Shape(
            ("tripId", "UnixTimeMillis"),
            ("LatitudeDegrees", "LongitudeDegrees"),
            _place(),
            lower=True,
            worst=200.0,
            ids=lambda place: (f"2021/{('Pixel5', 'Mi8')[place // 30]}", 1_600_000_000_000 + place % 30 * 1000),
        ),
    }


def _pictures() -> dict[str, Shape]:
    def size(height: str, width: str, many: int) -> dict[str, Extra]:
        return {height: lambda rng, place: many, width: lambda rng, place: many}

    return {
        "google-research-identify-contrails-reduce-global-warming": _one(
            "record_id", "encoded_pixels", kinds.mask(16, 16, empty="-"), extra=size("height", "width", 16)
        ),
        "hubmap-kidney-segmentation": _one(
            "id",
            "predicted",
            kinds.mask(20, 20, empties=0.0),
            renamed={"predicted": "encoding"},
            extra=size("width_pixels", "height_pixels", 20),
        ),
        "tgs-salt-identification-challenge": _one("id", "rle_mask", kinds.mask(101, 101)),
        "uw-madison-gi-tract-image-segmentation": Shape(
            ("id", "class"),
            ("predicted",),
            kinds.mask(12, 12),
            ids=lambda at: (
                f"case1_day{at // 30}_slice_{at // 3 % 10:04d}",
                ("large_bowel", "small_bowel", "stomach")[at % 3],
            ),
            extra=size("image_height", "image_width", 12),
        ),
        "vesuvius-challenge-ink-detection": _one(
            "Id",
            "Predicted",
            kinds.mask(40, 40, empties=0.0),
            rows=1,
            ids=lambda at: ("a",),
            extra=size("width", "height", 40),
        ),
        "3d-object-detection-for-autonomous-vehicles": _one("Id", "PredictionString", kinds.boxes(_bird), rows=20),
        "siim-covid19-detection": _one("id", "PredictionString", kinds.boxes(_pixels, "none 1 0 0 1 1")),
        "vinbigdata-chest-xray-abnormalities-detection": _one(
            "image_id", "PredictionString", kinds.boxes(_lesion, "14 1.0 0 0 1 1"), special="boxes"
        ),
        "kuzushiji-recognition": _one("image_id", "labels", _pages()),
    }
