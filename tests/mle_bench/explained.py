"""What of MLE-bench is not imported, and where the graders differ on purpose: each with its reason, in one sentence."""

from collections.abc import Mapping

NOT_HELD: Mapping[str, str] = {
    "3d-object-detection-for-autonomous-vehicles": "its grader needs pyquaternion, which is no dependency of the bot",
    "vinbigdata-chest-xray-abnormalities-detection": "its grader needs pycocotools, which is no dependency of the bot",
}
"""By competition."""

_BY_PLACE = "there rows are compared by their place in the file, here by their key"
_MISSING = "there missing rows are not noticed, here they are refused"
_UNDEFINED = "constant predictions have no correlation: a valid NaN there, no score here"

DIFFERENT: Mapping[tuple[str, str], str] = {
    ("champs-scalar-coupling", "perfect"): "the logarithm of no error is minus infinity: valid there, no score here",
    ("google-quest-challenge", "sample"): _UNDEFINED,
    ("imet-2020-fgvc7", "sample"): "there a file of one attribute a row is read as numbers, on which the grader fails",
    ("nomad2018-predict-transparent-conductors", "reordered"): _BY_PLACE,
    ("osic-pulmonary-fibrosis-progression", "short"): _MISSING,
    ("smartphone-decimeter-2022", "reordered"): _BY_PLACE,
    (
        "stanford-covid-vaccine",
        "reordered",
    ): "there the rows that count are found by their place in the file, here by their id",
    (
        "tensorflow2-question-answering",
        "sample",
    ): "the pandas of today refuses what its grader does to a file of empty answers",
    ("us-patent-phrase-to-phrase-matching", "sample"): _UNDEFINED,
    ("uw-madison-gi-tract-image-segmentation", "reordered"): _BY_PLACE,
    ("uw-madison-gi-tract-image-segmentation", "short"): _MISSING,
}
"""By competition and submission."""
