"""Running public kernels in the sandbox and scoring them: a batch at a time, within a share of the run's time."""

import ast
import asyncio
import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bot.community.reproduction.adapting import adapted, refusal, with_head, without_head
from bot.community.reproduction.choosing import in_order
from bot.community.reproduction.needs import REMOVED_MODULES, trains, writes_predictions
from bot.community.reproduction.repair import RepairKernel
from bot.community.reproduction.settings import ReproductionSettings
from bot.engine.attempts import load_tree
from bot.engine.context import RunContext
from bot.engine.scripts import LIMITS, ScriptTimeLimits, best_seconds
from bot.execution.record import EXECUTED, REPRODUCED, ExecutionRecord
from bot.models import Item
from sandbox import ExitReason
from state.community import Post
from state.errors import BudgetExceeded, ModelRefused, UnsupportedLayout
from state.knowledge import add_reproduction, reproductions
from state.progress import NodeStatus, create_node, end_node
from state.steps import Key, StepKind
from state.tables import Reproduction

_KERNEL_CHOICE, _NO_KERNEL = StepKind("reproduce", tuple[str, ...]), StepKind("reproduce: none", str)
"""Steps with the items of the kernels that a batch runs, and with the reason why it runs none or no more."""
_PER_KERNEL = 2 / 3
"""Share of the time for all kernels that one may take."""
_MIN_SECONDS = 15.0
"""Minimum time limit of a kernel: with less, most would be killed."""
_LEAST_SHARED = 60.0
"""The same if it shares its core with a coder: of four started with 40 to 120 s, none ended in time."""
_MAX_FILES = 3_000
"""Maximum listed paths of data below its top level; competitions with more have mostly pictures."""
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
_OFFLINE = re.compile(
    r"URLError|ConnectionError|Temporary failure in name resolution|Network is unreachable|gaierror|Max retries exceeded"
)
_NO_NLTK = re.compile(r"Resource .*not found|nltk_data|Can't find model '")


@dataclass(frozen=True)
class _KernelRun:
    """The execution of one kernel."""

    script: str
    execution: ExecutionRecord
    repaired: bool = False


async def reproduce_batch(context: RunContext, number: int, *, shares_cores: bool = False) -> list[int]:
    """Run the next public kernels and score them on validation rows in place of the test rows; return their nodes.

    Called again with the same number, it continues with the same kernels; finished ones are not run again. No node stays
    unfinished: one is created once its kernel has ended. Without a sandbox that contains them, or without withheld labels,
    none is run. With `shares_cores` a running kernel shares its cores.

    Raises:
        InfrastructureFailure: our own machinery failed.
        ModelMisconfigured, ModelUnavailable: no model answers for the repair.
    """
    if context.community is None or not context.community.counts().kernels:
        return []
    obstacle = ""
    if context.settings_of(ReproductionSettings).kernels == 0:
        obstacle = "as configured"
    elif context.executor.sandbox.describe().isolation == "none":
        obstacle = "they are third-party code, and this sandbox provides no isolation"
    elif context.executor.self_reported is not None:
        obstacle = "nothing can be scored here, so they cannot be measured"
    if obstacle:
        await _give_up(context, number, obstacle)
        return []
    files = data_paths(context.executor.settings.data)

    async def choose() -> tuple[str, ...]:
        try:
            _seconds(context, shares_cores)
        except BudgetExceeded as error:
            await _give_up(context, number, str(error))
            return ()
        community, as_of = context.community, context.clock.as_of()
        if community is None:
            return ()
        await record_refused(context, files)
        rows = {row.id: row.state for row in reproductions(context.store, context.run_id, as_of)}
        tried_items = {*rows, *(item for batch in context.steps.all(_KERNEL_CHOICE).values() for item in batch)}
        # Similarity to a kernel that cannot run must not count against others.
        kernels = [p for p in community.posts() if p.kind == "kernel" and rows.get(p.item) != "recognised"]
        ordered_posts = in_order(kernels, tried_items, context.card.oriented, community.repeats())
        count = context.settings_of(ReproductionSettings).kernels
        kernel_items = tuple(post.item for post in islice(ordered_posts, count))
        if not kernel_items:
            await _give_up(context, number, "no other public notebook can run here")
        return kernel_items

    kernel_items = await context.steps.once(_KERNEL_CHOICE, choose, Key(attempt=number))
    if not kernel_items:
        return []
    # Numbered before anything is awaited: decisions of the search meanwhile come after them.
    nodes = await context.decisions.reproduce(kernel_items)
    try:
        await context.executor.view(REPRODUCED)
    except UnsupportedLayout as error:
        await _give_up(context, number, f"they cannot be scored here: {error}")
        return []
    measured_nodes = []
    for post in sorted(context.community.find(kernel_items), key=lambda post: nodes[post.item]):
        try:
            with context.executor.reported_work(f"public notebook {post.title} ({post.item})"):
                measured_nodes += await _reproduce(context, post, nodes[post.item], files, shares_cores)
        except BudgetExceeded as error:
            await _give_up(context, number, str(error))
            break
    return measured_nodes


