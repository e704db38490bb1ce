"""Several notices merged into one: all titles in order, bodies as far as there is room, the same key for the same ones."""

from datetime import UTC, datetime, timedelta

from bot.notify.outbox import merge
from state.tables import Letter, Notification

T = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)


def row(number: int, body: str = "body", *, urgent: bool = False) -> Notification:
    return Notification(
        key=f"k{number}",
        kind="leaderboard.rank" if number % 2 else "run.best",
        title=f"Title {number}",
        body=body,
        urgent=urgent,
        created_at=T + timedelta(minutes=number),
    )


def merged(*rows: Notification) -> Letter:
    return merge("SLACK", rows, T)


def test_one_stays_as_it_is() -> None:
    letter = merged(row(1))
    assert (letter.key, letter.kind, letter.title, letter.body) == ("k1", "leaderboard.rank", "Title 1", "body")
    assert (letter.service, letter.due_at, letter.urgent) == ("SLACK", T, False)


def test_several_are_listed_in_order_with_their_times() -> None:
    letter = merged(*(row(number) for number in range(5)))
    assert letter.title == "5 notices: leaderboard.rank ×2, run.best ×3"
    assert [line for line in letter.body.splitlines() if "Title" in line] == [
        f"2026-01-02 03:0{4 + number} UTC Title {number}" for number in range(5)
    ]


def test_the_same_ones_have_the_same_key_and_others_another() -> None:
    assert merged(row(1), row(2)).key == merged(row(1), row(2)).key
    assert merged(row(1), row(2)).key != merged(row(1), row(2), row(3)).key


def test_a_long_body_is_cut_with_a_mark_and_what_is_urgent_stays_urgent() -> None:
    letter = merged(row(1, "x" * 5000), row(2, "short", urgent=True))
    assert "4400 more characters" in letter.body
    assert "short" in letter.body
    assert letter.urgent
