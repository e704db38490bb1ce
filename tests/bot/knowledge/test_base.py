"""The entries that come with the bot, and those of the owner's folder."""

from pathlib import Path

import pytest

from bot.knowledge.base import SHIPPED, KnowledgeBase, read_folder
from bot.knowledge.entry import format_entry
from bot.knowledge.labels import categories, labels, labels_in
from bot.knowledge.writing import write_entry
from scrapers.snapshots.manifest import MANIFEST
from tests.bot.knowledge.parts import entry


def test_every_category_has_a_paper_or_a_trick_and_all_are_in_order():
    entries, problems = read_folder(SHIPPED)
    assert problems == []
    assert len(entries) >= 40
    tops = {label.partition("/")[0] for one in entries for label in one.labels}
    assert tops == set(categories())
    assert len(tops) == 11
    assert {label for one in entries for label in one.labels} == set(labels())


def test_every_shipped_source_is_public():
    assert all(source.url for one in KnowledgeBase.read().entries for source in one.sources)


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
    base = KnowledgeBase.read(tmp_path)
    broken, misnamed = map(str, base.problems)
    assert "broken.md:1" in broken
    assert "must be called some-id.md" in misnamed
    assert [one.id for one in base.entries if one not in KnowledgeBase.read().entries] == ["good-one"]


def test_a_folder_that_is_not_there_holds_nothing(tmp_path):
    assert KnowledgeBase.read(tmp_path / "none") == KnowledgeBase.read()


def test_rules_find_labels_by_the_words_of_a_text():
    found = labels_in("Which birds call in these audio recordings of a soundscape? Birds, birds.")
    assert found[0] == "audio/sound-events"
    assert "audio/audio-classification" in found
    assert labels_in("Nothing to see.") == []
