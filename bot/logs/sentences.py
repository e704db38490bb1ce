"""Events as sentences for people; events of interest only to programs are marked as quiet."""

from collections import defaultdict
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
    "run.created": "run {run_id} started with {agent} and {model}",
    "run.resumed": "run {run_id} resumed",
    "run.ended": "run {run_id} is {status}",
    "clock.moved": "the clock is at {as_of}",
    "node.created": "node {node}: {action}",
    "node.restarted": "restarting node {node}",
    "node.ended": "node {node} is {status}, score {score}",
    "execution.started": "{execution} started",
    "execution.ended": "{execution} ended: {reason} after {seconds} s",
    "blend.fitted": "{sentence}",
    "guards.found": "guard warning: {sentence}",
    "reading.used_up": "{sentence}",
    "kernel.reproduced": "{kernel} {state} here (public score {published}, measured {measured}): {reason}",
    "phase.began": "{sentence}",
    "lab.opened": "lab {lab} started: {title}",
    "lab.turn": "lab {lab}, turn {turn}: {command}",
    "lab.note": "note from lab {lab}: {text}",
    "experiment.logged": "experiment {name} in lab {lab}: {score} ({note})",
    "experiment.completed": "experiment {name} now has test predictions",
    "retrain.tried": "retrain command of {name} tested in its lab: {reason}",
    "experiment.withdrawn": "experiment {name} withdrawn: {reason}",
    "lab.report": "lab {lab} wrote its report",
    "lab.closed": "lab {lab} ended after {turns} turns: {reason}",
    "draft.added": "draft {draft}: {title}",
    "report.added": "report {report}: score {score}",
    "model.used": "first usable answer from the model, as {role}",
    "model.changed": "{after} replaces {before}: {reason}",
    "submission.added": "submission {submission} of node {node} created",
    "submission.updated": "submission {submission} is {status}, score {score}",
    "submission.considered": "submission of node {node}: {decision}, {reason}",
    "submission.sending": "sending submission {submission} of node {node}",
    "submission.confirmed": "submission {submission} confirmed: {ref}",
    "submission.doubtful": "submission {submission} may have been sent: {message}",
    "submission.refused": "submission {submission} was rejected: {message}",
    "submission.withdrawn": "submission {submission} of node {node} will not be sent: {message}",
    "submission.relation_broken": "Validation and public score disagree: {reason}",
    "notebook.uploading": "notebook of node {node}: uploading its weights",
    "notebook.uploaded": "notebook of node {node}: weights uploaded",
    "notebook.pushing": "notebook of node {node}: pushing as {ref}",
    "notebook.pushed": "notebook of node {node}: running on the site as {ref}, version {version}",
    "notebook.ran": "notebook of node {node}: finished on the site",
    "notebook.failed": "notebook of node {node}: abandoned: {reason}",
    "notebook.refused": "notebook of node {node}: not pushed because its local check failed: {reason}",
    "notebook.removed": "notebook of node {node}: unneeded weights removed from the site",
    "notification.sent": "the owner was notified through {service}: {kind}",
    "notification.failed": "the owner could not be notified through {service}: {error}",
    "note.added": "note {note} from {by}",
    "control.changed": "{by} changed {competition} from {before} to {state}",
    "problem.began": "{sentence}",
    "problem.ended": "resolved: {key}",
    "worker.crashed": "a worker failed: {traceback}",
    "daemon.began": "daemon starting (version {version}, process {process})",
    "daemon.ended": "daemon stopped cleanly",
    "entry.waiting": "waiting: {reason}",
    "entry.working": "working",
    "entry.paused": "paused: {reason}",
    "entry.stopped": "stopped: {reason}",
    "entry.over": "over: {reason}",
    "entry.failed": "work failed: {error}",
    "task.failed": "task {task} failed and will be retried: {error}",
    "task.died": "task {task} abandoned after {tries} attempts: {error}",
    "tick.failed": "job {tick} failed: {error}",
    "loop.failed": "loop {loop} failed and is restarting: {error}",
    "selection.proposed": "final selection proposed: {tags}",
    "selection.chosen": "{by} chose the final submissions: {tags}",
    "submission.requested": "{by} requested the submission of node {node}",
    "submission.request_answered": "the request to submit node {node} is {state}: {reason}",
    "community.pruned": "removed the data collected for {competition}: {posts} posts",
    "backup.made": "database backed up to {file}: {bytes} bytes",
    "backup.failed": "daily backup failed: {error}",
    "disk.bounded": "freed {bytes} bytes of disk space in {places} places",
    "card.proposed": "task spec proposed for {competition}",
    "card.confirmed": "{by} confirmed the task spec of {competition}",
    "rules.read": "the rules of {competition} have been read",
    "rules.accepted": "{by} accepted the rules of {competition}",
    "approval.asked": "submission {submission} is waiting for your approval: bot approve {approval}",
    "approval.decided": "{by} decided on submission {submission}: {decision}",
}
_LONGEST = 300


def sentence(type: str, fields: Mapping[str, Any]) -> str:
    """Return one line on an event; an event without a sentence, as all quiet ones, is shown as its type and fields."""
    template = _SENTENCES.get(type)
    if template is not None:
        words = defaultdict(lambda: "?", {name: _word(value) for name, value in fields.items()})
        return _shorten(template.format_map(words).removesuffix(": "))  # where no reason was given
    values = {name: value for name, value in fields.items() if value is not None and name != "run_id"}
    return _shorten(" ".join((type, *(f"{name}={_word(value)}" for name, value in values.items()))))


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
