import random

from bot.evaluation.views.timeline import parse_times, train_stretches

DAY = 86400.0


def test_common_ways_to_write_a_time_are_read():
    assert parse_times(["1970-01-02", "1970-01-01 12:00:00"]) == [DAY, DAY / 2]
    assert parse_times(["1970-01-01T01:00:00+01:00"]) == [0.0]
    assert parse_times(["01/13/1970"]) == [12 * DAY]
    assert parse_times(["13/01/1970 00:00"]) == [12 * DAY]
    assert parse_times(["1970/01/13 00:00:00"]) == [12 * DAY]
    assert parse_times(["13.01.1970 12:00", "02.01.1970 00:00"]) == [12.5 * DAY, DAY]
    assert parse_times(["13-Jan-1970", "02-Jan-1970"]) == [12 * DAY, DAY]
    assert parse_times(["Jan 13, 1970"]) == [12 * DAY]
    assert parse_times(["1/31/70 6:00 PM"]) == [30.75 * DAY]


def test_numbers_and_text_are_no_times():
    assert parse_times(["20110101", "20110102"]) is None
    assert parse_times(["1970-01-02", "soon"]) is None
    assert parse_times(["1.2.10", "1.2.11"]) is None, "a version"
    assert parse_times([]) is None


def test_a_test_set_after_the_training_rows_leaves_one_stretch():
    assert set(train_stretches(range(100), range(100, 120)).values()) == {0}


def test_blocks_in_turn_give_one_stretch_each():
    train = [30 * month + day for month in range(12) for day in range(19)]
    test = [30 * month + day for month in range(12) for day in range(19, 30)]
    stretches = train_stretches(train, test)
    assert [stretches[30 * month + 5] for month in range(12)] == list(range(12))


def test_randomly_mixed_times_are_no_split_by_time():
    for seed in range(20):
        times = list(range(300))
        random.Random(seed).shuffle(times)
        assert train_stretches(times[:200], times[200:]) is None


def test_a_time_in_both_is_no_split_by_time():
    assert train_stretches([float(t) for t in range(100)], [50.0, 200.0]) is None
