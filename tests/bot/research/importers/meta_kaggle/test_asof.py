"""The law of an import: what is seen at a time does not depend on anything that came later, and nothing earlier is missed."""

import itertools
import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from bot.research.importers.meta_kaggle.competitions import read_competitions
from bot.research.importers.meta_kaggle.export import open_export
from bot.research.importers.meta_kaggle.importing import import_competition
from scrapers.snapshots.snapshot import Snapshot
from state.community import CommunityView, Post
from state.community_rows import add_community
from state.store import Store
from tests.bot.research.importers.meta_kaggle.made_export import Tables, day, moment, submission, write_export
from tests.state.conftest import StandingClock

START, END = datetime(2024, 1, 10, 10), datetime(2024, 2, 10)  # noqa: DTZ001 - UTC, as in the tables
DATED = ("PostDate", "CreationDate", "VoteDate", "SubmissionDate", "TierAchievementDate", "MadePublicDate", "ScoreDate")
_numbers = itertools.count()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """One store for all examples; each is a competition of its own in it."""
    with Store.open(tmp_path_factory.mktemp("asof") / "state.db", StandingClock()) as opened:
        yield opened


def random_tables(rng: random.Random) -> Tables:
    """Return tables of one competition, with rows out of order, without dates, and of what does not exist."""
    maybe = rng.random

    def time(unreadable: str = "") -> str:
        # Some before the start and after the end; some at a midnight; some missing; some without a time of day.
        at = START + timedelta(hours=rng.randint(-100, 900), seconds=rng.choice([0, 0, 1, 3599]))
        at = at.replace(hour=0, minute=0, second=0) if maybe() < 0.1 else at
        return rng.choice(["", unreadable]) if maybe() < 0.05 else day(at) if maybe() < 0.05 else moment(at)

    def date() -> str:
        return "" if maybe() < 0.1 else day(START + timedelta(days=rng.randint(-5, 40)))

    def ids(base: int, count: int) -> list[int]:
        return rng.sample(range(base, base + count), count)

    topics, messages, kernels, versions = ids(500, 5), ids(900, 12), ids(300, 4), ids(400, 9)

    def some(known: list[int]) -> int:
        return 12345 if maybe() < 0.1 else rng.choice(known)

    users = [11, 22, 33, 44, -1]
    tables: Tables = {
        "Competitions": [
            {
                "Id": 7001,
                "Slug": "tiny-cup",
                "ForumId": 100,
                "EnabledDate": moment(START),
                "DeadlineDate": moment(END),
                "EvaluationAlgorithmIsMax": rng.choice(["True", "False"]),
            }
        ],
        "ForumTopics": [
            {
                "Id": id,
                "ForumId": rng.choice([100, 100, 16860, 999]),
                "KernelId": rng.choice(["", "", some(kernels)]),
                "FirstForumMessageId": some(messages),
                "CreationDate": time(),
            }
            for id in topics
        ],
        "ForumMessages": [
            {
                "Id": id,
                "ForumTopicId": some(topics),
                "PostUserId": rng.choice(users),
                "PostDate": time(unreadable="13/45/2024 00:00:00"),
                "ReplyToForumMessageId": rng.choice(["", some(messages)]),
                "RawMarkdown": rng.choice(["", f"message {id}", f"{id}: thanks Ada, @grace and Ada Lovelace"]),
            }
            for id in messages
        ],
        "ForumMessageVotes": [
            {"ForumMessageId": some(messages), "FromUserId": rng.choice(users), "VoteDate": date()} for _ in range(15)
        ],
        "Kernels": [
            {
                "Id": id,
                "ForumTopicId": rng.choice(["", some(topics)]),
                "ForkParentKernelVersionId": rng.choice(["", some(versions)]),
                "MadePublicDate": date(),
            }
            for id in kernels
        ],
        "KernelVersions": [
            {
                "Id": id,
                "ScriptId": some(kernels),
                "AuthorUserId": rng.choice(users),
                "CreationDate": time(),
                "VersionNumber": rng.choice(["", 1, 2, 3, 4]),
                "Title": f"version {id} of @ada",
            }
            for id in versions
        ],
        "KernelVersionCompetitionSources": [
            {"KernelVersionId": some(versions), "SourceCompetitionId": rng.choice([7001, 7001, 7002])}
            for _ in range(14)
        ],
        "KernelVotes": [
            {"UserId": rng.choice(users), "KernelVersionId": some(versions), "VoteDate": date()} for _ in range(12)
        ],
        "Teams": [
            {"Id": id, "CompetitionId": rng.choice([7001, 7002]), "IsBenchmark": maybe() < 0.1}
            for id in (601, 602, 603)
        ],
        "Submissions": [
            submission(
                800 + number,
                some([601, 602, 603]),
                date(),
                rng.choice([0.1, 0.2, 0.3, 0.4, "inf", ""]),
                0.5,
                scored=rng.choice(["", date()]),
                version=rng.choice(["", some(versions)]),
            )
            for number in range(12)
        ],
        "Users": [
            {"Id": 11, "UserName": "ada", "DisplayName": "Ada Lovelace"},
            {"Id": 22, "UserName": "grace", "DisplayName": "Grace"},
        ],
        "UserAchievements": [
            {"UserId": user, "Tier": rng.randint(0, 4), "TierAchievementDate": rng.choice([date(), "07/15/2016"])}
            for user in users
            for _ in range(2)
        ],
    }
    return tables


