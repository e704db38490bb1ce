"""The entries that come with the bot, and those of the owner's folder."""

from pathlib import Path

import pytest

from bot.knowledge.base import SHIPPED, KnowledgeBase, read_folder, write_entry
from bot.knowledge.entry import format_entry
from bot.knowledge.labels import categories, labels, labels_in
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


ENDS = {
    "ai-mathematical-olympiad-prize": "2024-06-27",
    "allstate-claims-severity": "2016-12-12",
    "avazu-ctr-prediction": "2015-02-09",
    "birdclef-2021": "2021-06-01",
    "bnp-paribas-cardif-claims-management": "2016-04-18",
    "carvana-image-masking-challenge": "2017-09-27",
    "champs-scalar-coupling": "2019-08-28",
    "criteo-display-ad-challenge": "2014-09-23",
    "data-science-bowl-2017": "2017-04-12",
    "expedia-personalized-sort": "2013-11-04",
    "google-quest-challenge": "2020-02-10",
    "grasp-and-lift-eeg-detection": "2015-08-31",
    "h-and-m-personalized-fashion-recommendations": "2022-05-09",
    "ieee-fraud-detection": "2019-10-03",
    "landmark-recognition-2020": "2020-09-29",
    "m5-forecasting-accuracy": "2020-06-30",
    "mercedes-benz-greener-manufacturing": "2017-07-10",
    "open-images-2019-object-detection": "2019-10-01",
    "otto-group-product-classification-challenge": "2015-05-18",
    "photoqualityprediction": "2011-11-20",
    "pkdd-15-predict-taxi-service-trajectory-i": "2015-07-01",
    "porto-seguro-safe-driver-prediction": "2017-11-29",
    "rossmann-store-sales": "2015-12-14",
    "santander-customer-satisfaction": "2016-05-02",
    "santander-customer-transaction-prediction": "2019-04-10",
    "santander-value-prediction-challenge": "2018-08-20",
    "siim-isic-melanoma-classification": "2020-08-17",
    "stanford-covid-vaccine": "2020-10-06",
    "text-normalization-challenge-english-language": "2017-11-28",
    "text-normalization-challenge-russian-language": "2017-11-28",
    "walmart-recruiting-trip-type-classification": "2015-12-27",
    "web-traffic-time-series-forecasting": "2017-11-15",
}
NEVER_ENDS = {"house-prices-advanced-regression-techniques"}


def test_no_shipped_entry_is_known_before_a_competition_that_it_draws_on_has_ended():
    drawn = [(one, slug) for one in KnowledgeBase.read().entries for slug in one.competitions]
    assert {slug for _, slug in drawn} == ENDS.keys() | NEVER_ENDS
    assert [slug for one, slug in drawn if f"{one.known_at:%Y-%m-%d}" < ENDS.get(slug, "")] == []


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


@pytest.mark.integration
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
