import random

from bot.evaluation.views.timeline import train_stretches


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
