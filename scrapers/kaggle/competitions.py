"""Kaggle's competitions: their fields, pages, files and leaderboards."""

import asyncio
import csv
import io
import zipfile
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from scrapers.kaggle.client import KaggleClient, Method
from scrapers.kaggle.paging import all_pages
from scrapers.kaggle.wire import ApiResponse, Int, Items, Mixed, PageOfItems, Text, Time, Wire
from scrapers.snapshots.archives import BROKEN
from state.errors import UnknownAnswer

_SERVICE = "competitions.CompetitionApiService"
_LARGEST_BOARD = 20_000_000
"""Bytes of a leaderboard's table, unpacked."""
_FILES_A_PAGE = 200


class KaggleCompetition(ApiResponse):
    """A competition as this user sees it; `ref` is its full address."""

    id: Int = 0
    ref: Text = ""
    title: Text = ""
    url: Text = ""
    description: Text = ""
    category: Text = ""
    reward: Text = ""
    deadline: Time = None
    team_count: Int = 0
    user_has_entered: bool = False
    user_rank: Int | None = None
    merger_deadline: Time = None
    new_entrant_deadline: Time = None
    enabled_date: Time = None
    max_daily_submissions: Int = 0
    """0: unknown."""
    max_team_size: Int | None = None
    evaluation_metric: Text = ""
    awards_points: bool = False
    is_kernels_submissions_only: bool = False
    submissions_disabled: bool = False

    @property
    def slug(self) -> str:
        """The name that all other calls take."""
        return self.ref.rstrip("/").rsplit("/", 1)[-1]


class _Competitions(PageOfItems):
    competitions: Annotated[tuple[KaggleCompetition, ...], Items] = ()


class CompetitionPage(ApiResponse):
    """One of a competition's pages, such as `rules`; it has no time, so only its content shows a change."""

    name: Text = ""
    content: Text = ""
    post_title: Text = ""
    mime_type: Text = ""


class Pages(ApiResponse):
    """All pages."""

    pages: Annotated[tuple[CompetitionPage, ...], Items] = ()


class DataFile(Wire):
    """A file of the competition's data."""

    ref: Text = ""
    name: Text = ""
    total_bytes: Int = 0


class DataFiles(PageOfItems):
    """A page of data files."""

    files: Annotated[tuple[DataFile, ...], Items] = ()


class FileType(Wire):
    """The files of one extension."""

    extension: Text = ""
    file_count: Int = 0
    total_size: Int = 0
    """Bytes."""


class _FileSummary(Wire):
    file_types: Annotated[tuple[FileType, ...], Items] = ()


class DataSummary(ApiResponse):
    """How many files the data has, and of what sizes."""

    file_summary_info: _FileSummary | None = None

    @property
    def types(self) -> tuple[FileType, ...]:
        """The files by extension, in order; empty if the site does not say."""
        types = self.file_summary_info.file_types if self.file_summary_info else ()
        return tuple(sorted(types, key=lambda file_type: file_type.extension))


class LeaderboardEntry(Wire):
    """One team's place on the board's top; scores are text."""

    team_id: Int = 0
    team_name: Text = ""
    submission_date: Time = None
    score: Mixed = ""


class LeaderboardTop(ApiResponse):
    """The top of a board, best first; after the end it is the private one."""

    submissions: Annotated[tuple[LeaderboardEntry, ...], Items] = ()


@dataclass(frozen=True)
class BoardRow:
    """A row of the whole board."""

    rank: int
    team_id: str
    team: str
    score: float | None
    submissions: int | None = None


@dataclass(frozen=True)
class Competitions:
    """Reads competitions; errors as of `KaggleClient`."""

    client: KaggleClient

    def list_entered(self) -> AsyncIterator[KaggleCompetition]:
        """Yield the competitions that this user has entered."""

        async def ask(place: dict[str, Any]) -> _Competitions:
            body = {"group": "COMPETITION_LIST_TAB_ENTERED", **place}
            return await self.client.call(_method("ListCompetitions"), body, _Competitions)

        return all_pages(ask, lambda page: page.stamped(page.competitions), lambda competition: competition.ref)

    async def get(self, slug: str) -> KaggleCompetition:
        """Return one competition."""
        return await self.client.call(
            _method("GetCompetition"), {"competitionName": slug}, KaggleCompetition, subject=slug
        )

    async def pages(self, slug: str) -> tuple[CompetitionPage, ...]:
        """Return its pages."""
        body = {"competitionName": slug}
        answer = await self.client.call(_method("ListCompetitionPages"), body, Pages, subject=slug)
        return answer.stamped(answer.pages)

    def files(self, slug: str) -> AsyncIterator[DataFile]:
        """Yield its data files."""

        async def ask(place: dict[str, Any]) -> DataFiles:
            body = {"competitionName": slug, "pageSize": _FILES_A_PAGE, **place}
            return await self.client.call(_method("ListDataFiles"), body, DataFiles, subject=slug)

        # Without a token there is no second page: this method does not know page numbers.
        return all_pages(ask, lambda page: page.files, lambda file: file.ref or file.name, numbered=False)

    async def data_summary(self, slug: str) -> DataSummary:
        """Return how many files its data has, and their sizes: one request, however many they are."""
        body = {"competitionName": slug}
        return await self.client.call(_method("GetCompetitionDataFilesSummary"), body, DataSummary, subject=slug)

    async def data_address(self, slug: str) -> str:
        """Return the address from which the zip of all its data is downloaded, without our key."""
        method = _method("DownloadDataFiles", family="downloads")
        return await self.client.location(method, {"competitionName": slug}, subject=slug)

    async def top(self, slug: str, *, size: int = 50) -> LeaderboardTop:
        """Return the top of the board."""
        body = {"competitionName": slug, "pageSize": size}
        return await self.client.call(_method("GetLeaderboard"), body, LeaderboardTop, subject=slug)

    async def board(self, slug: str) -> tuple[list[BoardRow], datetime]:
        """Return the whole board, best first, and the server's time."""
        method = _method("DownloadLeaderboard", family="downloads")
        content, served_at = await self.client.content(method, {"competitionName": slug}, subject=slug)
        # In a thread, so that the loop is not blocked.
        return await asyncio.to_thread(read_board, content), served_at


def read_board(archive: bytes) -> list[BoardRow]:
    """Read a downloaded board: a zip of one CSV file in UTF-8 with a byte order mark. Raises UnknownAnswer."""
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as zip_file:
            (member,) = (info for info in zip_file.infolist() if info.filename.endswith(".csv"))
            if member.file_size > _LARGEST_BOARD:
                raise UnknownAnswer(f"Kaggle's leaderboard is too large: {member.file_size:,} bytes unpacked")
            text = zip_file.read(member).decode("utf-8-sig")
        return [_board_row(row) for row in csv.DictReader(io.StringIO(text))]
    except (*BROKEN, KeyError, csv.Error) as error:
        raise UnknownAnswer(f"Kaggle's leaderboard is not a zipped CSV file: {error}") from error


def _board_row(row: dict[str, str]) -> BoardRow:
    score, count = row.get("Score") or "", row.get("SubmissionCount") or ""
    return BoardRow(
        rank=int(row["Rank"]),
        team_id=row["TeamId"],
        team=row["TeamName"],
        score=float(score) if score else None,
        submissions=int(count) if count else None,
    )


def _method(name: str, family: str = "competitions") -> Method:
    return Method(_SERVICE, name, family)
