"""Output as a coder reads it."""

import time

from bot.execution.output import clean_output


def test_progress_bars_and_colours_go():
    text = (
        "start\n\x1b[31mred\x1b[0m\n 45%|####      | 45/100 [00:01<00:01]\rdone\nEpoch 1/2 [====>.....] 1 it/s]\nend\n"
    )
    assert clean_output(text) == "start\nred\ndone\nend\n"


def test_the_last_traceback_comes_first():
    error = (
        'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    f()\nValueError: bad\nmore of it'
    )
    cleaned = clean_output("row\n" * 30 + error)
    assert cleaned.startswith("Traceback")
    assert "ValueError: bad" in cleaned.split("[earlier output]")[0]
    assert cleaned.rstrip().endswith("row")


def test_only_the_last_of_several_tracebacks_leads():
    first = "Traceback (most recent call last):\n  File\nKeyError: 1\n"
    second = "Traceback (most recent call last):\n  File\nTypeError: 2\n"
    assert clean_output(first + second).startswith("Traceback (most recent call last):\n  File\nTypeError: 2")


def test_long_lines_and_long_outputs_are_bounded():
    assert len(clean_output("x" * 5_000_000)) < 1_000
    assert len(clean_output("\n".join(f"line {i}" for i in range(100_000)))) < 7_000


def test_a_traceback_that_is_followed_by_much_output_is_bounded_too():
    text = "Traceback (most recent call last):\n  File\nTypeError: 2\n" + "later\n" * 50_000
    assert len(clean_output(text)) < 8_000
    assert "TypeError: 2" in clean_output(text)


def test_no_output_takes_long_to_clean():
    floods = ("1" * 1_000_000, "1/2" * 300_000, "1% " * 300_000, "[=" * 400_000, "\x1b[" * 400_000, "1%|" + "a" * 10**6)
    began = time.process_time()
    for flood in floods:
        clean_output(flood)
    assert time.process_time() - began < 5
