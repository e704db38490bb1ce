"""Attacks from a lab on what the engine does with its calls: labels sought by probing, a board made to overflow, floods."""

import re
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from bot.coder.lab.cards import board, lab_cards, lab_notes, shown, shown_gain
from bot.coder.lab.prompts import LabTurn
from bot.models import Item
from state.labs import add_hint, add_note, close_lab, labs, open_lab
from tests import needs
from tests.bot.coder.lab.scripted import SOLUTION, Scripted, lived, sh, turns, written
from tests.bot.engine.parts import RUN, opened

pytestmark = pytest.mark.integration

LABS, HINTS, NOTES = 30, 200, 20
"""As many as a long run has, and the most that a lab may leave."""
PROBED = 14
"""Rows whose labels one look is to tell."""


def entropy(answers: np.ndarray) -> float:
    """Return the bits that an answer tells on the average, where all labellings are alike."""
    share = np.unique(answers, return_counts=True)[1] / len(answers)
    return float(-(share * np.log2(share)).sum())


@pytest.mark.parametrize("rows", [1000, 5000])
def test_the_best_probe_of_a_look_finds_out_a_dozen_labels(rows: int) -> None:
    """Losses of a few rows are spread so that their sum tells each label; of the others nothing is staked."""
    told = []
    for ratio in (1.1, 1.15, 1.2, 1.3, 1.5, 2.0):
        stakes = 34.0 / ratio ** np.arange(PROBED)  # logits, up to where log losses are clipped
        labels = (np.arange(2**PROBED)[:, None] >> np.arange(PROBED)) & 1
        losses = np.where(labels == 1, np.log1p(np.exp(-stakes)), np.log1p(np.exp(stakes)))
        plain = np.log(2.0)
        scores = (losses.sum(1) + (rows - PROBED) * plain) / rows
        noise = np.sqrt(((losses**2).sum(1) + (rows - PROBED) * plain**2) / rows - scores**2) / rows**0.5
        gains = plain - scores
        errors = np.sqrt(((plain - losses) ** 2).sum(1) / rows - gains**2) / rows**0.5
        assert entropy(scores) > PROBED - 0.1, "exact scores tell all"
        answers = [
            f"{shown(score, n)} ± {n:.2g} {shown_gain(gain, e)}"
            for score, n, gain, e in zip(scores, noise, gains, errors, strict=True)
        ]
        told.append(entropy(np.array(answers)))
    assert 4 < max(told) < 12.5


def test_scores_are_rounded_to_two_digits_of_their_noise_whatever_their_size() -> None:
    assert shown(45123.4, 512.0) == "45120"
    assert shown(0.512345, 0.0123) == "0.512"
    assert shown_gain(-7312.0, 2345.0) == "-7300 ± 2.3e+03 (beyond noise)"


async def test_a_board_that_labs_fill_as_far_as_they_may_stays_short(tmp_path: Path) -> None:
    async with opened(tmp_path, 5) as context:
        with context.store.write() as tx:
            for lab in range(2, LABS + 2):
                open_lab(tx, RUN, lab, draft_id=str(lab), parents=(), title="t" * 200)
                for number in range(HINTS):
                    hint = {"name": f"{number}".ljust(100, "n"), "score": 1.0 + number, "note": "n" * 500, "turn": 1}
                    noise = {"error": 0.1, "gain": 0.1, "gain_error": 0.1, "against": "n" * 120, "file": None}
                    add_hint(tx, RUN, lab, {**hint, **noise})
                for _ in range(NOTES):
                    add_note(tx, RUN, lab, "n" * 500)
                close_lab(tx, RUN, lab, "done", dict.fromkeys(("believed", "seen", "why", "condition"), "w" * 2000))
        own, whole = board(context, 2), board(context, 2, everything=True)
        assert all(len(one.hints) == HINTS for one in labs(context.store, RUN))
        assert sum(map(len, own)) < 15_000
        assert sum(map(len, whole)) < 40_000
        assert f"lab {LABS + 1}, folds · 0nnn" in "\n".join(whole), "the best stands there"
        assert f"{HINTS - 3} more" in whole[-1]
        assert len(lab_cards(context, 2)) <= 20
        assert len(lab_notes(context, 2)) <= 40


async def test_a_flood_of_scores_in_the_background_is_refused(tmp_path: Path) -> None:
    needs.bubblewrap()
    tmp_path.chmod(0o755)
    slow = SOLUTION + "\nimport time; time.sleep(3)\n"
    flood = 'for n in $(seq 40); do echo "# $n" >> solution.py; lab score --background solution.py 2>&1; done | sort | uniq -c'
    async with lived(tmp_path / "run", Scripted([written("solution.py", slow, flood), sh("sleep 1")])) as context:
        seen = turns(context)
    counted = re.findall(r"(\d+) (it runs beside|lab: 6 scripts wait to be scored already)", seen[0])
    (accepted, _), (refused, _) = ((int(many), what) for many, what in counted)
    assert accepted + refused == 40
    assert 6 <= accepted <= 12, "six wait, and on a busy machine a few have ended before the flood has"


async def test_scripts_that_are_to_break_the_parser_are_refused_at_once(tmp_path: Path) -> None:
    needs.bubblewrap()
    tmp_path.chmod(0o755)
    bombs = ["'-' * 99000 + '4'", "'x' + '[0]' * 33000", "'1' + '+1' * 49000", "'(' * 99999", "'lambda:' * 14000 + 'x'"]
    tries = "; ".join(
        f'python3 -c "print({bomb}, end=str())" > b.py; lab score b.py 2>&1 | cut -c1-60' for bomb in bombs
    )
    async with lived(tmp_path / "run", Scripted([sh(tries)])) as context:
        seen = turns(context)
    assert seen[0].count("does not compile") == len(bombs)


def test_what_a_coder_could_read_is_written_down_once() -> None:
    known = (Item("post/1", datetime(2020, 1, 1, tzinfo=UTC)),)
    assert LabTurn((), (), known).items() == known
    assert LabTurn((), (("a", "b"),), known).items() == ()
