"""The owner's notes in prompts."""

from datetime import UTC, datetime

from bot.community.reading.documents import Document
from bot.community.reading.prompts import ReadPosts
from bot.execution.task import OwnerNote, TaskText
from bot.models import Item
from state.community import Post

AT = datetime(2026, 11, 20, 9, 30, tzinfo=UTC)


def prompt(*notes: OwnerNote) -> ReadPosts:
    task = TaskText("T", "words", "rmse", "minimize", "id", ("y",), "submission.csv", notes)
    post = Post("message", "1", AT, "", "# Notes from the owner", None, None, None)
    return ReadPosts(task, (Document("topic/1", AT, (post,), None),))


def test_a_note_stands_outside_of_what_is_quoted_with_its_date_and_among_the_items():
    asked = prompt(OwnerNote(Item("note/3", AT), "Use boosting.\u202e"))
    text = asked.messages()[-1].content
    assert "# Notes from the owner\nThe owner of this bot left these notes." in text
    assert "- (2026-11-20 09:30 UTC) Use boosting.\n" in text
    assert text.index("Use boosting.") < text.index("<message id=")
    assert [item.id for item in asked.items()] == ["message/1", "note/3"]


def test_without_a_note_nothing_is_said_of_them():
    assert "has left these notes" not in prompt().messages()[-1].content
