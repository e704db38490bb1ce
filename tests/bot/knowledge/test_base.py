"""The entries that come with the bot and those of the owner's folder: what one may hold."""

import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.knowledge.base import SHIPPED, KnowledgeBase, read_folder, write_entry
from bot.knowledge.entry import format_entry, parse_entry
from bot.knowledge.labels import categories, labels, labels_in
from scrapers.snapshots.manifest import MANIFEST
from state.errors import FileProblems
from tests.bot.knowledge.parts import FIELDS, KNOWN, entry


def test_every_category_has_a_paper_or_a_trick_and_all_are_in_order():
    entries, problems = read_folder(SHIPPED)
    assert problems == []
    assert len(entries) >= 450
    tops = {label.partition("/")[0] for one in entries for label in one.labels}
    assert tops == set(categories())
    assert len(tops) == 11
    assert {label for one in entries for label in one.labels} == set(labels())


def test_every_shipped_source_is_public():
    assert all(source.url for one in KnowledgeBase.read().entries for source in one.sources)


ENDS = tomllib.loads(Path(__file__).with_name("ends.toml").read_text(encoding="utf-8"))


def test_no_shipped_entry_is_known_before_a_competition_that_it_draws_on_has_ended():
    drawn = [(one, slug) for one in KnowledgeBase.read().entries for slug in one.competitions]
    assert {slug for _, slug in drawn} == ENDS.keys()
    assert [slug for one, slug in drawn if f"{one.known_at:%Y-%m-%d}" < ENDS[slug]] == []


@pytest.mark.integration
def test_no_shipped_entry_draws_on_a_snapshot(snapshots: Path):
    slugs = {path.parent.name for path in snapshots.glob(f"*/{MANIFEST}")}
    assert slugs
    for one in KnowledgeBase.read().entries:
        assert not slugs & set(one.competitions)
        assert not any(slug in one.claim or slug in str(one.sources) for slug in slugs)


def test_an_own_entry_replaces_a_shipped_one_of_the_same_id(tmp_path):
    shipped = KnowledgeBase.read().entries[0]
    own = entry(shipped.id, "What the owner knows better than the list.")
    write_entry(tmp_path, own)
    read = {one.id: one for one in KnowledgeBase.read(tmp_path).entries}
    assert read[shipped.id] == own
    assert len(read) == len(KnowledgeBase.read().entries)


def test_a_wrong_file_is_named_and_left_out(tmp_path):
    (tmp_path / "other-name.md").write_text(format_entry(entry("some-id")))
    (tmp_path / "broken.md").write_text("no entry")
    write_entry(tmp_path, entry("good-one"))
    base, shipped = KnowledgeBase.read(tmp_path), {entry.id for entry in KnowledgeBase.read().entries}
    broken, misnamed = map(str, base.problems)
    assert "broken.md:1" in broken
    assert "must be named some-id.md" in misnamed
    assert {entry.id for entry in base.entries} - shipped == {"good-one"}


def test_a_folder_that_is_not_there_holds_nothing(tmp_path):
    assert KnowledgeBase.read(tmp_path / "none") == KnowledgeBase.read()


def test_rules_find_labels_by_the_words_of_a_text():
    found = labels_in("Which birds call in these audio recordings of a soundscape? Birds, birds.")
    assert found[0] == "audio/sound-events"
    assert "audio/audio-classification" in found
    assert labels_in("Nothing to see.") == []


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
        (('url = "https://arxiv.org/abs/1902.01234"\n', ""), "requires either a url or a path"),
        (('title = "A paper"\nurl = "https://arxiv.org/abs/1902.01234"\n', 'title = "A paper"\nurl = "soon"\n'), "url"),
        (("known_at = 2019-03-01\n", ""), "known_at: Field required"),
        (("known_at = 2019-03-01\n", "known_at = 2019-03-01T10:00:00\n"), "must be a date, or a time with a time zone"),
        (("known_at = 2019-03-01\n", "known_at = 2018-03-01\n"), "is dated before its source"),
        (('["method/ensembling"]', '["method/ensemble"]'), "did you mean method/ensembling?"),
        (('["method/ensembling"]', "[]"), "labels"),
        (('licence = "CC-BY-4.0"\n', ""), "licence: Field required"),
        (('kind = "trick"', 'kind = "paper"'), "the table [paper]"),
        (('support = "measured"', 'support = "certain"'), "support"),
        (("Under AUC average the ranks of members, not their probabilities.", ""), "claim"),
        (("+++\nid", "id"), "must start with TOML between two +++ lines"),
        (('id = "rank-average"', 'id = "rank-average'), "is not valid TOML"),
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
