"""Events as sentences for people; events of interest only to programs are marked as quiet."""

from collections.abc import Mapping
from typing import Any

QUIET = frozenset(
    {
        *("step.started", "step.ended", "step.prompt_changed", "ledger.charged", "model.called", "run.beat"),
        *("node.updated", "analysis.added", "idea.added", "idea.closed", "ideas.proposed", "notification.added"),
        *("knowledge.shown", "evaluation.added", "gateway.estimated", "idle.started", "idle.ended"),
    }
)
"""Types of each small effect: shown when all are asked for."""

TROUBLE = frozenset(
    {
        *("worker.crashed", "notification.failed", "task.died", "task.failed", "problem.began", "backup.failed"),
        *("submission.refused", "submission.doubtful", "tick.failed", "loop.failed", "entry.failed"),
    }
)

_SENTENCES = {
    "run.created": "the run {run_id} begins with {agent} and {model}",
    "run.resumed": "the run {run_id} goes on",
    "run.ended": "the run {run_id} is {status}",
    "clock.moved": "the clock stands at {as_of}",
    "node.created": "node {node}: {action}",
    "node.restarted": "node {node} is begun anew",
    "node.ended": "node {node} is {status}, score {score}",
    "execution.started": "{execution} starts on the {view} view",
    "execution.ended": "{execution} ended: {reason} after {seconds} s",
    "blend.fitted": "{sentence}",
    "guards.found": "a guard doubts: {sentence}",
    "reading.used_up": "{sentence}",
    "kernel.reproduced": "{kernel} is {state} here (published {published}, measured {measured}): {reason}",
    "phase.began": "{sentence}",
    "lab.opened": "lab {lab} opens: {title}",
    "lab.turn": "lab {lab}, turn {turn}: {command}",
    "lab.note": "lab {lab} notes: {text}",
    "experiment.logged": "experiment {name} of lab {lab}: {score} ({note})",
    "experiment.completed": "experiment {name} predicts the test rows now",
    "experiment.withdrawn": "experiment {name} is withdrawn: {why}",
    "lab.report": "lab {lab} has written its report",
    "lab.closed": "lab {lab} closes after {turns} turns: {reason}",
    "draft.added": "draft {draft}: {title}",
    "report.added": "report {report}: score {score}",
    "model.used": "the first usable answer of the model, as {role}",
    "model.changed": "{after} answers in place of {before}: {why}",
    "submission.added": "submission {submission} of node {node} is made",
    "submission.updated": "submission {submission} is {status}, score {score}",
    "submission.considered": "whether node {node} is submitted: {decision}, {why}",
    "submission.sending": "submission {submission} of node {node} is sent",
    "submission.confirmed": "submission {submission} has arrived: {ref}",
    "submission.doubtful": "submission {submission} may have been sent: {message}",
    "submission.refused": "submission {submission} was refused: {message}",
    "submission.withdrawn": "submission {submission} of node {node} is not sent: {message}",
    "submission.relation_broken": "validation and public score disagree: {why}",
    "notebook.uploading": "the notebook of node {node}: its weights go to the site",
    "notebook.uploaded": "the notebook of node {node}: its weights are at the site",
    "notebook.pushing": "the notebook of node {node} is being pushed as {ref}",
    "notebook.pushed": "the notebook of node {node} runs at the site as {ref}, version {version}",
    "notebook.ran": "the notebook of node {node} has run at the site",
    "notebook.failed": "the notebook of node {node} is given up: {why}",
    "notebook.refused": "the notebook of node {node} failed its rehearsal and is not pushed: {why}",
    "notebook.removed": "the notebook of node {node}: what the site no longer needs was removed",
    "notification.sent": "the owner was notified through {service}: {kind}",
    "notification.failed": "the owner could not be notified through {service}: {error}",
    "note.added": "note {note} from {by}",
    "control.changed": "{by} changed {competition} from {before} to {state}",
    "problem.began": "{sentence}",
    "problem.ended": "over: {key}",
    "worker.crashed": "a worker failed: {traceback}",
    "daemon.began": "the daemon begins (version {version}, process {process})",
    "daemon.ended": "the daemon ended in order",
    "entry.waiting": "waiting: {why}",
    "entry.working": "working",
    "entry.paused": "paused: {why}",
    "entry.stopped": "stopped: {why}",
    "entry.over": "over: {why}",
    "entry.failed": "its work broke: {error}",
    "task.failed": "the task {task} failed, and is tried again: {error}",
    "task.died": "the task {task} is given up after {tries} tries: {error}",
    "tick.failed": "the tick {tick} failed: {error}",
    "loop.failed": "the loop {loop} failed, and is begun again: {error}",
    "selection.proposed": "the final selection was proposed: {tags}",
    "selection.chosen": "{by} chose what is to count in the end: {tags}",
    "submission.wished": "{by} asked for node {node} to be submitted",
    "submission.wish_seen": "the wish for node {node} is {state}: {why}",
    "community.pruned": "what was collected for {competition} was removed: {posts} posts",
    "backup.made": "the database was copied to {file}: {bytes} bytes",
    "backup.failed": "no daily backup was made: {error}",
    "disk.bounded": "{bytes} bytes of the disk were freed in {places} places",
    "card.proposed": "it is proposed how {competition} is scored",
    "card.confirmed": "{by} confirmed how {competition} is scored",
    "rules.read": "the rules of {competition} were read",
    "rules.accepted": "{by} accepted the rules of {competition}",
    "approval.asked": "submission {submission} waits for your decision as {approval}",
    "approval.decided": "{by} decided on submission {submission}: {decision}",
}
_LONGEST = 300


def sentence(type: str, fields: Mapping[str, Any]) -> str:
    """Return one line on an event; an event without a sentence, as all quiet ones, is shown as its type and fields."""
    template = _SENTENCES.get(type)
    if template is not None:
        return _shorten(template.format_map(_FieldWords(fields)).removesuffix(": "))  # where no reason was given
    pairs = " ".join(
        f"{name}={_word(value)}" for name, value in fields.items() if value is not None and name != "run_id"
    )
    return _shorten(f"{type} {pairs}".strip())


class _FieldWords(dict[str, str]):
    def __init__(self, fields: Mapping[str, Any]) -> None:
        super().__init__({name: _word(value) for name, value in fields.items()})

    def __missing__(self, name: str) -> str:
        return "?"


def _word(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return ", ".join(map(_word, value))
    # The last line of a traceback names the error.
    lines = str(value).strip().splitlines() or [""]
    return lines[-1] if lines[0].startswith("Traceback") else " ".join(lines)


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
