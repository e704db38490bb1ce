"""Reasons, counted with examples."""

from scrapers.imports.mle_live.tally import Tally


def test_a_tally_counts_all_and_keeps_a_few_examples():
    tally = Tally()
    for id in range(5):
        tally.add("kernels without a text", str(id))
    tally.add("topics that are empty", "x" * 500)
    first, second = tally.reasons
    assert str(first) == "5 kernels without a text (0, 1, 2 …)"
    assert second.count == 1
    assert len(second.examples[0]) < 100
