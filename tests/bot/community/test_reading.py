"""Which posts are worth reading: the best and the most voted, and none twice; and what was read of them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bot.community.reading import analysis_texts, worth_reading
from bot.community.settings import ReadingSettings
from state.clock import SystemClock
from state.community import CommunityView, Post, Repeat
from state.community_rows import add_community
from state.knowledge import add_analysis
from state.progress import create_run
from state.store import Store
from state.tables import KernelVersion, Message, Topic

TIME = datetime(2020, 1, 1, tzinfo=UTC)


def a_kernel(id: str, score: float | None = None, votes: int | None = None) -> Post:
    return Post("kernel", id, TIME, "", "", None, None, votes, public_score=score)


def a_message(id: str, votes: int | None = None) -> Post:
    return Post("message", id, TIME, "", "", None, None, votes)


def chosen(posts: list[Post], repeats: dict[str, str] | None = None, kernels: int = 4, messages: int = 2) -> list[str]:
    settings = ReadingSettings(kernels=kernels, messages=messages)
    told = {item: Repeat(original, 0.9) for item, original in (repeats or {}).items()}
    return [post.id for post in worth_reading(posts, settings, True, told)]


KERNELS = [a_kernel("1", 0.1, 0), a_kernel("2", 0.2, 9), a_kernel("3", 0.3, 1), a_kernel("4", None, 5), a_kernel("5")]


def test_half_are_the_best_and_half_the_most_voted_and_unknown_signals_come_last() -> None:
    assert chosen(KERNELS) == ["1", "2", "4", "3"]
    assert chosen(KERNELS, kernels=9) == ["1", "2", "3", "4", "5"]
    assert chosen([a_message("6", 1), a_message("7"), a_message("8", 3)]) == ["8", "6"]


def test_of_kernels_that_repeat_one_another_the_best_is_read() -> None:
    assert chosen(KERNELS, {"kernel/2": "kernel/1", "kernel/4": "kernel/2"}) == ["1", "3", "5"]


def test_what_repeats_something_that_is_not_shown_any_more_is_read_once() -> None:
    assert chosen(KERNELS, {"kernel/1": "kernel/0", "kernel/3": "kernel/0"}) == ["1", "2", "4", "5"]


def test_a_message_that_was_posted_again_does_not_take_the_place_of_another() -> None:
    messages = [a_message("6", 5), a_message("7", 4), a_message("8", 3)]
    assert chosen(messages, {"message/7": "message/6"}) == ["6", "8"]


def test_an_analysis_of_an_older_version_is_shown_and_that_of_a_deleted_post_is_not(tmp_path: Path) -> None:
    rows: list[Any] = [
        Topic(competition="c", id="1", posted_at=TIME),
        *(Message(competition="c", id=id, topic_id="1", posted_at=TIME, markdown="text") for id in ("10", "11")),
        KernelVersion(competition="c", id="20", ref="a/b", version=1, created_at=TIME, title="first"),
        KernelVersion(competition="c", id="21", ref="a/b", version=2, created_at=TIME + timedelta(hours=1)),
    ]
    with Store.open(tmp_path / "state.db", SystemClock()) as store:
        with store.write() as tx:
            create_run(tx, "r", competition="c", agent="comind", model="m", seed=0, cutoff=None)
            add_community(tx, "c", rows)
            for kind, id in (("message", "10"), ("message", "11"), ("kernel", "20")):
                item = f"{kind}/{id}"
                add_analysis(
                    tx, "r", item, post_kind=kind, post_id=id, known_at=TIME, summary=f"of {item}", effectiveness=5
                )
            add_community(tx, "c", [Message(competition="c", id="11", topic_id="1", posted_at=TIME, deleted=True)])
        community = CommunityView(store, "c", store.clock.now())
        context: Any = SimpleNamespace(
            run_id="r", store=store, clock=store.clock, community=community, settings_of=lambda kind: kind()
        )
        shown = analysis_texts(context, {"message/10", "message/11", "kernel/20"})
        assert {text.summary for text in shown} == {"of message/10", "of kernel/20"}
