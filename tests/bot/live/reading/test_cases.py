"""What a careful reader of pages proposes over all cases: recorded answers, checked and settled as a model's are."""

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.configuration.competition import CompetitionSettings
from bot.evaluation.metrics.registry import METRIC_DIRECTIONS
from bot.live.reading.card import ReadCard, question_of
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
        reading = ReadCard.of(case.evidence, READ_AT).parse(reply)
        found = question_of(case.evidence, CompetitionSettings(), derived, reading, "the reader")
        if found.proposal is None:
            counted["lines to write" if not case.answerable else "lines to write, though there is an answer"] += 1
            continue
        card = found.derived.card
        assert card is not None
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
        if found.proposal is None:
            counted["lines to write"] += 1
        else:
            right = found.proposal.overrides.metric == case.metric
            counted["the answer" if right else "half of the truth"] += 1
    assert counted == {"lines to write": 361, "the answer": 44, "half of the truth": 29}
