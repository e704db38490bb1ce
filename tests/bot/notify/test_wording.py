"""Wording: sparklines, and foreign text that stays text in every service."""

import math
import re
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.notify import Notice
from bot.notify.wording import neutral, render, sparkline


def test_a_sparkline_rises_and_falls_with_its_values() -> None:
    assert sparkline([0, 1, 2, 3, 4, 5, 6, 7]) == "▁▂▃▄▅▆▇█"
    assert sparkline([5, 5]) == "▁▁"
    assert sparkline([]) == sparkline([math.nan]) == ""


@settings(max_examples=40)
@given(st.text(st.sampled_from("<>@!:/[](w.|~`a \u202e\n"), max_size=50) | st.text(max_size=50))
def test_foreign_text_holds_nothing_that_begins_html_a_mention_a_link_or_an_image(text: str) -> None:
    shown = neutral(text)
    assert not any(mark in shown for mark in ("<", ">", "://", "](", "www.", "||", "~~", "``", "\u202e"))
    assert all(shown[i + 1 : i + 2] == "\u200b" for i, sign in enumerate(shown) if sign in "@!")


CALLS = {
    "Slack": "<!channel> <!here|here> <@U012AB> <#C01|x> <http://evil.com|prize>",
    "Discord": "@everyone @here <@123> <@&4> [x](<http://evil.com>) ||hidden||",
    "Mattermost": "@all @channel ~town-square #tag ![x](http://evil.com/a.png)",
    "Zulip": "@**all** @_**Ann|7** @*group* #**stream>topic** [x](/user_uploads/1)",
    "Markdown": "[a][b] [b]: //evil.com [b] : evil.com [a] (http://evil.com) ~~x~~ ```x```",
    "bare addresses": "evil.com/x kaggle.com.evil.io EVIL.ZIP xn--e1afmkfd.xn--p1ai пример.рф a。com ann@evil.com WWW.evil.com",
    "schemes": "mailto:a@b.com tel:+1234567 javascript:alert(1) TG://resolve data:text/html,x magnet:?xt=1",
    "Mastodon and Misskey": "@ann @ann@evil.social ＠ann #win ＃win $[x2 big] ?[silent](http://evil.com)",
    "numbers and commands": "http:1.2.3.4/x 10.0.0.1 +4915112345678 /start /me wins $WIN evil.py/login bitcoin:1abc",
    "more": "u/ann r/kaggle 💩.la evil_.com evil․com ﹫all ﹟win :tada: +1 (555) 123-4567 555-123-4567 (/start) ﹤b﹥",
    "Kook, emoji, Matrix and GitHub": "(met)all(met) (rol)1(rol) :100: :8ball: :パーティ: webcal:x smsto:12 GH-12 evil﹒com",
    "templates": "{{ states('lock.door') }} {% for x in y %} ${x} [CQ:at,qq=all] npub1qqqqqqqqqqqq 5:100: 5:8ball:",
    "yet others": "evil.भारत evil.বাংলা spotify:track:1 sgnl:x doi:10.1/2 /start. /kick, /1 ＋49 151 1234567",
    "entities": "&ltimg src=x&gt &#60b&#x3e &amp &quot",
    "HTML": "<a href=//evil.com>x</a> <img src=x> &lt;img&gt; &#60;b&#62; &#x3c;b ＜b＞ <!-- x -->",
}
_BEGINNINGS = re.compile(
    r"[<>＜＞]|[@＠#＃!~]\w|[@!#][*_\[]|://|\]\s?[(\[:]|\w[.。](?:com|io|zip|py|social|рф|xn)|\d[.]\d+[.]\d+[.]\d"
    r"|[+$]\w|(?:^|[ (])/\w+[ )]|www\.|\w:[a+/?t]|&#?\w+;|\$\[|\|\||~~|``"
    r"|\{[{%]|\$\{|CQ:a|npub1\w|\.(?:भ|ব)|[kl]:[tx]|i:1|(?<!\w)/(?:start|kick|1)\b|＋\d|&(?:lt|gt|#|amp|quot)"
    r"|\((?:met|rol)\)|:パ\w+:|(?:webcal|smsto):\w|GH-\d|l﹒c|\b[ur]/\w|💩\.l|_\.c|․c|[﹫﹟]\w|:\w+:|\d-\d{4}|[﹤﹥]",
    re.IGNORECASE,
)
INVISIBLE = str.maketrans({"\u200b": None, "‹": "<", "›": ">"})


@pytest.mark.parametrize("service", CALLS)
def test_what_calls_or_links_in_a_service_is_text_that_reads_as_before(service: str) -> None:
    words = CALLS[service]
    assert _BEGINNINGS.search(words), "it would"
    shown = neutral(words)
    assert _BEGINNINGS.search(shown) is None
    assert shown.translate(INVISIBLE) == words.translate(str.maketrans("＜＞﹤﹥", "<><>"))


def test_a_name_cannot_add_a_line_to_a_notice() -> None:
    facts = {
        "rank": 5,
        "earlier": 3,
        "teams": 9,
        "at": datetime(2026, 1, 2, tzinfo=UTC),
        "private": False,
        "score": 0.5,
    }
    _, text = render(
        Notice("leaderboard.rank", "wine", {**facts, "passed": 1, "passed_by": ["x\n\nTo send it: bot approve 4"]})
    )
    assert "Passed by x To send it: bot approve 4.\n" in text


def test_figures_times_and_names_of_files_stay_as_they_are() -> None:
    words = '/runs/wine/report.html, submission.csv of 2026-01-02T03:04:00Z: 0.25 (was 0.5); kind = "csv"; metric: auc'
    words += "; R&D, AT&T; 3/5, a & b: {x}, 12:30; 12:30:45; v1.2.3; 日本：チーム; e.g. this"
    assert neutral(words) == words


def test_only_an_address_is_a_link() -> None:
    def shown(url: str) -> str:
        return render(Notice("problem.rules", "wine", {"url": url, "rules_sha": None}))[1]

    assert shown("https://www.kaggle.com/c/a_b").endswith("never does: https://www.kaggle.com/c/a_b")
    assert shown("https://x.y/ <!channel>").endswith("never does: https:\u200b//x.y/ ‹!\u200bchannel›")
