"""Each point is settled by the answers themselves, and no longer holds when Kaggle answers otherwise."""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.simulator.probe.checks import POINTS, judge
from bot.simulator.probe.exchange import ProbeExchange, read_exchanges
from bot.simulator.probe.masking import Masking
from tests.bot.simulator.probe.folders import EXAMPLE

SLUG = "demo-dim-digits"


def masked(*exchanges: ProbeExchange) -> tuple[ProbeExchange, ...]:
    return Masking(SLUG, lambda text: text.replace("KGAT_abcdef", "[the key]")).masked(exchanges)


def of(answer: Any, method: str = "ListEntities", status: int = 200) -> Any:
    (found,) = masked(ProbeExchange("x", method, {"competitionName": SLUG}, True, status, {}, answer))
    return found.answer


def test_masking_what_is_masked_changes_no_verdict() -> None:
    example = read_exchanges(EXAMPLE)
    again = masked(*example)
    assert judge(again) == judge(example)
    assert {one.answer is None for one in again} == {False}


def test_names_texts_and_numbers_of_people_are_gone_and_their_form_stays() -> None:
    found = of(
        {
            "userName": "annlee",
            "ownerUser": {"id": 4711, "displayName": "Ann Lee", "tier": "MASTER", "url": "/annlee"},
            "content": '<p>I am <a href="/annlee">Ann</a>, 0.35 & <b>so</b></p>',
            "userRank": 7,
            "submittedById": "4711",
            "postDate": "2026-11-20T12:00:00.5Z",
            "nextPageToken": "abc123",
            "laterField": ["Ann Lee", {"who": "Ann"}],
            "name": "Ann Lee",
        }
    )
    assert not {"ann", "lee", "4711"} & set(json.dumps(found).lower().replace("/", " ").replace('"', " ").split())
    assert found["content"] == "<p>x xx <a>xxx</a>, 0.00 & <b>xx</b></p>"
    assert (found["ownerUser"]["id"], found["submittedById"]) == (1, "1")
    assert (found["ownerUser"]["tier"], found["postDate"]) == ("MASTER", "2026-11-20T12:00:00.5Z")
    assert (found["userRank"], found["nextPageToken"]) == (1, "token")
    assert (found["name"], found["laterField"]) == ("xxx xxx", ["xxx xxx", {"who": "xxx"}])


def test_names_of_pages_and_files_and_the_words_of_refusals_stay_but_never_the_key() -> None:
    assert of({"pages": [{"name": "rules"}]}, "ListCompetitionPages")["pages"][0]["name"] == "rules"
    assert of({"code": 403, "message": "Permission denied"}, status=403)["message"] == "Permission denied"
    assert of({"code": 401, "message": "KGAT_abcdef is unknown"}, status=401)["message"] == "[the key] is unknown"
    assert of({"message": "Hello Ann"})["message"] == "xxxxx xxx"
    assert of({"location": "https://storage.googleapis.com/a/b?X-Goog-Signature=00ff"}, "DownloadDataFiles") == {
        "location": "https://storage.googleapis.com/masked"
    }


@given(st.text(alphabet=st.characters(categories=["L", "N", "P", "Z", "S"]), max_size=80))
def test_no_word_of_any_text_is_left(text: str) -> None:
    left = of({"content": text})["content"]
    if not left.replace(".", "").replace("-", "").isdigit() and left != SLUG:
        tags = left.lower()
        names = (
            *("blockquote", "strong", "table", "thead", "tbody", "span"),
            *("code", "div", "pre", "img", "sup", "sub"),
        )
        for tag in names:
            tags = tags.replace(f"<{tag}", "").replace(f"</{tag}", "")
        words = [word for word in "".join(one if one.isalpha() else " " for one in tags).split() if set(word) != {"x"}]
        assert all(len(word) <= 2 for word in words), left


def test_a_request_keeps_what_the_bot_asked() -> None:
    for one, again in zip(read_exchanges(EXAMPLE), masked(*read_exchanges(EXAMPLE)), strict=True):
        assert again.request.keys() == one.request.keys()
        assert replace(again, request={}, answer=None) == replace(one, request={}, answer=None)


Change = Callable[[Any], None]


def verdicts(exchanges: list[ProbeExchange]) -> dict[str, str]:
    return {point.name: finding.verdict for point, finding in judge(exchanges)}


def changed(name: str, change: Change, **fields: Any) -> list[ProbeExchange]:
    """Return the example with one answer changed."""
    found = []
    for one in read_exchanges(EXAMPLE):
        if one.name == name:
            answer = copy.deepcopy(one.answer)
            change(answer)
            one = replace(one, answer=answer, **fields)
        found.append(one)
    return found


def put(*path: Any, value: Any) -> Change:
    def change(answer: Any) -> None:
        for key in path[:-1]:
            answer = answer[key]
        answer[path[-1]] = value

    return change


def swapped(name: str, at: int = 0) -> Change:
    """Swap the first row of a list (or a later one) with the last."""

    def change(answer: Any) -> None:
        answer[name][at], answer[name][-1] = answer[name][-1], answer[name][at]

    return change


def dropped(name: str) -> Change:
    return lambda answer: answer[name].pop()


def nothing(answer: Any) -> None:
    """Leave the answer as it is."""


def deeper(answer: Any) -> None:
    answer["messages"] = [{"id": 1, "content": "x", "replies": answer["messages"]} for _ in range(2)]
    answer["messages"][0]["replies"] = [{"id": 2, "content": "x", "replies": answer["messages"][1]["replies"]}]
    answer["messages"][0] = {"id": 3, "content": "x", "replies": [answer["messages"][0]]}


