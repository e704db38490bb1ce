"""Discussions read from their text."""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.research.importers.mle_live.community import DiscussionThread, ThreadMessage, read_thread

TEXT = """# What works (so far)
(Ann O'Nym <TIER: 3>) I tried:

    + scaling
    + nothing else

```python
print("(x <TIER: 9>)")
```
    + (Bob (the 2nd) <TIER: N/A>) Nice. But
+ why?
        + (Ann O'Nym <TIER: 3>) Because.
            + (李 <TIER: 0>) 好
        + (Carl <TIER: 11>)
    + (Dora <TIER: EXPERT>) Thanks!

Really."""


def test_a_discussion_is_parsed_as_it_was_written():
    thread = read_thread(TEXT)
    assert thread is not None
    opening = 'I tried:\n\n    + scaling\n    + nothing else\n\n```python\nprint("(x <TIER: 9>)")\n```'
    assert thread == DiscussionThread(
        "What works (so far)",
        (
            ThreadMessage("Ann O'Nym", "MASTER", opening, None),
            ThreadMessage("Bob (the 2nd)", None, "Nice. But\n+ why?", 0),
            ThreadMessage("Ann O'Nym", "MASTER", "Because.", 1),
            ThreadMessage("李", "NOVICE", "好", 2),
            ThreadMessage("Carl", "ORGANIZATION", "", 1),
            ThreadMessage("Dora", "EXPERT", "Thanks!\n\nReally.", 0),
        ),
    )


def test_a_line_deeper_than_an_answer_can_stand_is_text():
    thread = read_thread("# T\n(a <TIER: 1>) x\n            + (b <TIER: 1>) y\n   + (c <TIER: 1>) z")
    assert thread is not None
    assert len(thread.messages) == 1
    assert thread.messages[0].markdown.endswith("+ (b <TIER: 1>) y\n   + (c <TIER: 1>) z")


@pytest.mark.parametrize(
    ("text", "title", "author", "markdown"),
    [
        ("(a <TIER: 1>) no title", None, "a", "no title"),
        ("# T\nno author", "T", None, "no author"),
        ("\n\n# T\n(a <TIER: 1>)", "T", "a", ""),
        ("# T\n( <TIER: 1>) no name", "T", None, "no name"),
        ("# \n(a <TIER: >) no tier", None, "a", "no tier"),
    ],
)
def test_what_is_missing_is_unknown(text: str, title: str | None, author: str | None, markdown: str):
    thread = read_thread(text)
    assert thread is not None
    assert thread.title == title
    assert [(one.author, one.markdown) for one in thread.messages] == [(author, markdown)]


@pytest.mark.parametrize("text", ["", "\n\n", "# A title and nothing else", "# T\n \n"])
def test_no_message_is_no_discussion(text: str):
    assert read_thread(text) is None


NAMES = (
    st.text(string.ascii_letters + "() <+äé", min_size=1, max_size=12).map(lambda t: " ".join(t.split())).filter(bool)
)
PARAGRAPHS = st.lists(st.sampled_from(["plain", "", "    + item", "+ item", "```", "  (x)", "a <TIER: b"]), max_size=5)


@st.composite
def threads(draw: st.DrawFn) -> list[tuple[int, str, list[str]]]:
    """Draw (depth, author, lines of markdown), each at most one deeper than the one before; the opening is at 0."""
    made = [(0, draw(NAMES), draw(PARAGRAPHS))]
    for _ in range(draw(st.integers(0, 8))):
        made.append((draw(st.integers(1, made[-1][0] + 1)), draw(NAMES), draw(PARAGRAPHS)))
    return made


@settings(max_examples=40)
@given(threads())
def test_whatever_is_written_as_mle_live_does_is_read_back(thread: list[tuple[int, str, list[str]]]):
    text = "# T\n" + "\n".join(
        f"{'    ' * depth}{'+ ' if depth else ''}({name} <TIER: 2>) " + "\n".join(["first", *lines])
        for depth, name, lines in thread
    )
    read = read_thread(text)
    assert read is not None
    assert [(one.author, one.markdown) for one in read.messages] == [
        (name, "\n".join(["first", *lines]).rstrip("\n")) for _, name, lines in thread
    ]
    for place, (depth, _, _) in enumerate(thread):
        earlier = [number for number in range(place) if thread[number][0] == depth - 1]
        assert read.messages[place].parent == (earlier[-1] if earlier else None)
