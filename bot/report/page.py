"""report.html: one self-contained page on a finished run, written in the worker process."""

import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from bot.execution.folder import RunFolder
from bot.report import words
from bot.report.data import ReportData, read_run
from bot.report.graph import BOX_HEIGHT as GRAPH_BOX
from bot.report.graph import graph_drawing
from bot.report.plots import agreement_figure, leaderboard_figure, left_out, time_figure
from bot.report.stream_figure import stream_figure
from bot.report.tree import BOX_HEIGHT, BOX_WIDTH, tree_drawing

SHOWN_POSTS = 300
"""Most posts in the table of a moving clock; those that a node used come first."""
SHOWN_SOURCES = 100
"""Most sources in the table of what the community brought."""
_UNSEEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters, characters that reorder text, and lone surrogates."""


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
        _environment()
        .get_template("page.html.j2")
        .render(
            data=data,
            words=words,
            test=words.test(result),
            cautions=words.cautions(result, data.competition.split),
            scripts=[n for n in data.nodes if not n.blend],
            valid_nodes=sum(n.status == "valid" and not n.blend for n in data.nodes),
            compared=sum(n.validation is not None and n.hidden is not None for n in data.nodes),
            draft_ids={d.id for d in data.knowledge.drafts},
            board=leaderboard_figure(result, data.board) if data.board else None,
            left_out=left_out(data.board, result) if data.board else 0,
            progress=time_figure(result, data.nodes),
            agreement=agreement_figure(result, data.nodes),
            stream=_stream(data),
            tree=tree_drawing(data.nodes, data.knowledge.drafts, result),
            graph=graph_drawing(data.graph, _anchors(data), result.oriented),
            height=GRAPH_BOX,
            shown_posts=SHOWN_POSTS,
            shown_sources=SHOWN_SOURCES,
            size=(BOX_WIDTH, BOX_HEIGHT),
        )
    )


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


def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )


def _shown(value: Any) -> Any:
    """Replace invisible and deceptive characters in every text that a template prints."""
    if isinstance(value, str) and not isinstance(value, Markup):
        return _UNSEEN.sub("\N{REPLACEMENT CHARACTER}", value)
    return value
