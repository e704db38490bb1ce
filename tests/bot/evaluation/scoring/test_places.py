from bot.evaluation.scoring.places import TAKEN, Places


def test_each_place_is_taken_once_and_equal_ids_in_their_order():
    places = Places(["a", "b", "a", "a"])
    assert [places.take(one) for one in ("a", "b", "a", "b", "a", "a", "c")] == [0, 1, 2, TAKEN, 3, TAKEN, None]
    assert places.first_free() is None


def test_the_first_free_place_names_its_id():
    places = Places(["a", "b", "a"])
    places.take("a")
    assert places.first_free() == "a"
    places.take("a")
    assert places.first_free() == "b"