def why_no_more(context: RunContext) -> str | None:
    """Return why the run has run no public kernel, or no more; None: there was no obstacle."""
    if reasons := context.steps.all(_NO_KERNEL):
        return reasons[max(reasons)]
    has_started = any(context.steps.all(_KERNEL_CHOICE).values())
    finished = reproductions(context.store, context.run_id, context.clock.as_of())
    return "the run ended before the first notebook finished" if has_started and not finished else None


async def _give_up(context: RunContext, number: int, reason: str) -> None:
    """Report once per run why no public kernel is run, or no more; the report has each batch's reason."""

    async def note() -> str:
        if not context.steps.all(_NO_KERNEL):
            context.say(f"no more public notebooks will run: {reason}")
        return reason

    await context.steps.once(_NO_KERNEL, note, Key(attempt=number))


def data_paths(data: Path) -> tuple[str, ...]:
    """Return the paths of the data below its folder; of very many, some, and all at the top."""
    paths = []
    for path in data.rglob("*"):
        paths.append(path.relative_to(data).as_posix())
        if len(paths) == _MAX_FILES:
            break
    top = (path.name for path in data.iterdir())
    return tuple(sorted({*paths, *top}))


async def record_refused(context: RunContext, files: tuple[str, ...] | None = None) -> None:
    """Record and report which public kernels cannot run here by their code, and why; each is checked once.

    `files` are as of `data_paths`.
    """
    if context.community is None:
        return
    kernels = [post for post in context.community.posts() if post.kind == "kernel"]
    known_items = {row.id for row in reproductions(context.store, context.run_id, context.clock.as_of())}
    paths = data_paths(context.executor.settings.data) if files is None else files

    def refusals() -> dict[str, str]:
        names, slug = context.machine.names, context.card.slug
        reasons = (
            (kernel.item, refusal(kernel.text, kernel.language, paths, slug, names))
            for kernel in kernels
            if kernel.item not in known_items
        )
        return {item: reason for item, reason in reasons if reason is not None}

    # Parsing a hundred notebooks takes seconds.
    reasons = await asyncio.to_thread(refusals)
    # Another lab may have recorded them meanwhile.
    rows = reproductions(context.store, context.run_id, context.clock.as_of())
    reasons = {item: reason for item, reason in reasons.items() if item not in {row.id for row in rows}}
    if not reasons:
        return
    with context.store.write() as tx:
        for post in kernels:
            if post.item in reasons:
                row = Reproduction(
                    run_id=context.run_id,
                    id=post.item,
                    title=post.title,
                    state="recognised",
                    reason=reasons[post.item],
                    published=post.public_score,
                    known_at=post.time,
                )
                add_reproduction(tx, row)
    runnable = len(kernels) - len(reasons) - sum(row.state == "recognised" for row in rows)
    summary = skipped_line(reasons.values())
    context.say(f"{runnable} of {len(kernels)} public notebooks can run here; skipped: {summary}")


