"""What a careful reader proposes over all cases; a quote stands on a page if its words do."""

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.configuration.competition import CompetitionSettings
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.live.reading.card import ReadCard, question_of
from bot.live.reading.quotes import ReadPage, not_found
from scrapers.kaggle.card.derive import derive
from tests.scrapers.kaggle.card.cases import DEFAULTS, load_cases

READ_AT = datetime(2026, 11, 26, tzinfo=UTC)


@pytest.mark.integration
def test_nothing_is_settled_wrongly_and_all_but_a_few_answers_are_proposed() -> None:
    answers = json.loads((Path(__file__).parent / "read_cards.json").read_text(encoding="utf-8"))
    counted: Counter[str] = Counter()
    for case in load_cases():
        derived = derive(case.evidence, METRIC_DIRECTIONS)
        # Where the reader gave no answer it was null.
        reply = json.dumps(answers.get(case.name, {"metric": None}))
        reading = ReadCard.from_evidence(case.evidence, READ_AT).parse(reply)
        found = question_of(case.evidence, CompetitionSettings(), derived, reading, "the reader")
        if not found.proposal.values:
            counted["lines to write" if not case.answerable else "lines to write, though there is an answer"] += 1
            continue
        card = found.derived.card
        told = (card.metric.name, DEFAULTS | card.metric.params, card.id_column, card.prediction_columns)
        right = case.answerable and told == (case.metric, case.params, case.id_column, case.predictions)
        assert right or not case.answerable, f"{case.name}: an answer that the case contradicts"
        assert right or not found.agreed, f"{case.name}: settled, though nobody could be certain"
        state = "settled" if found.agreed else "to be confirmed"
        counted[state if right else f"{state}, though a careful person might not"] += 1
    assert counted == {
        "settled": 42,
        "to be confirmed": 127,
        "to be confirmed, though a careful person might not": 21,
        "lines to write": 241,
        "lines to write, though there is an answer": 3,
    }


def test_without_a_reader_what_the_field_names_is_proposed_and_nothing_is_settled() -> None:
    counted: Counter[str] = Counter()
    for case in load_cases():
        found = question_of(
            case.evidence, CompetitionSettings(), derive(case.evidence, METRIC_DIRECTIONS), None, "nobody"
        )
        assert not found.agreed
        if not found.proposal.values:
            counted["lines to write"] += 1
        else:
            right = found.proposal.overrides.metric == case.metric
            counted["the answer" if right else "half of the truth"] += 1
    assert counted == {"lines to write": 361, "the answer": 44, "half of the truth": 29}


PAGE = ReadPage(
    "evaluation",
    "# Evaluation\nSubmissions are **not** scored on [RMSE](https://en.wikipedia.org/wiki/RMSE),\nbut on R² (`r2`).",
)


@pytest.mark.parametrize(
    ("quote", "stands"),
    [
        ("Submissions are not scored on RMSE, but on R2 (r2).", True),
        ("submissions are *not*\nscored", True),
        ("Submissions are scored on RMSE", False),
        ("Submissions are not scored on RMS", False),
        ("", False),
        ("...", False),
    ],
)
def test_words_must_stand_in_a_row(quote: str, stands: bool) -> None:
    assert not_found([quote], [PAGE]) == ([] if stands else [quote])


WORDS = st.lists(st.sampled_from(["score", "RMSE", "not", "MAE", "is"]), min_size=1, max_size=8)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(WORDS, st.integers(0, 7), st.integers(1, 8), st.sampled_from([" ", "\n", " **", ", "]))
def test_any_words_in_a_row_stand_whatever_is_between_them(words: list[str], at: int, many: int, mark: str) -> None:
    page, first = ReadPage("x", mark.join(words)), at % len(words)
    assert not_found([" ".join(words[first : first + many])], [page]) == []
    assert not_found([" ".join([*words, "never"])], [page]) != []
