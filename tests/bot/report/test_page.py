"""The page on a finished run: what it shows, that it is safe to open, and that it is never missing."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from bot.execution.folder import RunFolder
from bot.report.page import write_report
from bot.report.result import RunResult, write_result
from state.errors import UsageError
from state.progress import end_execution, start_execution, update_node
from state.store import Store
from tests.bot.replay.conftest import Bot, bot, results, tiny
from tests.bot.report.finished_runs import RUN, FakeRun, write_run
from tests.source_tree import ROOT
from tests.state.conftest import START, StandingClock

__all__ = ["bot", "tiny"]

HOSTILE = (
    "<script>alert(1)</script></pre></title></svg><img src=x onerror=alert(2)>\"' onload=alert(3) & \u202egnp \x00"
)
VOID = {"meta", "link", "img", "br", "hr", "input"}
_SUBMITTED = ("submission_exists", "valid_submission")


class Page(HTMLParser):
    """A page taken apart; reading it fails where tags do not match."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    def values(self, attribute: str) -> list[str]:
        """Return all values of an attribute."""
        return [str(attrs[attribute]) for _, attrs in self.tags if attribute in attrs]

    @property
    def prose(self) -> str:
        """All text as a reader sees it, in one line."""
        return " ".join(" ".join(self.words).split())


