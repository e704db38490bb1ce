"""The search tree as a policy sees it."""

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

BASELINE = 1
"""Number of a run's first node."""
BASELINE_NAME = "baseline"
"""Its name for coders."""
SEPARATE = ("ensemble", "reproduce")
"""Actions of nodes that are not scripts of ours: they do not count as steps, and no policy chose them."""
NodeState = Literal["running", "valid", "buggy", "failed"]


@dataclass(frozen=True)
class NodeView:
    """One node; `failed` means that the engine failed, not the code."""

    id: int
    action: str
    state: NodeState
    parents: tuple[int, ...] = ()
    score: float | None = None
    """In the metric's own sign."""
    lower_is_better: bool = False
    draft_id: int | None = None
    seconds: float = 0.0
    baseline: bool = False
    """One of the first nodes of a run: scored and improved as any other, but not a draft of the policy."""
    spoiled: bool = False
    """Whether a guard found its file for the test rows worthless, whatever its score is."""
    gain_error: float = 0.0
    """Standard error of the paired difference of its score to that of its reference; 0: unknown."""
    families: tuple[str, ...] = ()
    """Families of models that its script uses; empty if unknown."""
    draft_share: float | None = None
    """Planned share of its draft of the run's budget; None: not planned."""
    complete: bool = True
    """Whether it predicts all folds, the validation rows and the test rows, so that it may be submitted."""

    @property
    def fitness(self) -> float:
        """The score for comparisons: negated where lower is better, -inf without one."""
        if self.score is None:
            return -math.inf
        return -self.score if self.lower_is_better else self.score

    @property
    def valid(self) -> bool:
        """Whether it ended with a finite score."""
        return self.state == "valid" and self.score is not None and math.isfinite(self.score)

    @property
    def buggy(self) -> bool:
        """Whether it ended without a score by the code's fault."""
        return self.state == "buggy" or (self.state == "valid" and not self.valid)


@dataclass(frozen=True)
class Tree:
    """All nodes of a run so far, nodes in flight included, in the order of their ids."""

    nodes: tuple[NodeView, ...] = ()
    ensembles: tuple[NodeView, ...] = ()
    """Blends of scripts that may be submitted; they are never parents, and policies ignore them."""
    reproduced: tuple[NodeView, ...] = ()
    """Public kernels as they ran here: never submitted, blended or the best, but a draft may start from one."""
    spare_baseline: bool = False
    """Whether the baseline is submitted only if there is nothing else."""

    @cached_property
    def all(self) -> tuple[NodeView, ...]:
        """All nodes, ensembles and public kernels included."""
        return (*self.nodes, *self.ensembles, *self.reproduced)

    @cached_property
    def _by_id(self) -> dict[int, NodeView]:
        return {node.id: node for node in self.all}

    @cached_property
    def _parents(self) -> frozenset[int]:
        # A node that failed by the engine's fault does not count: its parent is a leaf again.
        return frozenset(p for node in self.nodes if node.state != "failed" for p in node.parents)

    def __getitem__(self, node_id: int) -> NodeView:
        return self._by_id[node_id]

    def scripts_of(self, node_id: int) -> tuple[int, ...]:
        """Return the scripts of a node's file: a blend's members, or itself."""
        node = self._by_id[node_id]
        return node.parents if node.action == "ensemble" else (node_id,)

    def is_leaf(self, node: NodeView) -> bool:
        """Return whether the node has no children, nodes in flight included."""
        return node.id not in self._parents

    def drafts(self) -> Sequence[NodeView]:
        """Return the policy's drafts, buggy ones and those in flight included."""
        return [n for n in self.nodes if n.action == "draft" and not n.baseline and n.state != "failed"]

    def valid(self) -> Sequence[NodeView]:
        """Return the nodes with a score."""
        return [n for n in self.nodes if n.valid]

    def best(self) -> NodeView | None:
        """Return the valid node with the highest fitness, the earliest of equals; a spoiled or partial one only if all are."""
        return _best(self.valid())

    def candidates(self) -> Sequence[NodeView]:
        """Return the candidates for submission: complete nodes with a score, ensembles among them."""
        nodes = self.complete_nodes()
        return [n for n in nodes if not (self.spare_baseline and n.baseline)] or nodes

    def complete_nodes(self) -> Sequence[NodeView]:
        """Return all complete nodes with a score, and ensembles of which no member was withdrawn."""
        ensembles = (n for n in self.ensembles if all(self[parent].complete for parent in n.parents))
        return [n for n in (*self.valid(), *ensembles) if n.valid and n.complete]

    def best_candidate(self) -> NodeView | None:
        """Return the best candidate for submission, as `best` does of the scripts."""
        return _best(self.candidates())

    def debug_depth(self, node: NodeView) -> int:
        """Return 0 for a draft or a node whose parent is valid, else the parent's depth + 1."""
        if not node.parents or node.action == "draft":
            return 0
        parent = self._by_id[node.parents[0]]
        return 0 if parent.valid else self.debug_depth(parent) + 1

    def by_draft(self) -> dict[int, list[NodeView]]:
        """Return the nodes of each draft that was started, oldest first."""
        known_drafts = {n.draft_id for n in self.drafts()}
        drafts: dict[int, list[NodeView]] = {}
        for node in self.nodes:
            if node.state != "failed" and node.draft_id is not None and node.draft_id in known_drafts:
                drafts.setdefault(node.draft_id, []).append(node)
        return drafts

    def of_draft(self, draft_id: int) -> Sequence[NodeView]:
        """Return the nodes of one draft, oldest first."""
        return [n for n in self.nodes if n.draft_id == draft_id and n.state != "failed"]


def _best(nodes: Sequence[NodeView]) -> NodeView | None:
    return max(nodes, key=lambda n: (not n.spoiled, n.complete, n.fitness, -n.id), default=None)


class TreeCache:
    """The tree as it was last read, so that only changes are read again, with `lock` held."""

    def __init__(self, spare_baseline: bool = False) -> None:
        self.lock = threading.Lock()
        """Needed as the progress line is drawn by another thread."""
        self.last_event: int | None = None
        """Number of the newest event that the tree includes; None before the first reading."""
        self.spare_baseline = spare_baseline
        self._tree = Tree(spare_baseline=spare_baseline)
        self._nodes: dict[int, NodeView] = {}

    def update(self, changed: Mapping[int, NodeView], last_change: int) -> Tree:
        """Merge nodes that may have changed up to event `last_change`; return the tree, the same object if nothing changed."""
        changed = {id: node for id, node in changed.items() if self._nodes.get(id) != node}
        if changed:
            has_new = not changed.keys() <= self._nodes.keys()
            self._nodes |= changed
            if has_new:
                self._nodes = dict(sorted(self._nodes.items()))
            nodes = self._nodes.values()
            ensembles, reproduced = (tuple(node for node in nodes if node.action == kind) for kind in SEPARATE)
            scripts = tuple(node for node in nodes if node.action not in SEPARATE)
            self._tree = Tree(scripts, ensembles, reproduced, self.spare_baseline)
        self.last_event = last_change
        return self._tree
