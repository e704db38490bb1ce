import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.execution.task import LONGEST, TaskText, shown_description
from tests.bot.evaluation.parts import SLUGS, card, real

PAGE = """# Overview

## Description
We sell shoes.

## Prizes
### Kernels
Gold.

## Evaluation
On RMSE.

### Submission File
id,y

## Timeline
- December

# Data
## Files
train.csv
"""


def order(text, *parts):
    places = [text.index(part) for part in parts]
    return places == sorted(places)


def test_scoring_and_data_come_first_and_what_cannot_matter_is_named_alone():
    text = shown_description(PAGE)
    assert order(text, "On RMSE.", "id,y", "train.csv", "We sell shoes.")
    assert "Gold" not in text and "December" not in text
    assert text.endswith("[left out: Prizes; Timeline]")


@pytest.mark.parametrize(
    "prizes",
    ["**Prizes**", "Prizes\n======", "##Prizes", "###### Prizes ######", "Prizes", "## Total Prize Pool & Awards"],
)
def test_headings_may_have_any_form(prizes):
    text = shown_description(f"Shoes.\n\n{prizes}\nGold.\n\nEvaluation\n----------\nOn RMSE.")
    assert "Gold" not in text and order(text, "On RMSE.", "Shoes.")


def test_a_text_without_headings_stays_as_it_is():
    text = "Predict prices.\n\nThere are prizes, and\na timeline."
    assert shown_description(text) == text


def test_code_is_not_taken_for_headings():
    text = "## Data\n```\n# Prizes\nid,y\n```\n- a"
    assert shown_description(text) == text


def test_tables_of_hosts_teams_and_awards_are_data():
    text = "## Data\n### Hosts\nhosts.csv\n### Teams\nteams.csv\n### Awards\nawards.csv\n### Acknowledgements\nThanks."
    shown = shown_description(text)
    assert all(f"{name}.csv" in shown for name in ("hosts", "teams", "awards")) and "Thanks" not in shown


def test_data_below_what_is_dropped_is_kept():
    assert "prices.csv" in shown_description("## Getting Started\nHello.\n### Data files\nprices.csv")


def test_a_bold_sentence_is_not_lost():
    text = "## Evaluation\n**Negative values are refused.**\n\n**A header is needed.**\n## Data\nNone."
    assert "Negative values are refused." in shown_description(text) and "A header is needed." in shown_description(
        text
    )


def test_pictures_and_targets_of_links_are_left_out():
    text = "On [RMSE (root)](https://example.org/wiki/Root_(error)). ![a leaf](https://example.org/leaf.png) `[a](b)`"
    assert shown_description(text).split() == ["On", "RMSE", "(root).", "`[a](b)`"]


def test_a_long_text_is_cut_behind_a_paragraph_with_a_note_of_how_much_is_missing():
    text = "## Background\n" + "Old shoes.\n\n" * 1000 + "## Evaluation\nOn RMSE.\n\n## Prizes\nGold."
    shown = shown_description(text, 1000)
    assert shown.startswith("## Evaluation\n\nOn RMSE.") or shown.startswith("## Evaluation\nOn RMSE.")
    assert len(shown) <= 1000 and "Old shoes.\n\n[truncated: " in shown and shown.endswith("[left out: Prizes]")


LINES = st.lists(
    st.sampled_from(["# Prizes", "**Data**", "text", "===", "---", "```", "- item", "", "Evaluation", "word " * 60])
)


@given(LINES, st.sampled_from([300, 1000, LONGEST]))
def test_whatever_the_text_the_bound_is_kept(lines, longest):
    assert len(shown_description("\n".join(lines), longest)) <= longest


@given(LINES)
def test_where_nothing_is_dropped_no_word_is_lost(lines):
    text = "\n".join(lines).replace("Prizes", "Goal")
    shown = shown_description(text)
    assert all(shown.count(word) == text.count(word) for word in ("text", "item", "word", "Data"))


@pytest.mark.integration
@pytest.mark.parametrize("slug", SLUGS)
def test_real_descriptions_keep_scoring_and_data_and_lose_the_rest(slug):
    folder, _ = real(slug)
    text = shown_description((folder / "description.md").read_text())
    assert order(
        text, "Submissions are evaluated", "Submission F", "Dataset Description", "\n# Description".strip()[2:]
    )
    assert not any(
        word in text for word in ("Kaggle is hosting", "First Prize", "deadline", "kaggle.com/competitions/")
    )


@pytest.mark.integration
def test_nothing_of_a_data_section_is_missing_where_it_stood_behind_prizes():
    folder, _ = real("nomad2018-predict-transparent-conductors")
    text = shown_description((folder / "description.md").read_text())
    assert "Lattice vectors and angles: lv1, lv2, lv3" in text and "/{train|test}/{id}/geometry.xyz" in text


def test_a_prompt_shows_the_description_so():
    task = card().model_copy(update={"description": PAGE})
    assert TaskText.from_card(task).description == shown_description(PAGE)