def page(tmp_path: Path, run: FakeRun) -> Page:
    folder = write_run(tmp_path / "run", run)
    write_report(folder)
    return Page((folder / "report.html").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return page(tmp_path_factory.mktemp("usual"), FakeRun())


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Page:
    return page(tmp_path_factory.mktemp("hostile"), FakeRun(hostile=HOSTILE))


@pytest.mark.integration
@pytest.mark.parametrize(
    "words",
    [
        "above the median, no medal, strictly better than 80.4% of 803 teams.",
        "No isolation",
        "saw nothing after 2017-12-15 00:00 UTC",
        "3 teams are outside the range shown.",
        "Rank correlation 0.812 over",
        "timed out",
        "(4 killed by rule)",
        "Naive Bayes, well done (version 2) by bob",
        "message/17 : Trees? by Ann",
        "kernel/gone",
        "1 h 06 min",
        "unknown",
        "2.0 GiB",
        "most of the gain",
        "model.fit(train)",
        '"hash": "0123"',
    ],
)
def test_a_page_tells(usual: Page, words: str):
    assert words in usual.prose


def test_a_closed_idea_stays_on_the_page_with_the_reason_as_does_what_was_not_kept(usual: Page):
    assert "merged into 2 : one thing" in usual.prose
    assert "Fine-tune BERT : no GPU" in usual.prose
    assert "Support 5.0 of 10, not judged" in usual.prose


def test_every_node_has_a_row_and_a_place_in_the_tree(usual: Page):
    ids = usual.values("id")
    assert [f"node-{n}" for n in range(1, 13)] == [i for i in ids if re.fullmatch(r"node-\d+", i)]
    boxes = [a for tag, a in usual.tags if tag == "g" and str(a.get("class")).startswith("box")]
    assert len(boxes) == 12
    assert sum("chosen" in str(a["class"]) for a in boxes) == 1


def test_ids_are_unique_and_links_on_the_page_lead_somewhere(usual: Page):
    ids = usual.values("id")
    assert len(ids) == len(set(ids))
    targets = [h[1:] for h in usual.values("href") + usual.values("xlink:href") if h.startswith("#")]
    targets += re.findall(r"url\(#([^)]+)\)", usual.text)
    assert set(targets) <= set(ids)
    assert len(targets) > 50


def test_every_figure_names_what_it_shows(usual: Page):
    figures = [a for tag, a in usual.tags if tag == "svg" and "viewbox" in a]
    assert len(figures) == 6
    assert all(a.get("role") == "img" and a.get("aria-label") for a in figures)


@pytest.mark.integration
@pytest.mark.parametrize("which", ["usual", "hostile"])
def test_a_page_loads_nothing_and_runs_nothing(which: str, request: pytest.FixtureRequest):
    taken: Page = request.getfixturevalue(which)
    assert not {tag for tag, _ in taken.tags} & {"script", "img", "iframe", "object", "embed", "base", "form"}
    assert [name for _, attrs in taken.tags for name in attrs if name.startswith("on") or name == "src"] == []
    links = [(tag, str(attrs["href"])) for tag, attrs in taken.tags if "href" in attrs]
    assert {href for tag, href in links if tag == "link"} == {"data:,"}
    assert {href for tag, href in links if tag == "a" and not href.startswith("#")} == {
        "https://example.org/wine",
        "https://example.org/t/1",
        "submission.csv",
        "solution/README.md",
    }
    assert re.findall(r"@import|url\((?!#)", taken.text) == []
    policy = next(str(a["content"]) for tag, a in taken.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy


def test_foreign_text_is_shown_as_it_is_but_for_what_cannot_be_seen(hostile: Page):
    shown = HOSTILE.replace("\u202e", "\ufffd").replace("\x00", "\ufffd")
    for before in ("Trees?", "well done", "Ann", "average models", "number 2", "'target'", "character counts.", "gain"):
        assert f"{before} {shown}" in hostile.prose, before
    assert "\u202e" not in hostile.text
    assert "\x00" not in hostile.text


@pytest.mark.integration
def test_a_run_without_a_score_has_a_page(tmp_path: Path):
    changes = {"stopped_by": "the key is wrong", "misconfigured": True}
    shown = page(tmp_path, FakeRun(nodes=3, failing=0, community=False, changes=changes | _invalid()))
    assert "The submission is invalid and has no score: row 3: not a number" in shown.prose
    assert "The search stopped early: the key is wrong." in shown.prose
    assert "The run had no community data and kept no ideas." in shown.prose


def _invalid() -> dict[str, Any]:
    return {"valid_submission": False, "score": None, "win_rate": 0.0, "message": "row 3: not a number"}


@pytest.mark.integration
def test_a_run_that_submitted_nothing_has_a_page(tmp_path: Path):
    changes = {"chosen_node": None, "validation_score": None, "submission_exists": False, "hidden_scores": {}}
    shown = page(tmp_path, FakeRun(nodes=0, drafts=0, community=False, changes=_invalid() | changes))
    assert "Nothing was submitted: no node has a score" in shown.prose
    for words in ("No node has a score.", "There are no nodes.", "kept no ideas", "kept no drafts", "There is none."):
        assert words in shown.prose


@pytest.mark.integration
def test_nodes_that_all_failed_have_a_page(tmp_path: Path):
    changes = {"chosen_node": None, "best_over_time": [], "hidden_scores": {}, "validation_score": None}
    shown = page(tmp_path, FakeRun(nodes=1, failing=1, changes=changes))
    assert "there is no comparison" in shown.prose


@pytest.mark.integration
def test_a_page_without_the_snapshot_goes_without_the_board(tmp_path: Path):
    folder = write_run(tmp_path / "run", FakeRun(nodes=4))
    (folder / "snapshot").rename(tmp_path / "elsewhere")
    write_report(folder)
    assert "The snapshot's leaderboard no longer exists" in Page((folder / "report.html").read_text()).prose


@pytest.mark.integration
def test_equal_runs_give_equal_pages(tmp_path: Path):
    folder = write_run(tmp_path / "run", FakeRun(nodes=5, lower_is_better=False))
    write_report(folder)
    first = (folder / "report.html").read_bytes()
    write_report(folder)
    assert (folder / "report.html").read_bytes() == first


@pytest.mark.integration
def test_a_long_run_with_long_texts_stays_a_small_page(tmp_path: Path):
    folder = write_run(tmp_path / "run", FakeRun(nodes=80, drafts=12, hostile="long " * 3000))
    write_report(folder)
    assert (folder / "report.html").stat().st_size < 1_500_000


@pytest.mark.parametrize("missing", ["result.json", "config.json", "state.db"])
def test_a_folder_that_is_no_finished_run_is_refused(tmp_path: Path, missing: str):
    folder = write_run(tmp_path / "run", FakeRun(nodes=1))
    (folder / missing).unlink()
    with pytest.raises(UsageError, match=re.escape(missing)):
        write_report(folder)


@pytest.mark.integration
def test_a_whole_replay_writes_its_page(bot: Bot, tiny: Path):
    (result,) = results(bot("replay", tiny, "--model", "builtin", "--steps", 1, "--sandbox", "process", "--json"))
    assert result["report_error"] is None
    shown = Page((Path(result["run"]) / "report.html").read_text(encoding="utf-8"))
    assert "Tiny table" in shown.prose
    assert "The baseline was submitted" in shown.prose
    assert [i for i in shown.values("id") if i.startswith("node-")] == ["node-1"]
    assert RunResult.model_validate({name: value for name, value in result.items() if name != "run"}).nodes == 1


@pytest.mark.integration
def test_guards_and_the_expected_score_stand_beside_the_score(tmp_path: Path) -> None:
    guards = [
        {"node": None, "guard": "ids", "verdict": "passed", "sentence": "ids do not tell of labels"},
        {"node": None, "guard": "time", "verdict": "suspicious", "sentence": f"the future is known {HOSTILE}"},
        {"node": 3, "guard": "copied", "verdict": "not run", "sentence": "it broke"},
        {"node": 5, "guard": "constant", "verdict": "suspicious", "sentence": "all alike"},
    ]
    changes = {"validation_interval": [0.4123, 0.4567], "score_in_interval": False, "guards": guards, "chosen_node": 3}
    prose = page(tmp_path, FakeRun(changes=changes)).prose
    assert "Validation predicts 0.4123 to 0.4567 on the hidden test (95% interval); the score is OUTSIDE it." in prose
    assert "A guard warns: time. 1 guard could not run: copied. 1 other guard found no problem." in prose
    assert "ids do not tell of labels" not in prose, "guards that found nothing take no room"
    assert "A guard warns about the data (time): the future is known" in prose
    assert "A guard was not run on node 3 (copied): it broke." in prose
    assert "A guard warns about node 5" not in prose, "the table shows the others"
    assert "constant suspicious all alike" in prose


@pytest.mark.integration
def test_what_several_guards_say_in_the_same_words_is_said_once(tmp_path: Path) -> None:
    guards = [
        {"node": None, "guard": name, "verdict": "not run", "sentence": "no labels could be withheld"}
        for name in ("time", "ids")
    ]
    shown = page(tmp_path, FakeRun(changes={"guards": guards, "chosen_node": 3}))
    assert "Guards were not run on the data (time, ids): no labels could be withheld." in shown.prose


def test_a_run_without_guards_says_that_none_has_passed(usual: Page) -> None:
    assert "No guard ran." in usual.prose
    assert "Guard findings" not in usual.prose


def test_a_page_begins_with_the_answers_and_the_picture(usual: Page) -> None:
    order = ("How good", "How sure", "Why it won", "What next", "Files", "On the leaderboard", "The run Clock")
    places = [usual.prose.index(words) for words in order]
    assert places == sorted(places)


@pytest.mark.integration
def test_an_ongoing_run_has_a_page_from_what_is_known_so_far(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", FakeRun())
    finished = json.loads((folder / "result.json").read_text())
    unknown = {"score": None, "prediction_source": None, "hidden_scores": {}, **dict.fromkeys(_SUBMITTED, False)}
    so_far = RunResult.model_validate(finished | unknown | {"status": "running", "rank_correlation": None})
    (folder / "result.json").unlink()
    write_result(RunFolder(folder), so_far)
    assert not (folder / "result.json").exists()
    write_report(folder)
    prose = Page((folder / "report.html").read_text(encoding="utf-8")).prose
    assert "The run is in progress: the best so far is node" in prose and "It will be graded at the end." in prose
    assert "What leads" in prose and "Reload this page later:" in prose
    assert not re.search("(gold|silver|bronze|no) medal", prose.partition("The run Agent")[0])
    write_result(RunFolder(folder), RunResult.model_validate(finished))
    assert not (folder / "so-far.json").exists(), "and the end takes its place"


@pytest.mark.integration
def test_features_and_errors_are_shown_where_they_are_known(tmp_path: Path, usual: Page) -> None:
    groups = [["north", 30, 0.9], ["south", 70, 0.4]]
    found = {"rows": 100, "out_of_fold": True, "groupings": [{"column": "place", "groups": groups}]}
    found |= {"columns_compared": 4, "calibration": [[0.1, 0.2, 50], [0.9, 0.7, 50]], "residuals": []}
    folder = write_run(tmp_path / "run", FakeRun(changes={"chosen_node": 3, "diagnostics": found}))
    with Store.open(folder / "state.db", StandingClock(START)) as store, store.write() as tx:
        start_execution(tx, RUN, "n3-full-0", node=3, view="full")
        log = 'feature importances: {"old": 1}\nfeature importances: {"<b>age</b>": 0.25, "size": 0.75}\nthe end\n'
        end_execution(tx, RUN, "n3-full-0", reason="finished", exit_code=0, seconds=1.0, log=log)
    write_report(folder)
    shown = Page((folder / "report.html").read_text(encoding="utf-8"))
    for sentence in (
        "Feature importances of node 3 Feature Share size 75.0% <b>age</b> 25.0%",
        "Error by place , the column with the largest differences",
        "north 30 0.9 south 70 0.4",
        "Calibration: observed frequency by predicted probability",
        "Out-of-fold predictions of 100 training rows by the chosen node",
        "; it relies most on size and <b>age</b>.",
    ):
        assert sentence in shown.prose
    assert "Features and errors" not in usual.prose


@pytest.mark.parametrize("sheet", sorted(path.relative_to(ROOT) for path in (ROOT / "bot").rglob("*.css*")), ids=str)
def test_a_style_sheet_closes_what_it_opens(sheet: Path) -> None:
    """A browser says nothing, and drops the rules below."""
    rules = (ROOT / sheet).read_text()
    assert rules.count("{") == rules.count("}")


@pytest.mark.integration
def test_why_it_won_names_notes_and_models_and_says_where_the_files_show_others(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", FakeRun(changes={"chosen_node": 3}))
    with Store.open(folder / "state.db", StandingClock(START)) as store, store.write() as tx:
        update_node(tx, RUN, 3, plan="Letter counts with LightGBM.", families=("forest",))
    write_report(folder)
    prose = Page((folder / "report.html").read_text(encoding="utf-8")).prose
    assert "It is node 3, Letter counts with LightGBM; its files use forest; none of its files uses lightgbm." in prose
