"""Entries as files: what a person may write, and what is refused."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.knowledge.entry import format_entry, parse_entry
from bot.knowledge.labels import labels
from state.errors import FileProblems
from tests.bot.knowledge.parts import FIELDS, KNOWN, entry

FILE = """+++
id = "rank-average"
kind = "trick"
title = "Average ranks"
labels = ["method/ensembling"]
known_at = 2019-03-01
competitions = ["some-competition"]
support = "measured"
evidence = "With and without."

[[sources]]
title = "A paper"
url = "https://arxiv.org/abs/1902.01234"
licence = "CC-BY-4.0"
+++
Under AUC average the ranks of members, not their probabilities.
"""

TEXTS = st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=20, max_size=60).filter(
    lambda text: text == text.strip() and len(text) >= 20
)


def test_a_file_is_read_and_a_bare_date_counts_from_the_end_of_its_day():
    read = parse_entry(FILE)
    assert (read.id, read.labels, read.competitions) == ("rank-average", ("method/ensembling",), ("some-competition",))
    assert read.known_at == datetime(2019, 3, 1, 23, 59, 59, tzinfo=UTC)
    assert read.claim.startswith("Under AUC")


@settings(max_examples=40)
@given(
    title=TEXTS,
    claim=TEXTS,
    evidence=TEXTS,
    after=st.integers(0, 10**9),
    chosen=st.lists(st.sampled_from(sorted(labels())), min_size=1, max_size=3),
    paper=st.booleans(),
)
def test_what_is_written_is_read_back_the_same(title, claim, evidence, after, chosen, paper):
    made = entry(
        "some-id",
        claim,
        kind="paper" if paper else "lesson",
        title=title,
        evidence=evidence,
        labels=tuple(chosen),
        known_at=KNOWN + timedelta(seconds=after),
    )
    assert parse_entry(format_entry(made)) == made


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (('url = "https://arxiv.org/abs/1902.01234"\n', ""), "needs either a url or a path"),
        (('title = "A paper"\nurl = "https://arxiv.org/abs/1902.01234"\n', 'title = "A paper"\nurl = "soon"\n'), "url"),
        (("known_at = 2019-03-01\n", ""), "known_at: Field required"),
        (("known_at = 2019-03-01\n", "known_at = 2019-03-01T10:00:00\n"), "needs a time zone"),
        (("known_at = 2019-03-01\n", "known_at = 2018-03-01\n"), "is dated before its source"),
        (('["method/ensembling"]', '["method/ensemble"]'), "did you mean method/ensembling?"),
        (('["method/ensembling"]', "[]"), "labels"),
        (('licence = "CC-BY-4.0"\n', ""), "licence: Field required"),
        (('kind = "trick"', 'kind = "paper"'), "has the table [paper]"),
        (('support = "measured"', 'support = "certain"'), "support"),
        (("Under AUC average the ranks of members, not their probabilities.", ""), "claim"),
        (("+++\nid", "id"), "must begin with +++"),
        (('id = "rank-average"', 'id = "rank-average'), "is no TOML"),
        (('id = "rank-average"', 'id = "rank-average"\nvotes = 3'), "votes"),
    ],
)
def test_an_entry_without_labels_of_the_set_a_date_or_a_source_is_refused(change, complaint):
    text = FILE.replace(*change)
    assert text != FILE
    with pytest.raises(FileProblems) as refused:
        parse_entry(text)
    assert complaint in str(refused.value)


def test_a_papers_fields_are_searched():
    assert FIELDS.contribution in entry("a-paper", kind="paper").searched
