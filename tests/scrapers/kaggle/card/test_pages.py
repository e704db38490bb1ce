"""Tests of a competition's pages in markdown."""

from scrapers.kaggle.card.pages import description_of
from scrapers.kaggle.competitions import Page
from tests.scrapers.kaggle.card.cases import as_markdown


def read(content: str, mime: str = "") -> str:
    (page,) = as_markdown([Page(name="evaluation", content=content, mime_type=mime)])
    return page.content


def test_html_is_read_whether_it_says_so_or_not() -> None:
    content = "<h2>Evaluation</h2><p>On <b>RMSE</b>.</p><pre>id,x</pre>"
    assert read(content) == read(content, "text/html") == "## Evaluation\n\nOn **RMSE**.\n\n```\nid,x\n```"


def test_what_nobody_sees_is_not_read() -> None:
    assert read("On <!-- RMSE --> MAE", "text/markdown") == "On   MAE"


def test_the_description_holds_task_evaluation_and_data_but_no_rules() -> None:
    pages = [
        Page(name=name, content=f"About {name}.") for name in ("rules", "data-description", "Evaluation", "description")
    ]
    assert description_of(pages) == (
        "# Description\n\nAbout description.\n\n# Evaluation\n\nAbout Evaluation.\n\n"
        "# Data description\n\nAbout data-description."
    )
