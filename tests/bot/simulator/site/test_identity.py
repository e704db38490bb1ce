"""Numbers on the wire: a row's own where it has one, and never the same for two rows of a site."""

from bot.simulator.site.identity import Numbers, wire_id


def test_a_row_that_stands_alone_has_the_number_of_its_id() -> None:
    assert Numbers().give("topic", "one", ["7", "t-8"]) == {"7": 7, "t-8": wire_id("topic", "t-8")}


def test_two_competitions_with_the_same_ids_have_different_numbers_always_the_same_ones() -> None:
    def given() -> list[dict[str, int]]:
        numbers = Numbers()
        return [numbers.give("topic", slug, ["7", "t-8"]) for slug in ("one", "two", "three")]

    found = [number for each in given() for number in each.values()]
    assert len(set(found)) == 6
    assert all(0 < number < 2**63 for number in found)
    assert given() == given()


def test_a_topic_and_a_message_may_have_the_same_number() -> None:
    numbers = Numbers()
    assert numbers.give("topic", "one", ["7"]) == numbers.give("message", "two", ["7"]) == {"7": 7}
