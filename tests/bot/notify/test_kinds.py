"""The catalogue of notices: `messages.txt` has what services get of the facts below, with key and urgency."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from jinja2 import UndefinedError, meta

from bot.notify import Notice, kinds
from bot.notify.wording import notice_environment, render
from tests.source_tree import ROOT

T = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
FOREIGN = "<!channel> [x](http://evil.example) ||a|| @all \u202egnp\x1b[31m"
"""What strangers write: names of teams, messages of the site, words of pages."""
BOARD = {"rank": 5, "earlier": 3, "teams": 100, "at": T, "private": False, "score": 0.125}
SHORT_BOARD = {"rank": 5, "earlier": None, "teams": 100, "at": T, "private": False}
MOVE = {"first_before": 0.25, "first": 0.125, "gold_before": None, "gold": 0.5, "at": T}
FILE = {"tag": "wine-1-ab", "node": 7}
END = {"run": "wine-aide", "score": 0.25, "private": False, "rank": 3, "teams": 100, "medal": "gold"}
CHOICE = {"tag": "a", "node": 1, "public_score": 0.25, "validation_score": None}
DAY = {"name": "wine", "rank": 3, "teams": 100, "best_score": 0.25, "nodes": 1, "submissions": 2, "spent_usd": None}
DAY |= {"days_left": 3.5, "scores": [0.125, 0.25]}
URL = "https://www.kaggle.com/competitions/wine/rules"
RULES = {"url": URL, "command": "bot approve wine --rules", "page": True, "note": "", "silent": ("sharing",)}
CARD = {
    "file": "bot.toml",
    "lines": ('metric = "rmse"', 'id_column = "a"'),
    "note": "",
    "by": "",
    "quotes": (),
    "choices": (),
}
DATA = {"folder": "/runs/wine", "fetched_at": T, "files_before": 3, "bytes_before": 1000, "files": 4, "bytes": 1200}
SPENT = {"level": "day", "period": "2026-01-02", "what": "money", "share": 100, "spent": "5.0 USD", "cap": "5.0 USD"}
FACTS: list[tuple[str, dict[str, Any]]] = [
    ("leaderboard.rank", {**BOARD, "passed": 4, "passed_by": [FOREIGN, "b"]}),
    ("leaderboard.rank", {**BOARD, "rank": 2, "score": None, "private": True, "passed": 0, "passed_by": []}),
    ("leaderboard.medal", {**SHORT_BOARD, "medal": "gold"}),
    ("leaderboard.top", {**MOVE, "score": 0.75, "rank": 5, "teams": 100}),
    ("run.best", {"run": "wine-aide", "node": 4, "score": 0.5, "earlier": None, "title": FOREIGN}),
    ("competition.over", {**END, "report": "/runs/wine/report.html"}),
    ("competition.kind", {"name": "judged", "sentence": "is judged", "source": FOREIGN, "worked_on": False}),
    ("submission.scored", {**FILE, "public_score": 0.25, "validation_score": None}),
    ("submission.failed", {**FILE, "reason": FOREIGN}),
    ("submission.refused", {**FILE, "words": FOREIGN}),
    ("submission.delayed", {"node": 7, "words": FOREIGN, "day": date(2026, 1, 2)}),
    ("submission.quota", FILE),
    ("submission.disagree", {"run": "wine-aide", "pairs": 6, "why": FOREIGN}),
    ("notebook.pushed", {**FILE, "ref": "ann/bot-wine-ab", "version": 1}),
    ("notebook.failed", {"node": 7, "why": "it ended as error", "log": f"Traceback\n{FOREIGN}"}),
    ("approval.asked", {**FILE, "id": 4, "validation_score": 0.25, "why": FOREIGN, "at": T}),
    ("selection.proposed", {"deadline": T, "tags": "a", "url": "https://www.kaggle.com/c/wine", "choices": [CHOICE]}),
    ("model.samples", {"endpoint": "models.example:8000"}),
    ("problem.rules", {"url": URL, "rules_sha": None}),
    ("problem.confirm", {**RULES, "lines": (FOREIGN, "b" * 20)}),
    ("problem.card", {**CARD, "command": "", "note": FOREIGN}),
    ("problem.card", {**CARD, "by": "the model", "quotes": (FOREIGN,), "command": "bot approve wine --card"}),
    ("problem.data", DATA),
    ("problem.grader", {"why": "grade.py is no Python"}),
    ("problem.work", {"since": T, "of": "Docker", "why": "it does not answer"}),
    ("problem.disk", {"since": T, "folder": "/var/lib/bot", "free_gb": 1.25, "wanted_gb": 10.0}),
    ("budget.reached", SPENT),
    ("summary.daily", {"day": date(2026, 1, 2), "competitions": [DAY, {**DAY, "scores": []}], "problems": [FOREIGN]}),
    ("notify.trial", {"at": T}),
]
OF_NO_COMPETITION = {"problem.work", "problem.disk", "budget.reached", "summary.daily", "notify.trial"}
NOTICES = [Notice(kind, "" if kind in OF_NO_COMPETITION else "wine", facts) for kind, facts in FACTS]


def catalogue() -> str:
    """Return what `messages.txt` should hold."""
    found = []
    for notice in NOTICES:
        key, urgent = notice.key.encode("unicode_escape").decode(), ", urgent" if notice.urgent else ""
        found.append("\n".join([f"=== {key}{urgent}", *render(notice), ""]))
    return "\n".join(found)


def test_each_kind_has_its_key_and_its_message() -> None:
    assert catalogue() == (Path(__file__).parent / "messages.txt").read_text(encoding="utf-8")
    assert {notice.kind for notice in NOTICES} == set(kinds())


def test_strangers_words_call_nobody_and_link_to_nothing() -> None:
    texts = [text for notice in NOTICES for text in render(notice)]
    marks = ("<", "@all", "!channel", "http://evil", "](", "||", "\u202e", "\x1b")
    assert [mark for mark in marks if mark in "".join(texts)] == []


def test_a_key_is_of_what_is_reported_not_of_how_it_stands_meanwhile() -> None:
    rank = NOTICES[0]
    assert replace(rank, facts={**rank.facts, "earlier": 9}).key == rank.key
    assert replace(rank, facts={**rank.facts, "at": T + timedelta(seconds=1)}).key != rank.key
    assert replace(rank, competition="beer").key != rank.key


def test_a_fact_that_is_missing_is_an_error_and_a_title_is_one_short_line() -> None:
    with pytest.raises(UndefinedError, match="'reason' is undefined"):
        render(Notice("submission.failed", "wine", FILE))
    title, _ = render(Notice("model.samples", "wine", {"endpoint": "a\nb" * 200}))
    assert (title[:34], len(title)) == ("wine: sample data is sent to a ba ", 200)


def test_callers_give_each_kind_the_facts_that_it_names() -> None:
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "bot").rglob("*.py")]
    callers = [ast.parse(source) for source in sources if "import Notice\n" in source]
    notices = [found for caller in callers for found in _notices(caller)]
    assert {kind for kind, _ in notices} == set(kinds())
    for kind, facts in notices:
        parsed = notice_environment().parse(kinds()[kind].title + kinds()[kind].text)
        named = meta.find_undeclared_variables(parsed) | {*kinds()[kind].once_per}
        assert facts == named - {"competition"}, kind


def _notices(tree: ast.Module) -> Iterator[tuple[str, set[str]]]:
    """Yield the kind of each `Notice(...)` in the source, and the names of its facts."""
    dicts: dict[str, ast.expr] = {}
    for node in sorted((n for n in ast.walk(tree) if isinstance(n, ast.stmt | ast.Call)), key=lambda n: n.lineno):
        match node:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), value=ast.expr() as value):
                dicts[name] = value
            case ast.Call(ast.Name("Notice"), [ast.Constant(str(kind)), _, facts]):
                yield kind, _keys(facts, dicts)


def _keys(facts: ast.expr, dicts: dict[str, ast.expr]) -> set[str]:
    if isinstance(facts, ast.Name):
        facts = dicts[facts.id]
    assert isinstance(facts, ast.Dict), ast.unparse(facts)
    pairs = zip(facts.keys, facts.values, strict=True)
    return {name for key, value in pairs for name in (_keys(value, dicts) if key is None else [ast.literal_eval(key)])}
