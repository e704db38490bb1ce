"""Tests of how pages are taken apart by what they are about."""

from scrapers.kaggle.card.pages import blocks, description_of
from scrapers.kaggle.competitions import Page
from tests.scrapers.kaggle.card.cases import as_markdown


def topics(content: str, name: str = "description", mime: str = "") -> list[tuple[str, str, str]]:
    (page,) = as_markdown([Page(name=name, content=content, mime_type=mime)])
    return [(one.topic, one.kind, one.text) for one in blocks(page)]


def test_headings_of_all_kinds_say_what_a_paragraph_is_about() -> None:
    content = (
        "Houses.\n\n# Evaluation\nOn RMSE.\n## Submission File\n```\nid,x\n```\n### Note\nSort it.\n"
        "**Prizes**\nNone.\n\nTimeline\n========\nSoon.\n\nData Fields\n- `id`"
    )
    assert [(topic, text) for topic, kind, text in topics(content) if kind != "heading"] == [
        ("overview", "Houses."),
        ("evaluation", "On RMSE."),
        ("submission", "id,x"),
        ("submission", "Sort it."),
        ("other", "None."),
        ("other", "Soon."),
        ("data", "- `id`"),
    ]


def test_a_page_is_about_what_its_name_says() -> None:
    assert topics("On RMSE.", "evaluation") == [("evaluation", "text", "On RMSE.")]
    assert topics("`id`", "data-description") == [("data", "text", "`id`")]
    assert topics("One account.", "rules")[0][0] == "other"


def test_html_is_read_whether_it_says_so_or_not() -> None:
    content = "<h2>Evaluation</h2><p>On <b>RMSE</b>.</p><pre>id,x</pre>"
    wanted = [
        ("evaluation", "heading", "Evaluation"),
        ("evaluation", "text", "On **RMSE**."),
        ("evaluation", "code", "id,x"),
    ]
    assert topics(content) == topics(content, mime="text/html") == wanted


def test_what_nobody_sees_is_not_read() -> None:
    assert topics("On <!-- RMSE --> MAE", mime="text/markdown") == [("overview", "text", "On   MAE")]


def test_a_fence_that_nobody_closes_ends_with_the_page() -> None:
    assert topics("```\nid,x") == [("overview", "code", "id,x")]


def test_the_description_holds_task_evaluation_and_data_but_no_rules() -> None:
    pages = [
        Page(name=name, content=f"About {name}.") for name in ("rules", "data-description", "Evaluation", "description")
    ]
    assert description_of(pages) == (
        "# Description\n\nAbout description.\n\n# Evaluation\n\nAbout Evaluation.\n\n"
        "# Data description\n\nAbout data-description."
    )
