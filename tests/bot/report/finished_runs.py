"""Finished runs' folders for the report's tests, their databases written through the real functions."""

import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from state.community_rows import add_community
from state.knowledge import add_idea, close_idea
from state.progress import create_node, end_execution, end_node, end_run, start_execution
from state.store import Store, Transaction
from state.tables import KernelVersion, PostedMessage, Topic
from tests.state.conftest import START, StandingClock
from tests.state.rows import add_draft, add_evaluation, add_report, create_run, log_model_call

RUN = "wine-comind-builtin-7-20240101T000000000000Z"
CUTOFF = datetime(2017, 12, 15, tzinfo=UTC)
KNOWN = CUTOFF - timedelta(days=3)


BARE: dict[str, Any] = {
    **dict.fromkeys((f"{line}_threshold" for line in ("gold", "silver", "bronze", "median")), None),
    **dict.fromkeys((*(f"{name}_medal" for name in ("gold", "silver", "bronze", "any")), "above_median"), False),
    "created_at": "2024-01-01T00:00:00+00:00",
    "submission_path": "submission.csv",
    "grader": "registry",
    "community": None,
    "sandbox": "process",
    "status": "finished",
    "prediction_source": "refit",
    "prediction_note": "",
    "validation_score": None,
    "wall_seconds": 60.0,
    "report_error": None,
}
"""What every result.json holds."""


@dataclass
class FakeRun:
    """What to put into a run's folder; `hostile` goes into every text that others may write."""

    nodes: int = 12
    failing: float = 0.25
    """Share of nodes after the first that end without a score."""
    drafts: int = 4
    community: bool = True
    hostile: str = ""
    lower_is_better: bool = True
    live: bool = False
    changes: dict[str, Any] = field(default_factory=dict)
    """Values of result.json to set in the end."""


def write_snapshot(folder: Path, run: FakeRun) -> Path:
    """Write as much of a snapshot as a report reads, its leaderboard with absurd scores at both ends."""
    folder.mkdir(parents=True)
    manifest = {
        "title": f"Wine {run.hostile}",
        "url": "https://example.org/wine",
        "category": "tabular",
        "metric": {"name": "log_loss", "direction": "minimize"},
        "split": "a new split of the training data",
    }
    (folder / "snapshot.json").write_text(json.dumps(manifest))
    rng = random.Random(5)
    scores = [0.0, *(0.3 + 0.4 * rng.betavariate(2, 5) for _ in range(800)), 12.5, 34.5]
    if not run.lower_is_better:
        scores = [1 - s if s < 1 else -s for s in scores]
    scores.sort(reverse=not run.lower_is_better)
    (folder / "leaderboard.csv").write_text("score\n" + "".join(f"{s:.5f}\n" for s in scores))
    return folder


def write_run(folder: Path, run: FakeRun) -> Path:
    """Write a finished run's folder and return it."""
    folder.mkdir(parents=True)
    snapshot = write_snapshot(folder / "snapshot", run)
    clock = StandingClock(START, CUTOFF)
    with Store.open(folder / "state.db", clock) as store:
        scores = fill(store, clock, run)
    config = {"run_id": RUN, "settings": {"snapshot": str(snapshot), "note": run.hostile}, "hash": "0123"}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "result.json").write_text(json.dumps(_result(run, scores) | run.changes))
    return folder


def fill(store: Store, clock: StandingClock, run: FakeRun) -> dict[int, float]:
    """Write the run's rows, and return its nodes' scores."""
    cutoff = None if run.live else CUTOFF
    with store.write() as tx:
        config = {"card": {"metric": {"direction": "minimize" if run.lower_is_better else "maximize"}}}
        create_run(tx, RUN, competition="wine", agent="comind", model="builtin", seed=7, cutoff=cutoff, config=config)
        if run.community:
            add_community(tx, "wine", _posts(run.hostile))
            _knowledge(tx, run)
    scores: dict[int, float] = {}
    rng = random.Random(3)
    for node in range(1, run.nodes + 1):
        with store.write() as tx:
            _node(tx, clock, run, node, scores, rng)
    with store.write() as tx:
        _reports(tx, run, scores)
        end_run(tx, RUN, "finished")
    return scores


