"""The table of methods: whatever a client sends, each answers, or refuses as Kaggle does."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.simulator.site.app import methods
from bot.simulator.site.site import Site
from bot.simulator.site.wire import ApiError, Call, finished
from tests.bot.simulator.site.parts import START, HandClock, tiny

FIELDS = (
    *("competitionName", "topicId", "id", "sortBy", "page", "pageSize", "pageToken", "fileName", "contentLength"),
    *("blobFileTokens", "submissionDescription", "ref", "group", "category", "search", "filters", "competition"),
    *("userName", "kernelSlug", "versionLabel", "slug", "newTitle", "text", "kernelType", "competitionDataSources"),
    *("kernelOwner", "kernelVersion", "canonicalOrderBy", "token", "path", "pageName", "forumSlug", "overridePublic"),
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(("tiny-table", "ann", "linear", "rehearsal", "script", "notebook", "submission.csv", 1, 11, -1)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(("query", "documentTypes", "userFilters", "userIds", "x")), inner, max_size=3)
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tiny(tmp_path_factory.mktemp("rpc")), HandClock(START))
    yield made
    made.close()


def sound(site: Site, name: str, body: dict[str, Any]) -> None:
    """Check that a method answers what can be sent, or refuses."""
    try:
        answer = methods(site)[name](Call({"competitionName": "tiny-table"} | body, START, "http://here"))
    except ApiError as refused:
        assert refused.status in (400, 403, 404)
        return
    if isinstance(answer, dict):
        sent = finished(answer, unknown_fields=True)
        json.dumps(sent, ensure_ascii=False, allow_nan=False).encode()


@settings(max_examples=50)
@given(place=st.integers(min_value=0, max_value=100), body=st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5))
def test_any_body_is_answered_or_refused(site: Site, place: int, body: dict[str, Any]) -> None:
    names = sorted(methods(site))
    sound(site, names[place % len(names)], body)


@settings(max_examples=50)
@given(filters=st.dictionaries(st.sampled_from(("query", "documentTypes", "userFilters")), VALUES, max_size=3))
def test_any_filters_of_a_search_are_taken_or_refused(site: Site, filters: dict[str, Any]) -> None:
    sound(site, "search.SearchApiService/ListEntities", {"filters": filters})
    sound(site, "search.SearchApiService/ListEntities", {"filters": {"userFilters": filters}})
