"""Known failures: what scripts of a run failed of, with what made the next script of the same lab run; made by code."""

import difflib
from dataclasses import dataclass

from bot.engine.attempts import NodeFeedback, attempt, load_tree
from bot.engine.context import RunContext
from bot.engine.suspicion import without_numbers
from bot.engine.tree import Tree

_MAX_PATTERNS, _READ = 8, 40
"""Failures that are shown, and failed scripts that are read for them, the newest."""
_MOST_LINES = 12
_LONGEST_SCRIPT = 2_000
"""Lines; comparing longer ones takes too long."""


@dataclass(frozen=True)
class ErrorPattern:
    """One way to fail, which may have happened more than once."""

    error: str
    cure: str | None = None
    """The node that ran next, and its note; None: not cured yet."""
    changes: tuple[str, ...] = ()
    """Lines that the fixed script lacks (-) or adds (+); empty if they are too many to help."""


def failures(context: RunContext) -> tuple[ErrorPattern, ...]:
    """Return what scripts failed of, each error once, the newest last."""
    tree, patterns = load_tree(context), dict[str, ErrorPattern]()
    for node in [node.id for node in reversed(tree.nodes) if node.buggy][:_READ]:
        failed = attempt(context, node)
        if not failed.code or failed.error is None:
            continue
        kind = without_numbers(failed.error)
        pattern = patterns.get(kind)
        if pattern is None or pattern.cure is None:
            cured = _cured(context, tree, failed)
            # The newest example stands for all, unless only an older one was cured.
            patterns[kind] = cured if pattern is None or cured.cure is not None else pattern
    return tuple(reversed(list(patterns.values())[:_MAX_PATTERNS]))


def _cured(context: RunContext, tree: Tree, failed: NodeFeedback) -> ErrorPattern:
    """Return a failure with its cure: the next valid script of the same lab."""
    draft = tree[failed.node].draft_id
    after = next((n for n in tree.nodes if n.id > failed.node and n.draft_id == draft and n.valid), None)
    if failed.error is None or after is None or draft is None:
        return ErrorPattern(failed.error or "")
    cure = attempt(context, after.id)
    return ErrorPattern(failed.error, f"node {after.id} ran: {cure.plan}", _changes(failed.code, cure.code))


def _changes(before: str, after: str) -> tuple[str, ...]:
    """Return the lines in which two scripts differ, without blank ones; empty if they are many."""
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > _LONGEST_SCRIPT:
        return ()
    diff = list(difflib.unified_diff(old, new, n=0, lineterm=""))[2:]
    lines = tuple(line for line in diff if not line.startswith("@@") and line[1:].strip())
    return lines if len(lines) <= _MOST_LINES else ()