def _posts(hostile: str) -> list[Topic | PostedMessage | KernelVersion]:
    return [
        Topic(competition="wine", id="1", title=f"Trees? {hostile}", url="https://example.org/t/1", posted_at=KNOWN),
        PostedMessage(
            competition="wine",
            id="17",
            topic_id="1",
            author=f"Ann {hostile}",
            posted_at=KNOWN,
            markdown="Boosted trees win here.",
        ),
        KernelVersion(
            competition="wine",
            id="4",
            ref="bob/bayes",
            version=2,
            title=f"Naive Bayes, well done {hostile}",
            author="bob",
            url="javascript:alert(1)",
            created_at=KNOWN,
        ),
    ]


def _knowledge(tx: Transaction, run: FakeRun) -> None:
    for number in range(1, run.drafts + 3):
        sources = ["message/17", "kernel/4", "kernel/gone"][: 1 + number % 3]
        add_idea(tx, RUN, text=f"Idea {number}: average models {run.hostile}", sources=sources, known_at=KNOWN)
    close_idea(tx, RUN, 1, "merged", reason=f"one thing {run.hostile}", known_at=KNOWN, successors=[2])
    dropped = [{"idea": f"Fine-tune BERT {run.hostile}", "why": f"no GPU {run.hostile}"}]
    tx.record("ideas.proposed", run_id=RUN, name="propose:1", analyses={}, paths=[], dropped=dropped)
    for draft in range(1, run.drafts + 1):
        add_draft(
            tx,
            RUN,
            str(draft),
            title=f"Boosting number {draft} {run.hostile}",
            description="Character n-grams, then boosted trees on top of them.",
            idea_ids=[draft, draft + 1],
            known_at=KNOWN,
            round=(draft + 1) // 2,
        )


def _node(
    tx: Transaction, clock: StandingClock, run: FakeRun, node: int, scores: dict[int, float], rng: random.Random
) -> None:
    draft = None if node == 1 or not run.drafts else str(1 + (node * 7) % run.drafts)
    own = [n for n in scores if draft is not None and n > 1 and 1 + (n * 7) % run.drafts == int(draft)]
    parents = [min(own, key=lambda n: scores[n])] if own else []
    action = ("improve" if rng.random() < 0.8 else "debug") if parents else "draft"
    create_node(
        tx,
        RUN,
        action=action,
        parents=parents,
        draft_id=draft,
        plan=f"Tune the trees, and blend them with a linear model on character counts. {run.hostile}",
        code=f"print('node {node}')  # {run.hostile}\n" + "model.fit(train)\n" * 20,
        model="builtin",
    )
    start_execution(tx, RUN, f"n{node}-holdout-0", node=node, view="holdout")
    log_model_call(
        tx,
        RUN,
        step="write",
        role="coder",
        prompt_name="write_script",
        model="builtin",
        as_of=CUTOFF,
        items=[],
        messages=[{"role": "user", "content": "?"}],
        answer="!",
        prompt_hash="0",
        prompt_tokens=1200,
        cached_tokens=300,
        completion_tokens=400,
        node=node,
    )
    clock.pass_by(rng.uniform(20, 120))
    _end(tx, run, node, scores, rng)


def _end(tx: Transaction, run: FakeRun, node: int, scores: dict[int, float], rng: random.Random) -> None:
    execution = f"n{node}-holdout-0"
    if node > 1 and rng.random() < run.failing:
        reason = rng.choice(["error", "timed_out", "out_of_memory", "killed_by_rule"])
        end_execution(tx, RUN, execution, reason=reason, exit_code=1, seconds=31.0, peak_memory_bytes=300 << 20)
        end_node(tx, RUN, node, "buggy", error=f"Traceback: KeyError: 'target' {run.hostile}")
        return
    scores[node] = 0.36 + 0.3 * 0.9**node * rng.uniform(0.9, 1.2) + (5.0 if node == 2 else 0.0)
    if not run.lower_is_better:
        scores[node] = 1 - scores[node]
    end_execution(tx, RUN, execution, reason="finished", exit_code=0, seconds=31.0, peak_memory_bytes=2 << 30)
    add_evaluation(tx, RUN, execution, score=scores[node], valid=True)
    end_node(tx, RUN, node, "valid", score=scores[node])


