from scrapers.snapshots.times import parse_times

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
