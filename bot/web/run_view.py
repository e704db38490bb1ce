"""What a page shows of one run, live or replayed: its tree, scores over time, labs and ideas."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from bot.engine.run_record import RunRecord
from bot.logs.events import EventLog
from bot.report.charts import Chart, Series, score_axis, time_axis, timed
from bot.report.nodes import ReportableRun, node_rows
from bot.report.tree import tree_drawing
from bot.status.knowledge import read_ideas
from state.community import CommunityView
from state.store import Store

MOST_BOXES = 90
"""Nodes in the drawing of a tree; of more, those that matter most are drawn."""
MOST_POINTS = 200
"""Single scores in the chart, the newest; the line of the best has all."""
MOST_LABS = 6
LAST_TURNS = 3
"""Turns shown of an open lab."""
MOST_IDEAS = 12
MOST_POSTS = 12
MOST_EVENTS = 25
_A_DAY = timedelta(days=1)


def run_values(store: Store, run: RunRecord, outcome: ReportableRun, now: datetime, address: str) -> dict[str, Any]:
    """Return what the templates of a run's parts are given, now by the clock of its work.

    A replay's clock is the machine's, and all that its own clock let it know is shown.
    """
    as_of = run.row.cutoff or now
    pool, sources = read_ideas(store, run, as_of)
    posts = CommunityView(store, run.row.competition, as_of).newest(MOST_POSTS, as_of - _A_DAY)
    labs = sorted(run.labs, key=lambda lab: (lab.ended_at is not None, -lab.id))
    return {
        "run": run,
        "result": outcome,
        "test": "public leaderboard" if outcome.live else "hidden test",
        "address": address,
        "node_address": f"{address}/node/",
        "progress": progress(run, now),
        "tree": tree_drawing(node_rows(run, outcome, (), drawn_nodes(run, outcome)), run.titles, outcome),
        "node_count": sum(node.action != "reproduce" for node in run.nodes.values()),
        # Of a closed lab no turn is shown.
        "labs": [
            run.lab(lab, after=lab.turns if lab.ended_at is not None else max(0, lab.turns - LAST_TURNS))
            for lab in labs[:MOST_LABS]
        ],
        "ideas": pool[:MOST_IDEAS],
        "idea_count": len(pool),
        "sources": sources,
        "posts": posts[::-1],
        "events": EventLog(store).newest(MOST_EVENTS, run.id)[::-1],
    }


def progress(run: RunRecord, now: datetime, *, small: bool = False) -> Chart | None:
    """Return the chart of a run's scores over time, by validation and on the public leaderboard; None without any."""
    falling = run.lower_is_better
    if falling is None:
        return None
    dated_scores, best = run.dated_scores, run.best_over_time()
    points = [] if small else dated_scores[-MOST_POINTS:]
    public = [
        (submission.sent_at or submission.at, submission.score)
        for submission in run.submissions
        if submission.score is not None
    ]
    end_event = run.last_event("run.ended")
    until = now if run.row.status == "running" or end_event is None else end_event.at
    steps = [*best, *([(until, best[-1][1])] if best else [])]
    all_points = [*steps, *points, *public]
    if not all_points:
        return None
    begin, end = min(all_points)[0], max(all_points)[0]
    scores = [score for _, score in all_points]
    y_axis = score_axis(scores, [score for _, score in steps[1:]] or scores[:1], falling=falling)
    series = [
        Series("Validation, best so far", "good", timed(steps, begin), "steps"),
        Series("Validation, each script", "good pale", timed(points, begin)),
        Series("public leaderboard", "ours", timed(public, begin)),
    ]
    x_axis = time_axis((end - begin).total_seconds())
    chart = Chart(
        "Scores over time (best at the top)", x_axis, y_axis, [curve for curve in series if curve.points], width=520
    )
    return replace(chart, width=160, height=40, room=(3, 4, 3, 4), has_axes=False) if small else chart


def drawn_nodes(run: RunRecord, outcome: ReportableRun) -> list[int]:
    """Return the nodes to draw: the best and running ones, the newest, and what they grew from."""
    nodes = {id: node for id, node in run.nodes.items() if node.action != "reproduce"}
    if len(nodes) <= MOST_BOXES:
        return list(nodes)
    first = [id for id in (outcome.chosen_node, run.counts.best) if id in nodes]
    first += [id for id, node in nodes.items() if node.status == "running"]
    shown_nodes: dict[int, None] = {}
    for id in (*first, *reversed(nodes)):
        line = [id]
        while parents := [parent for parent in nodes[line[-1]].parents if parent in nodes and parent < line[-1]]:
            line.append(parents[0])
        if len(shown_nodes.keys() | line) > MOST_BOXES:
            break
        shown_nodes.update(dict.fromkeys(line))
    return sorted(shown_nodes)
