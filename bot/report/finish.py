"""The end of a run, live or replayed: its exports, its solution, its result and its page are written."""

import json
from typing import Any

from bot.evaluation.worker import Worker
from bot.execution.folder import RunFolder
from bot.report.belief import belief
from bot.report.export import export_events, export_prompts
from bot.report.result import Ended, Graded, result_record, result_times
from bot.report.solution import write_solution
from bot.submission.handing_in import HandedIn
from state.errors import BotError

__all__ = ["leave"]


async def leave(ended: Ended, handed: HandedIn, graded: Graded, worker: Worker) -> dict[str, Any]:
    """Write all that a run leaves into its folder, over what an earlier end has left; returns the content of result.json."""
    context, folder = ended.context, ended.folder
    export_events(context.store, context.run_id, folder.events)
    export_prompts(context.store, context.run_id, folder.prompts)
    write_solution(context, handed, folder.solution)
    with ended.stopwatch.measure("evaluation"):
        believed = await belief(ended, handed, graded, worker)
    result = result_record(ended, handed, graded) | believed
    _write(folder, result)
    with ended.stopwatch.measure("report"):
        result["report_error"] = await _report(ended, worker)
    result |= result_times(ended)  # drawing the page took some
    _write(folder, result)
    return result


async def _report(ended: Ended, worker: Worker) -> str | None:
    """Render report.html; a page that cannot be drawn must not cost the result."""
    say, folder = ended.context.say, ended.folder
    say("writing the report")
    try:
        await worker.call("report", folder=str(folder.path), database=str(folder.database))
    except BotError as error:
        say(f"report.html was not written: {error}")
        return str(error)
    return None


def _write(folder: RunFolder, result: dict[str, Any]) -> None:
    text = json.dumps(result, indent=1, allow_nan=False) + "\n"
    partial = folder.result.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(folder.result)
