"""Attacks from a lab on what the engine does with its calls: labels sought by probing, a board made to overflow, floods."""

import json
import shutil
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from bot.coder.lab.assignment import LabAssignment
from bot.coder.lab.calls import Fit, LabCall, Log
from bot.coder.lab.cards import board, gain_in_words, lab_cards, lab_notes
from bot.coder.lab.lab_setup import LabSetup
from bot.coder.lab.prompts import LabTurn
from bot.coder.lab.settings import LabSettings
from bot.engine.context import RunContext
from bot.engine.rounding import rounded_score
from bot.evaluation.answers import Gain
from bot.evaluation.answers.experiments import Arrays, ScoredExperiment
from bot.execution.record import GUARDED, SCORED_EXPERIMENT
from bot.models import Item
from state.experiments import add_experiment, replace_result
from state.labs import add_note, close_lab, open_lab
from state.progress import create_node
from tests import needs
from tests.bot.coder.lab.experimenting import experiments, log, predictions, two_labs
from tests.bot.coder.lab.scripted import Scripted, lived, logged, sh, turns, written
from tests.bot.engine.notebooks import SOLUTION
from tests.bot.engine.parts import RUN, opened
from tests.bot.evaluation.parts import read
from tests.bot.replay.scripted_answers import FILES
from tests.tiny_snapshot import write_tiny

pytestmark = pytest.mark.integration

LABS, EXPERIMENTS, NOTES = 30, 60, 20
"""As many as a long run has, and the most notes that a lab may leave."""
PROBED = 14
"""Rows whose labels one scored script is to tell."""


def entropy(answers: np.ndarray) -> float:
    """Return the bits that an answer tells on the average, where all labellings are alike."""
    share = np.unique(answers, return_counts=True)[1] / len(answers)
    return float(-(share * np.log2(share)).sum())


