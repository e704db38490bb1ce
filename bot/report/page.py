"""report.html: one self-contained page on a finished run, written in the worker process."""

from pathlib import Path

from bot.execution.folder import RunFolder
from bot.report import words
from bot.report.answers import how_good, how_sure, what_next, why_it_won
from bot.report.data import ReportData, read_run
from bot.report.plots import agreement_chart, count_outside, error_charts, leaderboard_charts, time_charts
from bot.report.templates import page_environment
from bot.report.tree import BOX_HEIGHT, BOX_WIDTH, tree_drawing
from state.files import write_whole

SHOWN_POSTS = 300
"""Most posts in the table of a moving clock; those that a node used come first."""
SHOWN_SOURCES = 100
"""Most sources in the table of what the community brought."""


def write_report(folder: Path, database: Path | None = None) -> None:
    """Write report.html into a finished run's folder; without a database, from its own state.db.

    Raises UsageError: a file is missing, or is not what a finished run writes; OSError: the page cannot be written.
    """
    run = RunFolder(folder, database)
    write_whole(run.report, render(read_run(run)))


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
            cautions=tuple(words.cautions(result)),
            remarks=tuple(words.remarks(result)),
            scripts=[n for n in data.nodes if not n.blend],
            valid_nodes=sum(n.status == "valid" and not n.blend for n in data.nodes),
            found_by_guards=[finding for finding in result.guards if finding.is_doubt],
            compared=sum(n.validation is not None and n.hidden is not None for n in data.nodes),
            draft_ids={d.row.id for d in data.knowledge.drafts},
            answers={
                "How good": tuple(how_good(result)),
                "How sure": tuple(how_sure(result)),
                "What leads" if result.is_ongoing else "Why it won": tuple(why_it_won(data)),
                "What next": what_next(data),
            },
            board=leaderboard_charts(result, data.board) if len(data.board) > 1 else (),
            outside=count_outside(data.board, result) if data.board else 0,
            progress=time_charts(result, data.nodes),
            agreement=agreement_chart(result, data.nodes),
            diagnostics=result.diagnostics,
            error_charts=[] if result.diagnostics is None else error_charts(result.diagnostics),
            tree=tree_drawing(data.nodes, {d.row.id: d.row.title for d in data.knowledge.drafts}, result),
            shown_posts=SHOWN_POSTS,
            shown_sources=SHOWN_SOURCES,
            size=(BOX_WIDTH, BOX_HEIGHT),
            node_address="#node-",
        )
    )