def skipped_line(reasons: Iterable[str]) -> str:
    """Return how many kernels cannot run for each reason, the most frequent first, with their missing needs."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for reason in reasons:
        kind, _, names = reason.partition(":")
        kinds[kind.removeprefix("it ")].append(names.strip())
    kind_summaries = []
    for kind, reasons_of_kind in sorted(kinds.items(), key=lambda pair: -len(pair[1])):
        missing_names = [name for name, _ in Counter(", ".join(reasons_of_kind).split(", ")).most_common(4) if name]
        # Faults in single lines of code do not matter here.
        name_list = f": {', '.join(missing_names)[:120]}" if missing_names and "Python" not in kind else ""
        kind_summaries.append(f"{kind} ({len(reasons_of_kind)}{name_list})")
    return "; ".join(kind_summaries)


@dataclass(frozen=True)
class KernelFigures:
    """How many public kernels of a competition could be measured."""

    published: int
    """Latest versions that the run may see."""
    runnable: int
    """Those that lack nothing here, as their code shows."""
    measured: int


def kernel_figures(context: RunContext) -> KernelFigures | None:
    """Return how many public kernels there are, can be tried and were measured; None if the run has considered none."""
    rows = reproductions(context.store, context.run_id, context.clock.as_of())
    if context.community is None or not (rows or context.steps.all(_KERNEL_CHOICE)):
        return None
    states = Counter(row.state for row in rows)
    published = sum(post.kind == "kernel" for post in context.community.posts())
    return KernelFigures(published, published - states["recognised"], states["ran"])


async def _reproduce(
    context: RunContext, post: Post, node: int, files: tuple[str, ...], shares_cores: bool
) -> list[int]:
    """Run one kernel, repaired once if that may help, and store the result."""
    known_rows = reproductions(context.store, context.run_id, context.clock.as_of())
    if any(row.id == post.item for row in known_rows):
        return []
    script = adapted(post, files, context.card.slug, context.machine.names)
    attempt = _KernelRun(script, await _run(context, node, post.item, script, 0, shares_cores))
    reason = _reason(attempt.execution)
    if attempt.execution.score is None and reason is None:
        code = without_head(script)
        tree = ast.parse(code)
        # A kernel that ran to its end, and trains no model, has no predictions to write.
        has_failed = attempt.execution.reason is not ExitReason.FINISHED
        if trains(tree, code) or (has_failed and writes_predictions(tree, code)):
            attempt = await _repaired(context, post, node, attempt, files, shares_cores)
            reason = _reason(attempt.execution)
        else:
            reason = f"it does not write a submission: {attempt.execution.fault or ''}"
    execution, score = attempt.execution, attempt.execution.score
    row = Reproduction(
        run_id=context.run_id,
        id=post.item,
        title=post.title,
        state="failed" if score is None else "ran",
        reason="" if score is not None else reason or execution.fault or "",
        node=node,
        published=post.public_score,
        measured=None if score is None else score.value,
        noise=None if score is None else score.std_error,
        seconds=execution.seconds,
        repaired=attempt.repaired,
        known_at=post.time,
    )
    plan = f"Public notebook, adapted to run here: {post.title} ({post.item})."
    with context.store.write() as tx:
        create_node(tx, context.run_id, id=node, action="reproduce", plan=plan, code=attempt.script)
        status: NodeStatus = "buggy" if score is None else "valid"
        end_node(tx, context.run_id, node, status, score=row.measured, error=execution.error, seconds=execution.seconds)
        add_reproduction(tx, row)
    result = row.reason if score is None else f"score {score.value:.6g}, published {post.public_score}"
    context.say(f"node {node}: {post.item}: {result}, {execution.seconds:.0f} s")
    return [node]


async def _run(
    context: RunContext, node: int, item: str, script: str, attempt: int, shares_cores: bool
) -> ExecutionRecord:
    async def limit() -> ScriptTimeLimits:
        return ScriptTimeLimits(_seconds(context, shares_cores))

    seconds = (await context.steps.once(LIMITS, limit, Key(node, attempt=attempt))).seconds
    context.say(f"node {node}: running {item} for at most {seconds:.0f} s")
    # Beside labs it has the processor time that they leave.
    return await context.executor.execute(node, script, REPRODUCED, seconds, attempt=attempt, idle=shares_cores)


def _seconds(context: RunContext, shares_cores: bool) -> float:
    """Return the time limit of a kernel that starts now.

    Raises BudgetExceeded: too little is left of the share of the run that kernels may take, or of the run.
    """
    share = context.settings_of(ReproductionSettings).share * context.budget.seconds
    runs = context.steps.all(EXECUTED, part=REPRODUCED).values()
    # In idle time a kernel may wait for long; waiting does not count.
    spent_seconds = sum(min(run.seconds, run.cpu_seconds or run.seconds) for run in runs)
    remaining = context.budget.execution_seconds(best_seconds(context, load_tree(context)))
    limit = min(_PER_KERNEL * share, share - spent_seconds, remaining or 0.0)
    least_seconds = _LEAST_SHARED if shares_cores else _MIN_SECONDS
    if limit < least_seconds:
        raise BudgetExceeded(f"{max(limit, 0.0):.0f} s remain, but a notebook needs at least {least_seconds:.0f} s")
    return limit


def _reason(execution: ExecutionRecord) -> str | None:
    """Return why a kernel failed, if the cause is known and a repair cannot fix it; None otherwise."""
    if execution.score is not None:
        return None
    fault, output = execution.fault or "", execution.output
    if execution.reason is ExitReason.TIMED_OUT:
        return f"it takes longer than the limit of {execution.limit or 0:.0f} s per notebook"
    if execution.reason not in (ExitReason.ERROR, ExitReason.FINISHED):
        return fault
    if (absent := _NO_MODULE.search(fault)) and "." not in absent[1] and absent[1] not in REMOVED_MODULES:
        return f"it needs the package {absent[1]}, which is not installed"
    if _OFFLINE.search(fault) or _OFFLINE.search(output[:2_000]):
        return f"it needs the network: {fault}"
    if _NO_NLTK.search(output[:2_000]):
        return "it needs package data or models that are not installed"
    return None


async def _repaired(
    context: RunContext, post: Post, node: int, attempt: _KernelRun, files: tuple[str, ...], shares_cores: bool
) -> _KernelRun:
    """Run the kernel as repaired by a model; without an answer or enough time, return the attempt as it was."""
    execution, script = attempt.execution, without_head(attempt.script)
    # Only the traceback: the other output of a kernel may contain rows of the data.
    trace = execution.output.partition("\n\n[earlier output]\n")[0]
    prompt = RepairKernel(
        task=context.task,
        machine=context.machine,
        item=Item(post.item, post.time),
        script=script,
        begins_at=attempt.script.removesuffix(script).count("\n") + 1,
        files=tuple(sorted({path.split("/")[0] for path in files})),
        fault=execution.fault or "",
        trace=trace if trace.startswith("Traceback") else "",
        seconds=execution.limit or 0.0,
    )
    try:
        _seconds(context, shares_cores)
        code = await context.asker.ask(prompt, role="coder", name="repair", node=node)
        if code.split() == script.split():
            context.say(f"node {node}: {post.item} cannot be repaired: the model found nothing to fix")
            return attempt
        repaired = with_head(code, post.item, files, context.card.slug)
        return _KernelRun(repaired, await _run(context, node, post.item, repaired, 1, shares_cores), repaired=True)
    except (ModelRefused, BudgetExceeded) as error:
        context.say(f"node {node}: {post.item} cannot be repaired: {error}")
        return attempt
