"""report.html: one self-contained page on a finished run, written in the worker process."""

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from bot.execution.folder import RunFolder
from bot.report import words
from bot.report.answers import how_good, how_sure, what_next, why_it_won
from bot.report.data import ReportData, read_run
from bot.report.graph import BOX_HEIGHT as GRAPH_BOX
from bot.report.graph import graph_drawing
from bot.report.plots import agreement_figure, leaderboard_figure, left_out, time_figure
from bot.report.stream_figure import stream_figure
from bot.report.templates import page_environment
from bot.report.tree import BOX_HEIGHT, BOX_WIDTH, tree_drawing

SHOWN_POSTS = 300
"""Most posts in the table of a moving clock; those that a node used come first."""
SHOWN_SOURCES = 100
"""Most sources in the table of what the community brought."""


def write_report(folder: Path, database: Path | None = None) -> None:
    """Write report.html into a finished run's folder.

    Args:
        folder: the run's folder with result.json and config.json; nothing else in it is changed.
        database: holds the run's rows; None: the folder's own state.db.

    Raises:
        UsageError: a file is missing, or is not what a finished run writes.
        OSError: the page cannot be written.
    """
    run = RunFolder(folder, database)
    page = render(read_run(run))
    target = run.report
    partial = target.with_suffix(".partial")
    partial.write_text(page, encoding="utf-8")
    partial.replace(target)


def render(data: ReportData) -> str:
    """Return the page; every text of the run is escaped."""
    result = data.result
    return (
        page_environment()
        .get_template("page.html.j2")
        .render(
            data=data,
            words=words,
            test=words.test(result),
            cautions=words.cautions(result, data.competition.split),
            scripts=[n for n in data.nodes if not n.blend],
            valid_nodes=sum(n.status == "valid" and not n.blend for n in data.nodes),
            found_by_guards=[one for one in result.guards if one.is_doubt],
            compared=sum(n.validation is not None and n.hidden is not None for n in data.nodes),
            draft_ids={d.id for d in data.knowledge.drafts},
            answers=_answers(data),
            board=leaderboard_figure(result, data.board) if len(data.board) > 1 else None,
            board_narrow=leaderboard_figure(result, data.board, narrow=True) if len(data.board) > 1 else None,
            left_out=left_out(data.board, result) if data.board else 0,
            progress=time_figure(result, data.nodes),
            agreement=agreement_figure(result, data.nodes),
            stream=_stream(data),
            tree=tree_drawing(data.nodes, {one.id: one.title for one in data.knowledge.drafts}, result),
            graph=graph_drawing(data.graph, _anchors(data), result.oriented),
            height=GRAPH_BOX,
            shown_posts=SHOWN_POSTS,
            shown_sources=SHOWN_SOURCES,
            size=(BOX_WIDTH, BOX_HEIGHT),
            node_address="#node-",
        )
    )


def _answers(data: ReportData) -> dict[str, Sequence[str]]:
    """Return the sentences that answer each of the first screen's questions."""
    return {
        "How good": tuple(how_good(data.result)),
        "How sure": tuple(how_sure(data.result)),
        "Why it won" if not data.result.goes_on else "What leads": tuple(why_it_won(data)),
        "What next": what_next(data),
    }


def _anchors(data: ReportData) -> dict[str, str]:
    """Return where on the page each element of the graph stands."""
    found = {f"node/{node.id}": f"#node-{node.id}" for node in data.nodes}
    for one in data.graph.elements.values():
        if one.kind in ("idea", "draft", "report"):
            found[one.id] = f"#{one.id.replace('/', '-')}"
    return found | {source.item: f"#source-{row}" for row, (source, _) in enumerate(data.brought[:SHOWN_SOURCES], 1)}


def _stream(data: ReportData) -> Markup | None:
    stream = data.result.stream
    if stream is None:
        return None
    ended = [node.ended for node in data.nodes if node.ended is not None]
    return stream_figure(stream, max([*ended, *(node.seconds for node in stream.nodes), 0.0]))