def probe(stakes: np.ndarray, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return scores, their errors, gains and their errors by all labellings of a few rows with these logits."""
    labels = (np.arange(2**PROBED)[:, None] >> np.arange(PROBED)) & 1
    losses = np.where(labels == 1, np.log1p(np.exp(-stakes)), np.log1p(np.exp(stakes)))
    plain = np.log(2.0)
    scores = (losses.sum(1) + (rows - PROBED) * plain) / rows
    noise = np.sqrt(((losses**2).sum(1) + (rows - PROBED) * plain**2) / rows - scores**2) / rows**0.5
    gains = plain - scores
    return scores, noise, gains, np.sqrt(((plain - losses) ** 2).sum(1) / rows - gains**2) / rows**0.5


@pytest.mark.parametrize("rows", [1000, 5000])
def test_the_best_probe_of_a_scored_script_finds_out_a_dozen_labels(rows: int) -> None:
    """Losses of a few rows are spread so that their sum tells each label; of the others nothing is staked."""
    told = []
    for ratio in (1.1, 1.15, 1.2, 1.3, 1.5, 2.0):
        scores, noise, gains, errors = probe(34.0 / ratio ** np.arange(PROBED), rows)
        assert entropy(scores) > PROBED - 0.1, "exact scores tell all"
        answers = [
            f"{rounded_score(score, n)} ± {n:.2g} {gain_in_words(Gain(gain, e, ''))}"
            for score, n, gain, e in zip(scores, noise, gains, errors, strict=True)
        ]
        told.append(entropy(np.array(answers)))
    assert 4 < max(told) < 12.5


async def test_predictions_of_single_rows_without_those_out_of_fold_change_no_answer_and_no_order(
    tmp_path: Path,
) -> None:
    write_tiny(tmp_path / "tiny", rows=3000)
    async with opened(tmp_path, 5, labs=True) as context:
        two, _ = await two_labs(context)
        plain = (await predictions(context, 1.0))["validation"]
        answers = []
        for row in range(20):
            flipped = plain.copy()
            flipped[row] = 1 - flipped[row]
            told = await log(two, f"flip{row}", 1.0, instead={"validation": flipped}, without=("oof",), verbose=True)
            answers.append(told.text.replace(f"flip{row}", "NAME"))
        kept = [one for one in experiments(context).all() if one.name.startswith("flip")]
        lines = [line for line in board(context, everything=True) if line.startswith("flip")]
        index = (experiments(context).folder / "index.csv").read_text()
    assert len({one.result.score for one in kept}) > 6, "the engine itself sees what they are worth"
    assert len(set(answers)) == 1
    assert [line.partition(" ")[0] for line in lines] == [one.name for one in kept]
    assert [line.partition(",")[0] for line in index.splitlines() if line.startswith("flip")] == [
        one.name for one in kept
    ]
    assert "not scored" in lines[0] and not any(f"{one.result.std_error:.2g}" in index for one in kept)


def test_scores_are_rounded_to_two_digits_of_their_noise_whatever_their_size() -> None:
    assert rounded_score(45123.4, 512.0) == "45120"
    assert rounded_score(0.512345, 0.0123) == "0.512"
    assert gain_in_words(Gain(-7312.0, 2345.0, "")) == "-7300 ± 2.3e+03 (worse)"


async def test_labels_of_validation_rows_cannot_be_read_off_answers_to_experiments(tmp_path: Path) -> None:
    """The same predictions are sent in the best and in the worst order of the rows: but for a phrase, answers are the same."""
    write_tiny(tmp_path / "tiny", rows=3000)
    async with opened(tmp_path, 5, labs=True) as context:
        two, _ = await two_labs(context)
        await log(two, "base", 0.5)
        await log(two, "split", 0.5, without=("oof",))
        view, plain = await context.executor.view(GUARDED), (await predictions(context, 1.0))["validation"]
        _, *labels = read(view.labels / "labels.csv")
        right = np.argsort(np.argsort([float(row[1]) for row in labels], kind="stable"))
        sorts = [
            np.sort(plain)[right],
            np.sort(plain)[::-1][right],
            plain[np.random.default_rng(0).permutation(len(plain))],
        ]
        answers = [
            await log(two, f"probe{n}", 1.0, instead={"validation": probe}, compare_to="base", check=True, verbose=True)
            for n, probe in enumerate(sorts)
        ]
        blind = [
            await log(two, f"blind{n}", 1.0, instead={"validation": probe}, without=("oof",), check=True, verbose=True)
            for n, probe in enumerate(sorts)
        ]
        lent = await log(two, "lent", 1.0, instead={"validation": sorts[0]}, compare_to="split")
        kept = {one.name: one.result for one in experiments(context).all()}
        shown_to_coders = everything_shown(context, await head_of_lab(context))
    assert len({kept[f"probe{n}"].holdout for n in range(3)}) == 3, "the engine itself sees what they are worth"
    told = [answer.text.replace(f"probe{n}", "NAME") for n, answer in enumerate(answers)]
    phrases = ("agrees", "gains less than its folds suggest", "not checked")
    for phrase in phrases:
        told = [text.replace(f"on validation rows: {phrase}", "PHRASE") for text in told]
    assert len(set(told)) == 1 and "PHRASE" in told[0]
    assert len({(answer.data and answer.data.score) for answer in answers}) == 1
    for answer in blind:
        assert answer.data is not None and (answer.data.score, answer.data.gain) == (None, None)
        result = kept[answer.data.name]
        assert f"{result.score:.5g}" not in answer.text + shown_to_coders
        assert result.gain is None or f"{result.gain.value:.5g}" not in answer.text
    assert lent.status == 1 and "no out-of-fold predictions" in lent.text


async def head_of_lab(context: RunContext) -> str:
    """Return what the head of one more lab tells."""
    folder = context.executor.folder.labs / "lab9"
    opening = LabSetup(context, LabSettings(), LabAssignment(title="t", draft="d"), 9, folder, owned=False)
    head = (await opening.write()).head
    return "\n".join(message.content for message in head) + (folder / "TASK.md").read_text()


def everything_shown(context: RunContext, head: str) -> str:
    """Return all texts about experiments that a coder can read."""
    log = experiments(context)
    files = [path.read_text() for path in log.folder.rglob("*") if path.is_file() and path.suffix != ".npy"]
    lines = [*board(context, everything=True, with_kernels=True), *lab_cards(context, 0), *lab_notes(context, 0)]
    return "\n".join([head, *files, *lines])


async def test_no_score_on_validation_rows_is_on_any_page_that_coders_see(tmp_path: Path) -> None:
    planted = {"holdout": 0.123454321, "internal_test": 0.987656789}
    async with opened(tmp_path, 5, labs=True) as context:
        two, three = await two_labs(context)
        await log(two, "one", 0.5)
        real = experiments(context).all()[0].result
        for one in experiments(context).all():
            result = SCORED_EXPERIMENT.dump_python(one.result, mode="json") | planted
            with context.store.write() as tx:
                replace_result(tx, RUN, one.node, result)
        said = [two.status(), (await log(three, "two", 0.6)).text, (await log(three, "one", 0.5)).text]
        with context.store.write() as tx:
            close_lab(tx, RUN, 2, "done", {"method": "m"})
        events = json.dumps(list(context.store.export_events(RUN)), default=str)
        shown_to_coders = "\n".join([everything_shown(context, await head_of_lab(context)), *said, events])
        assert experiments(context).all()[0].result.holdout == planted["holdout"]
    assert f"{real.score:.6g}" in shown_to_coders
    for number in (*planted.values(), real.holdout, real.internal_test):
        assert number is not None
        assert f"{number:.4g}" not in shown_to_coders


async def test_a_board_that_labs_fill_as_far_as_they_may_stays_short(tmp_path: Path) -> None:
    async with opened(tmp_path, 5, labs=True) as context:
        node = 1
        for lab in range(2, LABS + 2):
            with context.store.write() as tx:
                open_lab(tx, RUN, lab, draft_id=str(lab), parents=(), title="t" * 200)
                for number in range(EXPERIMENTS):
                    node += 1
                    create_node(tx, RUN, id=node, action="draft")
                    score = 1.0 + number + lab / 100
                    result = SCORED_EXPERIMENT.dump_python(
                        ScoredExperiment(Arrays("a", "b", "c"), score, 0.1, None, None), mode="json"
                    )
                    name = f"{lab}-{number}".ljust(80, "n")
                    add_experiment(tx, RUN, node, name=name, kind="model", result=result, lab=lab, note="n" * 500)
                for _ in range(NOTES):
                    add_note(tx, RUN, lab, "n" * 500)
                close_lab(tx, RUN, lab, "done", dict.fromkeys(("method", "components", "next", "remarks"), "w" * 2000))
        own, whole = board(context), board(context, everything=True)
        assert sum(map(len, own)) < 15_000
        assert own[1].startswith("2-0nnn"), "the best stands there"
        assert f"{LABS * EXPERIMENTS - 30} more: `lab board --all`" in own
        assert len([line for line in whole if " · model · " in line]) == LABS * EXPERIMENTS
        assert len(lab_cards(context, 2)) <= 20
        assert len(lab_notes(context, 2)) <= 40
        assert len(await head_of_lab(context)) < 120_000


def notebooks(folder: Path) -> None:
    """Have the tiny competition take notebooks, for which scripts are scored."""
    manifest = write_tiny(folder / "tiny") / "snapshot.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"kind": "code"}))


async def test_a_flood_of_scripts_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs.bubblewrap()
    tmp_path.chmod(0o755)
    notebooks(tmp_path)
    monkeypatch.setattr("bot.coder.lab.scripts._MAX_SCRIPTS", 2)
    flood = 'for n in 1 2 3 4; do (echo "# $n"; cat solution.py) > $n.py; lab score $n.py 2>&1 | tail -2 & done; wait'
    async with lived(tmp_path, Scripted([written("solution.py", SOLUTION, flood)])) as context:
        seen = turns(context)
    assert seen[0].count("this lab has reached its limit of 2 scripts") == 2


async def test_scripts_that_are_to_break_the_parser_are_refused_at_once(tmp_path: Path) -> None:
    needs.bubblewrap()
    tmp_path.chmod(0o755)
    notebooks(tmp_path)
    bombs = ["'-' * 99000 + '4'", "'x' + '[0]' * 33000", "'1' + '+1' * 49000", "'(' * 99999", "'lambda:' * 14000 + 'x'"]
    tries = "; ".join(
        f'python3 -c "print({bomb}, end=str())" > b.py; lab score b.py 2>&1 | cut -c1-60' for bomb in bombs
    )
    async with lived(tmp_path, Scripted([sh(tries)])) as context:
        seen = turns(context)
    assert seen[0].count("does not compile") == len(bombs)


async def test_a_flood_of_experiments_that_change_nothing_costs_no_node(tmp_path: Path) -> None:
    needs.bubblewrap()
    tmp_path.chmod(0o755)
    flood = f"; for n in $(seq 12); do lab log one {FILES} & done | sort -u; wait"
    async with lived(tmp_path / "run", Scripted([sh(logged("one", 0.5, flood))])) as context:
        assert len(context.experiments.all()) == 1


async def test_arrays_and_features_that_claim_what_they_have_not_end_in_a_sentence(tmp_path: Path) -> None:
    """The shape of a sparse matrix is read as an array of its own, which may claim any length."""
    claims = [
        "'descr': '<i8', 'fortran_order': False, 'shape': (1000000000000,)",
        f"'descr': '<i8', 'fortran_order': True, 'shape': (0x{'f' * 8000},)",
        "'descr': '<i8', 'fortran_order': False, 'shape': (2",
        "'descr': '|V1000000000', 'fortran_order': False, 'shape': (1000,)",
    ]
    async with opened(tmp_path, 5, labs=True) as context:
        two, _ = await two_labs(context)
        for claim in claims:
            text = f"{{{claim}}}\n".encode()
            content = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + b"few"
            (array := tmp_path / "validation.npy").write_bytes(content)
            with zipfile.ZipFile(features := tmp_path / "features.npz", "w") as file:
                file.writestr("shape.npy", content)
            parts = {
                role: shutil.copyfile(features, tmp_path / f"{role}.npz") for role in ("train", "validation", "test")
            }
            for call in (LabCall(Log("odd"), {"validation": array}), LabCall(Fit("odd"), parts)):
                answer = await two(call)
                assert answer.status == 1 and len(answer.text) < 300 and "\n" not in answer.text
                assert "the engine failed" not in answer.text and "Traceback" not in answer.text
        assert (await log(two, "good", 0.5)).status == 0


def test_what_a_coder_could_read_is_written_down_once() -> None:
    known = (Item("post/1", datetime(2020, 1, 1, tzinfo=UTC)),)
    assert LabTurn((), (), known).items() == known
    assert LabTurn((), (("a", "b"),), known).items() == ()
