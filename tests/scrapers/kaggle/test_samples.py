"""Tests of which file is taken for the sample submission."""

import pytest

from scrapers.kaggle.samples import find_samples


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