OTHERWISE: dict[str, tuple[str, Change, dict[str, Any]]] = {
    "numbers": ("topics", put("topics", 0, "id", value="12"), {}),
    "times": ("topics", put("topics", 0, "postDate", value="2026-01-01T00:00:00"), {}),
    "fields": ("competition", lambda answer: answer.pop("evaluationMetric"), {}),
    "page-format": ("pages", put("pages", 0, "mimeType", value="text/rst"), {}),
    "rules-page": ("pages", lambda answer: [one.update(name=f"x-{one['name']}") for one in answer["pages"]], {}),
    "file-list": ("files", dropped("files"), {}),
    "download": ("download", nothing, {"status": 200}),
    "board-size": ("leaderboard", lambda answer: answer["submissions"].append(answer["submissions"][-1]), {}),
    "board-order": ("leaderboard", swapped("submissions", 1), {}),
    "allowed-now": ("quota", put("numAllowedNow", value=9), {}),
    "new-team": ("quota", lambda answer: answer.clear(), {}),
    "own-order": ("submissions", swapped("submissions"), {}),
    "own-description": ("submissions", lambda answer: [one.pop("description") for one in answer["submissions"]], {}),
    "topic-page": ("topics", dropped("topics"), {}),
    "topic-order": ("topics", swapped("topics", 1), {}),
    "sticky": ("topics", swapped("topics"), {}),
    "opening-post": ("topic", put("topic", "postDate", value="2019-01-01T00:00:00Z"), {}),
    "replies": ("messages", deeper, {}),
    "deleted": ("messages", put("messages", 0, "isDeleted", value=True), {}),
    "texts": (
        "messages",
        lambda answer: [answer["messages"][0].pop(key, None) for key in ("content", "rawMarkdown")],
        {},
    ),
    "get-topic": ("topic", nothing, {"status": 403}),
    "kernel-page": ("kernels", nothing, {}),
    "kernel-order": ("kernels", swapped("kernels"), {}),
    "version-number": ("kernels", lambda answer: answer["kernels"][0].pop("currentVersionNumber"), {}),
    "search-finds": ("search-kernels", lambda answer: answer.update(documents=[]), {}),
    "best-score": ("search-kernels", put("documents", 0, "kernelDocument", "hasLinkedSubmission", value=False), {}),
    "tiers": ("search-kernels", put("documents", 0, "ownerUser", "tier", value="LUMINARY"), {}),
    "search-key": ("search-without-key", nothing, {"status": 200}),
    "environment": ("search-competition", put("documents", 0, "slug", value="another"), {}),
    "error-shape": ("search-without-key", lambda answer: answer.update(error="no"), {}),
    "wrong-name": ("wrong-name", nothing, {}),
    "gpu-hours": ("gpu-hours", lambda answer: answer.pop("gpuQuota"), {}),
    "private-data-sets": ("own-data-sets", lambda answer: answer.update(datasets=5), {}),
    "missing-data-set": ("missing-data-set", nothing, {"status": 200}),
    "rate-limit": ("kernels", nothing, {"status": 429, "headers": {"retry-after": "30"}}),
}
"""For each point: the answer that is changed, how, and what else of the exchange."""
ELSEWHERE = {"kernel-page", "wrong-name"}
"""Points that need more than one answer changed; see below."""


def test_every_point_is_tried_below() -> None:
    names = [one.name for one in POINTS]
    assert len(names) == len(set(names))
    assert OTHERWISE.keys() == set(names)
    before = verdicts(list(read_exchanges(EXAMPLE)))
    assert "different" not in before.values()
    assert sum(one == "OK" for one in before.values()) > 20
    for point, finding in judge(read_exchanges(EXAMPLE)):
        assert point.assumed.endswith("."), point.name
        assert point.settled_by, point.name
        assert finding.observation, point.name


@pytest.mark.parametrize("name", sorted(OTHERWISE.keys() - ELSEWHERE))
def test_a_point_is_different_where_kaggle_answers_otherwise(name: str) -> None:
    question, change, fields = OTHERWISE[name]
    assert verdicts(changed(question, change, **fields))[name] == "different"


def test_a_short_page_of_kernels_is_different_where_there_are_more() -> None:
    assert verdicts(changed("competition", put("kernelCount", value=250)))["kernel-page"] == "different"


@pytest.mark.parametrize(("status", "verdict"), [(404, "OK"), (403, "OK"), (400, "different")])
def test_a_wrong_name_is_settled_by_what_the_competition_was_answered_with(status: int, verdict: str) -> None:
    first = replace(read_exchanges(EXAMPLE)[0], status=status, answer={"code": status, "message": "Not found"})
    found = verdicts([first])
    assert (found["wrong-name"], found["error-shape"]) == (verdict, "OK")
    assert found["file-list"] == "could not tell"


@pytest.mark.parametrize("name", sorted({question for question, _, _ in OTHERWISE.values()} - {"wrong-name"}))
def test_without_an_answer_no_point_is_taken_for_settled(name: str) -> None:
    silent = [replace(one, status=None, answer=None) if one.name == name else one for one in read_exchanges(EXAMPLE)]
    before, after = verdicts(list(read_exchanges(EXAMPLE))), verdicts(silent)
    assert all(after[one] in (before[one], "could not tell") for one in before)
    assert after != before
