"""What is kept of a probe names no person and quotes no text, and still says all that the points need."""

import json
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bot.simulator.probe.checks import judge
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
    assert [one.finding.verdict for one in judge(again)] == [one.finding.verdict for one in judge(example)]
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
        for tag in (
            "blockquote",
            "strong",
            "table",
            "thead",
            "tbody",
            "span",
            "code",
            "div",
            "pre",
            "img",
            "sup",
            "sub",
        ):
            tags = tags.replace(f"<{tag}", "").replace(f"</{tag}", "")
        words = [word for word in "".join(one if one.isalpha() else " " for one in tags).split() if set(word) != {"x"}]
        assert all(len(word) <= 2 for word in words), left


def test_a_request_keeps_what_the_bot_asked() -> None:
    for one, again in zip(read_exchanges(EXAMPLE), masked(*read_exchanges(EXAMPLE)), strict=True):
        assert again.request.keys() == one.request.keys()
        assert replace(again, request={}, answer=None) == replace(one, request={}, answer=None)
