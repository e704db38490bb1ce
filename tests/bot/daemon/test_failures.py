"""Failures as events: words in one line, and where it was raised."""

from bot.daemon.failures import TRACE_CHARACTERS, record_failure, words_of
from state.errors import BotError
from state.store import Store
from tests.bot.daemon.parts import events_of


def test_an_error_of_ours_speaks_for_itself_and_any_other_has_its_type_before_it() -> None:
    assert words_of(BotError("the disk\n is full")) == "the disk is full"
    assert words_of(KeyError("x")) == "KeyError: 'x'"


def test_the_end_of_a_traceback_is_kept(store: Store) -> None:
    def deep(levels: int) -> None:
        if not levels:
            raise ValueError("at the bottom")
        deep(levels - 1)

    try:
        deep(200)
    except ValueError as error:
        error.add_note("x" * TRACE_CHARACTERS)
        error.add_note("the last line")
        with store.write() as tx:
            record_failure(tx, "loop.failed", error, loop="workers")
    (event,) = events_of(store, "loop.failed")
    assert (event["error"], event["loop"]) == ("ValueError: at the bottom", "workers")
    assert len(event["traceback"]) == TRACE_CHARACTERS
    assert event["traceback"].endswith("the last line\n")
