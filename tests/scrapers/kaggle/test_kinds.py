"""Kinds are recognised by Kaggle's own fields first; and which file is taken for the sample submission."""

import pytest

from scrapers.kaggle.competitions import CompetitionPage, KaggleCompetition
from scrapers.kaggle.kinds import HUGE_BYTES, KindName, kinds_of
from scrapers.kaggle.samples import find_samples
from scrapers.kaggle.search import CompetitionFacts

FACTS = CompetitionFacts(is_environment_evaluation=True)

PLAIN = "Submissions are judged on the area under the ROC curve. Judges are not asked."


def found(*pages: tuple[str, str], facts: CompetitionFacts | None = None, size: int = 0, **fields: object) -> list[str]:
    competition = KaggleCompetition.model_validate({"ref": "https://www.kaggle.com/competitions/leaf", **fields})
    shown = [CompetitionPage(name=name, content=content) for name, content in pages]
    return [one.kind for one in kinds_of(competition, facts, shown, size)]


def test_most_competitions_are_of_no_kind() -> None:
    assert found(("evaluation", PLAIN), ("rules", "A panel of judges"), evaluation_metric="AUC", size=HUGE_BYTES) == []


def test_fields_decide_without_a_word_of_the_pages() -> None:
    assert found(is_kernels_submissions_only=True, evaluation_metric="AUC") == ["notebooks"]
    assert found(facts=FACTS, evaluation_metric="Custom") == ["simulation"]
    assert found(category="Analytics") == ["judged"]
    assert found(size=HUGE_BYTES + 1, evaluation_metric="AUC") == ["huge-data"]


@pytest.mark.parametrize(
    ("page", "text", "kind"),
    [
        ("evaluation", "Each submission plays <b>episodes</b> against bots of a similar skill rating.", "simulation"),
        ("description", "Agents run in kaggle-environments.", "simulation"),
        ("evaluation", "Submit your agent as a zip file.", "agents"),
        ("overview", "Agent submissions are run in a container.", "agents"),
        ("evaluation", "You may upload up to five coding agents a day.", "agents"),
        ("evaluation", "Teams are submitting one agent, which answers questions.", "agents"),
        ("evaluation", "Your entry consists of an autonomous agent.", "agents"),
        ("evaluation", "Uploaded models are run on a phone.", "models"),
        ("evaluation", "Submit a fine-tuned Gemma model.", "models"),
        ("evaluation", "Submitted models are loaded with vLLM.", "models"),
        ("evaluation", "To enter, submit a Kaggle Writeup by the deadline.", "hackathon"),
        ("evaluation", "<p>Your write-up is your submission.</p>", "hackathon"),
        ("evaluation", "A panel of judges will score your notebook by this rubric.", "judged"),
        ("judging-criteria", "The jury meets in May.", "judged"),
    ],
)
def test_words_decide_only_where_kaggle_names_no_metric(page: str, text: str, kind: KindName) -> None:
    assert found((page, text)) == [kind]
    assert found((page, text), evaluation_metric="AUC") == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The archive holds an <code>agent.yaml</code> at its top.", "agents"),
        ("Submit a LoRA adapter of rank 32 at most.", "models"),
        ("Submissions must contain your model weights and adapter_config.json.", "models"),
        ("You will be submitting a TensorFlow Lite model for this competition.", "models"),
        ("Your submission is a zip file with model.onnx at its top.", "models"),
    ],
)
def test_an_agents_file_or_weights_decide_even_where_kaggle_names_a_metric(text: str, kind: KindName) -> None:
    assert found(("evaluation", text), evaluation_metric="Custom Metric") == [kind]


def test_an_agent_that_plays_against_others_is_a_simulation() -> None:
    assert found(("evaluation", "Submit an agent. Each plays episodes; see agent.yaml.")) == ["simulation"]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("description", "Predict which estate agent sells a house; a model of the market."),
        ("data", "agents.csv: one line for each agent; weights: the weights of the rows."),
        ("evaluation", "For each id, submit the weight of the parcel."),
        ("evaluation", "Submit predictions for each agent in the scene."),
        ("data", "model.onnx: a model that was trained by the hosts."),
        ("prizes", "Winners submit a write-up to the judges."),
        ("rules", "Judges may disqualify a submission without a write-up."),
        ("description", "Predict the preferences of the judges by a rubric."),
        ("description", "Patients with stage 2 cancer; a two-stage detector."),
    ],
)
def test_judges_and_stages_that_are_no_kind_are_left_alone(page: str, text: str) -> None:
    assert found((page, text)) == []


def test_two_stages_are_found_beside_another_kind_and_quoted() -> None:
    text = "Welcome! This is a two-stage competition, with a collection stage. Good luck."
    assert found(("timeline", text), evaluation_metric="AUC", is_kernels_submissions_only=True) == [
        "notebooks",
        "two-stages",
    ]
    (one,) = kinds_of(
        KaggleCompetition(evaluation_metric="AUC"), None, [CompetitionPage(name="timeline", content=text)], 0
    )
    assert one.source == 'the page timeline: "This is a two-stage competition, with a collection stage."'


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["train.csv", "sample_submission.csv", "my_sample_submission.csv"], ["sample_submission.csv"]),
        (["train.csv", "sampleSubmission.csv"], ["sampleSubmission.csv"]),
        (["Sample-Submission.CSV", "submission_example.csv"], ["Sample-Submission.CSV"]),
        (["gender_submission.csv", "train.csv"], ["gender_submission.csv"]),
        (["sample_submissions_null.csv"], ["sample_submissions_null.csv"]),
        (["random_submission.csv", "old/submission.csv"], ["random_submission.csv"]),
        (["deep/er/sample_submission.csv", "deep/sampleSubmission.csv"], ["deep/sampleSubmission.csv"]),
        (
            ["stage1_sample_submission.csv", "stage2_sample_submission.csv"],
            ["stage1_sample_submission.csv", "stage2_sample_submission.csv"],
        ),
        (["sample_submission.parquet", "train.csv", "sample.csv", "test.csv"], []),
        (["sample_submission.csv.zip"], []),
        ([], []),
    ],
)
def test_the_sample_is_found_by_its_name(names: list[str], found: list[str]) -> None:
    assert list(find_samples(names)) == found
