"""Tests of the cheap rules: what real libraries print when a training is lost, and what must not end one."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox import Breach, ExecutionRequest, ExitReason, Limits, Usage
from sandbox.rules import Rules, RuleSettings

GB = 1000**3


def request(seconds: float = 3600.0) -> ExecutionRequest:
    return ExecutionRequest("test", "fit()", Path("view"), Path("out"), Limits(seconds))


def watch(rules: Rules, lines: Iterable[str], every: float = 10.0, end: str = "\n") -> Breach | None:
    """Print a line every so many seconds; return the first breach. Work goes on meanwhile."""
    now = 0.0
    for line in lines:
        rules.output((line + end).encode())
        now += every
        if breach := rules.usage(Usage(now, cpu_seconds=now, written_bytes=0)):
            return breach
    return None


LOST = {
    "keras 2": "\r 25/100 [=====>........................] - ETA: 12s - loss: nan - accuracy: 0.5000",
    "keras 3": "\x1b[1m100/100\x1b[0m \x1b[32m━━━━━━━━\x1b[0m\x1b[37m\x1b[0m 1s 10ms/step - accuracy: 0.51 - loss: nan",
    "lightning": "Epoch 0:  45%|████▌     | 45/100 [00:01<00:00, 80.15it/s, v_num=0, train_loss=nan.0]",
    "transformers": "{'loss': nan, 'grad_norm': nan, 'learning_rate': 4.5e-05, 'epoch': 0.5}",
    "lightgbm": "[100]\ttraining's l2: nan\tvalid_0's l2: nan",
    "xgboost": "[10]\tvalidation_0-logloss:nan\tvalidation_1-logloss:nan",
    "xgboost rmse": "[10]\ttrain-rmse:inf\teval-rmse:inf",
    "catboost": "10:\tlearn: nan\ttest: nan\tbest: nan (0)\ttotal: 1.2s\tremaining: 10s",
    "plain": "epoch 3 | train loss nan | val loss nan | best val loss 0.693",
    "plain =": "step 300 loss=inf lr=0.001",
    "tensor": "loss: tensor(nan, device='cuda:0', grad_fn=<NllLossBackward0>)",
    "sentence": "Epoch 4: Loss is NaN",
}


@pytest.mark.parametrize("line", LOST.values(), ids=LOST.keys())
def test_a_loss_that_is_no_number_in_report_after_report_ends_the_run(line: str) -> None:
    breach = watch(Rules(RuleSettings(), request()), [line] * 15)
    assert breach is not None
    assert breach.reason is ExitReason.KILLED_BY_RULE
    assert breach.detail.startswith("The rule on loss ended it: the loss is not a number")
    assert "nan" in breach.detail.lower() or "inf" in breach.detail


HARMLESS = {
    "a table of scores": "   mean_test_score  std_test_score  rank\n0  nan  nan  3",
    "numpy's warning": "/x/core.py:12: RuntimeWarning: invalid value encountered in log\n  return np.log(x)  # nan loss",
    "sklearn's failed fits": "[CV 1/5] END alpha=1.0, loss=log_loss;, score=nan total time=   0.0s",
    "a checkpoint's first record": "Epoch 1: val_loss improved from inf to 0.69315, saving model to best.keras",
    "an initial record": "initial best loss: inf",
    "missing values": "column age: nan 177 of 891, loss of information: none",
    "a name that only begins like a value": "loss info: see below; loss inf_policy",
    "missing validation": "{'loss': 0.31, 'val_loss': nan}",
    "auc of one class": "[10]\tvalidation_0-auc:nan",
    "a loss scale that grows": "loss_scale: 65536",
}


@pytest.mark.parametrize("line", HARMLESS.values(), ids=HARMLESS.keys())
def test_what_only_looks_like_a_lost_training_ends_nothing(line: str) -> None:
    assert watch(Rules(RuleSettings(), request()), [line] * 60) is None


def test_one_failed_experiment_among_others_ends_nothing() -> None:
    lines = [f"model {m} fold {f} logloss {'nan' if m % 2 else 0.4}" for m in range(10) for f in range(5)]
    assert watch(Rules(RuleSettings(), request()), lines) is None


def test_a_lost_training_of_a_short_run_is_ended_within_a_fifth_of_its_time() -> None:
    assert watch(Rules(RuleSettings(), request(seconds=50)), ["loss: nan"] * 9, every=1.0) is None
    assert watch(Rules(RuleSettings(), request(seconds=50)), ["loss: nan"] * 12, every=1.0) is not None


def test_a_lost_training_that_falls_silent_is_ended_when_its_patience_is_over() -> None:
    rules = Rules(RuleSettings(silent_minutes=0), request())
    rules.output(b"loss: nan\n" * 20)
    assert rules.usage(Usage(119.0)) is None
    assert rules.usage(Usage(121.0)) is not None


def test_a_loss_that_grows_by_orders_of_magnitude_ends_the_run() -> None:
    lines = [f"Epoch {i}: loss {v:.6g}" for i, v in enumerate([0.7, 0.6, 0.5, *(8.0**k for k in range(3, 30))])]
    breach = watch(Rules(RuleSettings(), request()), lines)
    assert breach is not None
    assert "loss grew from 0.5 and keeps growing" in breach.detail


def test_losses_of_different_scales_and_a_peak_that_passes_end_nothing() -> None:
    small = [f"target a: rmse {1e-3 * 0.98**i:.6g}" for i in range(40)]
    large = [f"target b: rmse {1e5 * 0.98**i:.6g}" for i in range(40)]
    assert watch(Rules(RuleSettings(), request()), small + large) is None
    peak = [f"loss: {v}" for v in [0.5] * 5 + [1e6] * 8 + [0.5] * 30]
    assert watch(Rules(RuleSettings(), request()), peak) is None


def test_a_rule_that_is_switched_off_ends_nothing() -> None:
    lines = ["Epoch 1/1000 loss: nan"] * 100
    assert watch(Rules(RuleSettings(loss=False), request()), lines) is None


def still(rules: Rules, seconds: float, **more: object) -> Breach | None:
    """Measure once a minute while nothing changes."""
    usage = Usage(0.0, cpu_seconds=7.0, written_bytes=10)
    for minute in range(int(seconds // 60) + 1):
        if breach := rules.usage(replace(usage, seconds=60.0 * minute, **more)):  # type: ignore[arg-type]  # of Usage
            return breach
    return None


def test_a_script_that_neither_prints_nor_works_is_ended() -> None:
    breach = still(Rules(RuleSettings(), request()), 700)
    assert breach is not None
    assert "printed nothing and used no processor time for 10 minutes" in breach.detail


def test_silent_work_is_work() -> None:
    rules = Rules(RuleSettings(), request())
    for minute in range(60):
        assert rules.usage(Usage(60.0 * minute, cpu_seconds=3.0 * minute)) is None
    assert still(Rules(RuleSettings(), request()), 3000, cpu_seconds=None) is None
    assert still(Rules(RuleSettings(), request()), 3000, gpu_busy=0.4) is None
    assert still(Rules(RuleSettings(silent_minutes=0), request()), 3000) is None


def test_a_print_now_and_then_is_a_sign_of_life() -> None:
    rules = Rules(RuleSettings(), request())
    for minute in range(60):
        if minute % 9 == 0:
            rules.output(b".")
        assert rules.usage(Usage(60.0 * minute, cpu_seconds=0.0)) is None


def test_a_script_that_fills_the_disk_is_ended_and_one_that_wrote_little_is_not() -> None:
    def rules() -> Rules:
        return Rules(RuleSettings(), request(), free=lambda folder: 100_000_000)

    breach = rules().usage(Usage(5.0, cpu_seconds=5.0, written_bytes=GB))
    assert breach is not None
    assert "only 100000000 are left on the disk" in breach.detail
    assert rules().usage(Usage(5.0, cpu_seconds=5.0, written_bytes=1000)) is None
    roomy = Rules(RuleSettings(), request(), free=lambda folder: 50 * GB)
    assert roomy.usage(Usage(5.0, cpu_seconds=5.0, written_bytes=GB)) is None


@given(st.lists(st.binary(max_size=200) | st.sampled_from([b"loss: ", b"nan", b"\n", b"Epoch 3/", b"9" * 40])))
@settings(max_examples=100)
def test_no_output_makes_a_rule_fail_or_end_anything_for_another_reason(chunks: list[bytes]) -> None:
    rules = Rules(RuleSettings(), request())
    for position, chunk in enumerate(chunks):
        rules.output(chunk)
        breach = rules.usage(Usage(float(position), cpu_seconds=float(position)))
        assert breach is None or breach.reason is ExitReason.KILLED_BY_RULE


def test_a_line_without_an_end_and_a_flood_take_no_memory_and_hide_nothing_for_long() -> None:
    rules = Rules(RuleSettings(), request())
    for _ in range(100):
        rules.output(b"x" * 65536)
    assert len(rules._rest) <= 500
    assert watch(rules, ["", *["loss: nan"] * 15]) is not None