def known_at(text: object) -> datetime | None:
    """Return from when a written time or date is known: of a date, the end of its day."""
    for form, extra in (("%m/%d/%Y %H:%M:%S", timedelta()), ("%m/%d/%Y", timedelta(days=1))):
        try:
            return datetime.strptime(str(text), form) + extra  # noqa: DTZ007 - all are UTC here
        except ValueError:
            continue
    return None


def as_it_was(tables: Tables, at: datetime) -> Tables:
    """Return the tables without all that came later, and with other values for what the export has as of its own day."""

    def is_known(row: dict[str, object]) -> bool:
        return all((known_at(row[name]) or at) <= at for name in DATED if row.get(name))

    earlier: Tables = {}
    for name, rows in tables.items():
        if name == "Kernels":  # one that is not public yet is there, but private
            earlier[name] = [row if is_known(row) else row | {"MadePublicDate": ""} for row in rows]
        else:
            earlier[name] = [row for row in rows if is_known(row)]
    for name in ("ForumTopics", "Kernels", "KernelVersions"):
        earlier[name] = [row | {"TotalVotes": 5, "TotalViews": 9, "Score": 7, "Medal": 1} for row in earlier[name]]
    for row in earlier["ForumTopics"]:
        row["Title"] = "as it was called then"
    return earlier


def imported(tables: Tables, folder: Path, exported: datetime) -> Snapshot:
    """Import the tables as exported at a time."""
    shutil.rmtree(folder, ignore_errors=True)
    elsewhere = {"ForumTopicId": 1, "PostDate": moment(exported), "RawMarkdown": "of another forum"}
    messages = [*tables["ForumMessages"], *({"Id": id} | elsewhere for id in range(1, 20))]
    write_export(folder / "tables", tables | {"ForumMessages": messages})
    with open_export(folder / "tables", lambda what, share: None) as export:
        (competition,) = read_competitions(export, exported.replace(tzinfo=UTC))
        result = import_competition(export, replace(competition, obstacle=None), folder / "out", {})
    assert result.status == "imported", result.reason
    return Snapshot.load(folder / "out/tiny-cup", {}, community_only=True)


def seen(store: Store, snapshot: Snapshot, at: datetime) -> tuple[list[Post], set[object]]:
    """Return the posts that a run sees at a time, and the public leaderboard."""
    name, community = f"competition {next(_numbers)}", snapshot.community
    rows = [*community.topics, *community.messages, *community.kernels, *community.observations]
    with store.write() as tx:
        add_community(tx, name, (row.table_row(name) for row in rows))
    view = CommunityView(store, name, at.replace(tzinfo=UTC))
    board = {(row.at, row.team, row.score) for row in community.public_leaderboard if row.at <= at.replace(tzinfo=UTC)}
    return [*view.topics(), *view.messages(), *view.kernels()], board


@pytest.mark.integration
@settings(
    max_examples=25, deadline=None, phases=(Phase.explicit, Phase.reuse, Phase.generate)
)  # shrinking takes minutes
@example(seed=220, hours=536)  # a vote on a version that was made after it
@example(seed=380, hours=641)  # a fork of a version that was made after it
@example(seed=338, hours=570)  # a topic of two notebooks, one of which was published after it
@given(seed=st.integers(0, 10**6), hours=st.integers(0, 800))
def test_a_view_at_a_time_is_the_same_as_if_nothing_had_come_later(
    store: Store, tmp_path_factory: pytest.TempPathFactory, seed: int, hours: int
) -> None:
    folder = tmp_path_factory.getbasetemp() / "asof-example"
    tables, at = random_tables(random.Random(seed)), START + timedelta(hours=hours)
    whole = imported(tables, folder / "whole", START + timedelta(days=90))
    earlier = imported(as_it_was(tables, at), folder / "earlier", at)
    (posts, board), (posts_then, board_then) = seen(store, whole, at), seen(store, earlier, at)
    assert [post.item for post in posts] == [post.item for post in posts_then]
    assert board == board_then
    for post, then in zip(posts, posts_then, strict=True):
        # A tier that was reached later hides an earlier one, of which the export knows nothing.
        assert post.tier in (None, then.tier)
        assert post == replace(then, tier=post.tier)
