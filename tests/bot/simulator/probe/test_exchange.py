"""Whatever a probe has left is read by the client's types, and no row of it is lost."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bot.simulator.probe.exchange import ProbeExchange, read_exchanges, write_exchanges
from scrapers.kaggle.competitions import DataFiles, DataSummary, KaggleCompetition, LeaderboardTop, Pages
from scrapers.kaggle.datasets import OwnDataSets, StatusOfDataSet
from scrapers.kaggle.failures import failure
from scrapers.kaggle.forum import OneTopic, TopicMessages, TopicPage
from scrapers.kaggle.kernels import KernelPage
from scrapers.kaggle.notebooks import Quotas
from scrapers.kaggle.search import SearchPage
from scrapers.kaggle.submissions import SentFiles, SubmissionQuota
from scrapers.kaggle.wire import ApiResponse
from state.errors import KaggleError, SiteUnavailable
from tests.bot.simulator.probe.folders import EXAMPLE, FOLDERS

TYPES: Mapping[str, type[ApiResponse]] = {
    "GetCompetition": KaggleCompetition,
    "ListCompetitionPages": Pages,
    "ListDataFiles": DataFiles,
    "GetCompetitionDataFilesSummary": DataSummary,
    "GetLeaderboard": LeaderboardTop,
    "GetSubmissionLimits": SubmissionQuota,
    "ListSubmissions": SentFiles,
    "ListCompetitionTopics": TopicPage,
    "ListTopicMessages": TopicMessages,
    "GetTopic": OneTopic,
    "ListKernels": KernelPage,
    "ListEntities": SearchPage,
    "GetAcceleratorQuotaStatistics": Quotas,
    "ListDatasets": OwnDataSets,
    "GetDatasetStatus": StatusOfDataSet,
}
"""The type of the client's that reads each method's answer; `DownloadDataFiles` answers with an address instead."""
ALL = [pytest.param(one, id=f"{folder.name}/{one.name}") for folder in FOLDERS for one in read_exchanges(folder)]


def rows(value: Any) -> int:
    """Return how many rows an answer's list has, and 0 for an answer without one."""
    lists = [one for one in value.values() if isinstance(one, list) and all(isinstance(row, dict) for row in one)]
    return max(map(len, lists), default=0)


@pytest.mark.parametrize("exchange", ALL)
def test_what_a_probe_has_left_is_read_by_the_clients_types(exchange: ProbeExchange) -> None:
    if not exchange.answered:
        found = failure(exchange.status or 0, str(exchange.answer), method=exchange.method, subject="x")
        assert isinstance(found, KaggleError | SiteUnavailable)
    elif exchange.method == "DownloadDataFiles":
        assert exchange.answer["location"].startswith("http")
    else:
        found = exchange.read(TYPES[exchange.method])
        read = [len(value) for name, value in found if isinstance(value, tuple)]
        lists_of_the_answer = exchange.answer if exchange.method != "GetCompetition" else {}
        assert max(read, default=0) >= rows(lists_of_the_answer), exchange.name


def test_the_example_holds_every_method_that_the_probe_asks() -> None:
    assert {one.method for one in read_exchanges(EXAMPLE)} == {*TYPES, "DownloadDataFiles"}


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    example = read_exchanges(EXAMPLE)
    write_exchanges(tmp_path / "new", example)
    assert read_exchanges(tmp_path / "new") == example
