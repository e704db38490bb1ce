"""Events of a stream, whatever pieces the network makes of it."""

import asyncio
from collections.abc import AsyncIterator

from hypothesis import given
from hypothesis import strategies as st

from bot.coder.gateway.exchange import split_events

LINES = st.sampled_from([b"data: 1", b"event: x", b": note", b"data: \xc3\xa9", b"\n", b"\r\n", b"\r"])


@given(st.lists(LINES, max_size=30).map(b"".join), st.lists(st.integers(1, 5), min_size=1, max_size=20))
def test_the_same_events_come_however_the_stream_is_cut(stream: bytes, sizes: list[int]) -> None:
    async def split(cuts: list[int]) -> list[bytes]:
        async def pieces() -> AsyncIterator[bytes]:
            start, number = 0, 0
            while start < len(stream):
                yield stream[start : start + cuts[number % len(cuts)]]
                start, number = start + cuts[number % len(cuts)], number + 1

        return [event async for event in split_events(pieces())]

    whole, cut = asyncio.run(split([max(1, len(stream))])), asyncio.run(split(sizes))
    assert whole == cut
    # What is left out at the end is blank, and what is added is the blank line that an event has at its end.
    assert b"".join(whole).startswith(stream.rstrip()) and b"".join(whole).rstrip() == stream.rstrip()