def _reports(tx: Transaction, run: FakeRun, scores: dict[int, float]) -> None:
    if not run.community:
        return
    add_report(tx, RUN, "1", draft_id=None, title="Baseline", method="A linear model.", known_at=KNOWN)
    for draft in range(1, run.drafts):
        add_report(
            tx,
            RUN,
            str(draft + 1),
            draft_id=str(draft),
            title=f"Boosting number {draft}",
            method=f"Boosted trees {run.hostile}",
            components=[{"name": "n-grams", "analysis": f"most of the gain {run.hostile}"}],
            numbers="0.41 alone",
            limitations="slow",
            next_steps="blend",
            best_node=max(scores, default=None),
            score=min(scores.values(), default=None),
            known_at=KNOWN,
        )


def _selection(scores: dict[int, float]) -> dict[str, Any]:
    """Return a final selection between two experiments, of which the first has predictions out of fold."""
    known = [
        {"node": n, "kind": "experiment", "holdout": scores[n], "final": scores[n], "mean": scores[n]}
        for n in list(scores)[:2]
    ]
    first = {"out_of_fold": 0.4, "gain": 0.0, "gain_error": 0.0}
    other = {"out_of_fold": None, "gain": -0.01, "gain_error": None}
    return {"candidates": [known[0] | first, known[1] | other], "reason": "it is best"}


def _result(run: FakeRun, scores: dict[int, float]) -> dict[str, Any]:
    sign = 1 if run.lower_is_better else -1
    chosen = min(scores, key=lambda n: sign * scores[n]) if scores else None
    rng = random.Random(1)
    hidden = {str(n): round(s + rng.uniform(-0.01, 0.02), 5) for n, s in scores.items()}
    score = hidden[str(chosen)] if chosen is not None else None
    valid = score is not None
    return BARE | {
        "run_id": RUN,
        "competition_id": "wine",
        "agent": "comind",
        "model": "builtin",
        "seed": 7,
        "cutoff": CUTOFF.isoformat(),
        "community": {"topics": 1, "messages": 1, "kernels": 1} if run.community else None,
        "isolation": "none",
        "sandbox": "process",
        "is_lower_better": run.lower_is_better,
        "n_teams": 803,
        "gold_threshold": 0.33 if run.lower_is_better else 0.67,
        "silver_threshold": 0.34 if run.lower_is_better else 0.66,
        "bronze_threshold": 0.35 if run.lower_is_better else 0.65,
        "median_threshold": 0.41 if run.lower_is_better else 0.59,
        "submission_exists": valid,
        "valid_submission": valid,
        "score": score,
        "above_median": valid,
        "win_rate": 0.804 if valid else 0.0,
        "chosen_node": chosen,
        "prediction_source": "refit" if valid else None,
        "prediction_note": "the refit" if valid else "no node has a score, so there is nothing to submit",
        "validation_score": scores[chosen] if chosen is not None else None,
        "final_score": 0.37 if valid else None,
        "wall_seconds": 4000.5,
        "overhead_seconds": 41.2,
        "training_share": 0.61,
        "llm": {
            "calls": run.nodes,
            "prompt_tokens": 1200 * run.nodes,
            "cached_tokens": 300 * run.nodes,
            "completion_tokens": 400 * run.nodes,
            "new_tokens": 1300 * run.nodes,
        },
        "best_over_time": [[60.0, scores[1], 0.3], [900.0, scores[max(scores)], 0.8]] if scores else [],
        "seconds_to_first_valid": 60.0 if valid else None,
        "valid_nodes_per_hour": 11.5,
        "failed_share": 0.2,
        "timed_out_share": 0.05,
        "tokens_per_valid_node": 1900.0 if valid else None,
        "rank_correlation": 0.8123 if len(scores) > 1 else None,
        "selection": _selection(scores) if len(scores) > 1 else None,
        "selection_regret": 0.004 if valid else None,
        "hidden_scores": hidden,
    }
