"""How a page writes numbers, times and the verdict; an unknown value becomes a dash, or the word `unknown`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from bot.evaluation.answers.findings import grouped_findings
from state.words import plural

if TYPE_CHECKING:  # commands that write a number only need not load what a run's result consists of
    from bot.evaluation.answers.board import Medal
    from bot.report.credits import MeasuredGain
    from bot.report.result import RoleFigures, RunResult

NO_VALUE = "–"
"""Stands for a missing value."""


def score(value: float | None) -> str:
    """Write a score in six significant digits."""
    return NO_VALUE if value is None else f"{value:.6g}"


def percent(share: float | None, digits: int = 1) -> str:
    """Write a share (0 to 1) as a percentage."""
    return NO_VALUE if share is None else f"{100 * share:.{digits}f}%"


def integer(value: float | None) -> str:
    """Write a count with separators between thousands."""
    return NO_VALUE if value is None else f"{round(value):,}"


def reason(exit_reason: str | None) -> str:
    """Write why an execution ended, such as `timed out` or `killed by rule`."""
    phrases = {None: "unfinished", "gpu_out_of_memory": "out of GPU memory", "infrastructure": "engine failed"}
    return phrases.get(exit_reason) or str(exit_reason).replace("_", " ")


def money(usd: float | None) -> str:
    """Write dollars; `unknown` if a price is unknown."""
    if usd is None:
        return "unknown"
    return f"${usd:.2f}" if usd >= 1 or usd == 0 else f"${usd:.4f}"


def duration(seconds: float | None) -> str:
    """Write seconds with a unit that fits, such as `4.2 s`, `3 min 20 s`, `1 h 05 min` or `3 d 4 h`."""
    if seconds is None:
        return NO_VALUE
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, seconds_left = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {seconds_left:02d} s"
    if minutes >= 2 * 24 * 60:
        return f"{minutes // (24 * 60)} d {minutes // 60 % 24} h"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def memory(size: int | None) -> str:
    """Write bytes as MiB or GiB."""
    if size is None:
        return NO_VALUE
    return f"{size / 2**20:.0f} MiB" if size < 2**30 else f"{size / 2**30:.1f} GiB"


def moment(time: datetime | None) -> str:
    """Write a time in UTC to the minute."""
    return NO_VALUE if time is None else f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def shortened(text: str, limit: int) -> str:
    """Cut a text to `limit` characters, and state how many are left out."""
    return text if len(text) <= limit else f"{text[:limit]}\n[… {len(text) - limit:,} more characters]"


def ending(text: str, limit: int) -> str:
    """Return the last characters of a text, from the beginning of a line if one begins there."""
    return text if len(text) <= limit else f"[…]{text[-limit:].partition(chr(10))[2] or text[-limit:]}"


def fair_share(budget: int, texts: int, longest: int) -> int:
    """Return how many characters of a page's budget each text may take."""
    return min(longest, budget // max(1, texts))


def first_words(text: str, limit: int) -> str:
    """Return the beginning of a text as one line."""
    line = " ".join(text[: 2 * limit].split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def last_line(text: str, limit: int) -> str:
    """Return the last non-empty line, which in a traceback names the error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return first_words(lines[-1], limit) if lines else ""


def web_link(url: str | None) -> str | None:
    """Return a URL that a page may safely link to: http(s) with a host; otherwise None."""
    if not url:
        return None
    try:
        parts = urlsplit(url.strip())
    except ValueError:
        return None
    return url.strip() if parts.scheme in ("http", "https") and parts.netloc else None


def test(result: RunResult) -> str:
    """Name what nodes are scored on besides validation: rows that were withheld, a hidden test, or a public leaderboard."""
    if result.own_data:
        return "withheld rows"
    return "public leaderboard" if result.live else "hidden test"


def gain(value: MeasuredGain | None) -> str:
    """Write a gain with its noise."""
    if value is None:
        return NO_VALUE
    return f"{value.value:+.3g}" if value.error is None else f"{value.value:+.3g} ± {value.error:.2g}"


def came_of(figures: RoleFigures) -> str:
    """Write what came of a role's answers, such as `drafts 4, with a score 4, gained beyond noise 2`."""
    return ", ".join(f"{label} {count:,}" for label, count in figures.came_of.items()) or NO_VALUE


def blend(result: RunResult) -> str:
    """State what the run's ensemble is made of, and what it gained over the best of its members."""
    from bot.engine.results import members_in_words

    ensemble = result.blend
    if ensemble is None:
        return "no ensemble"
    node, weights, single = ensemble.node, ensemble.weights, len(ensemble.weights) == 1
    error = "" if ensemble.noise is None else f" ± {ensemble.noise:.2g}"
    members = f"combines {members_in_words(weights)} by {ensemble.space}"
    origin = f"is node {next(iter(weights))}, calibrated" if single else members
    text = f"node {node} {origin}; its validation score is {score(ensemble.score)}{error}"
    if ensemble.gain is not None:
        error = "" if ensemble.gain_error is None else f" ± {ensemble.gain_error:.2g}"
        text += f", a gain of {ensemble.gain:+.3g}{error} over its {'uncalibrated' if single else 'best'} member"
    hidden, member_scores = result.hidden_scores.get(node), [result.hidden_scores.get(member) for member in weights]
    oriented_scores = [result.oriented(value) for value in member_scores if value is not None]
    if hidden is not None and oriented_scores:
        gain = result.oriented(hidden) - max(oriented_scores)
        text += f"; on the {test(result)} it scores {score(hidden)}, a gain of {gain:+.3g} over its best member"
    return f"{text}."


def sentence(text: str) -> str:
    """Write a clause as a sentence of its own."""
    return f"{text[:1].upper()}{text[1:]}."


def selected_role(result: RunResult) -> str:
    """Name the role of the selected node: a live run submits many, of which one counts."""
    return "the submission that counts" if result.live else "submitted"


def board(result: RunResult) -> str:
    """Name the leaderboard that the run is compared with."""
    return "public" if result.live and result.score_kind != "private" else "private"


def interval(result: RunResult) -> str:
    """Write the interval expected for the hidden score."""
    bounds = result.validation_interval
    return NO_VALUE if bounds is None else f"{bounds[0]:.4g} to {bounds[1]:.4g}"


def disbelief(result: RunResult) -> str | None:
    """Return why the score counts for no medal, as a clause; None where nothing speaks against it."""
    guards = [doubt.guard for doubt in result.doubts if doubt.verdict == "suspicious" and doubt.node is not None]
    if guards:
        return f"{'a guard raised a warning' if len(guards) == 1 else 'guards raised warnings'} ({', '.join(guards)})"
    if result.cutoff_note:
        return "the run may have seen material published after the deadline"
    return "the run saw knowledge base entries from after the simulated time" if result.knowledge.younger else None


def medal(result: RunResult) -> Medal | None:
    """Return the medal that may be spoken of: none on a board of one team, or for a score that is not believed."""
    return result.medal if result.n_teams > 1 and disbelief(result) is None else None


def unbeaten(result: RunResult) -> str | None:
    """Say which simple models the result is not better than, in one sentence; None: it is better than all beyond noise."""
    names = [model.name for model in result.simple_models if not model.is_beaten and model.node != result.chosen_node]
    simple_result = next((model.name for model in result.simple_models if model.node == result.chosen_node), None)
    if simple_result is not None:
        like = f", no better than {' or '.join(names)}" if names else ""
        return f"Nothing beat the simple models by more than noise: the result is {simple_result}{like}."
    return f"The result does not beat {' or '.join(names)} by more than noise." if names else None


def beside_simple(result: RunResult) -> Iterator[str]:
    """Yield the scores of the result beside those of the simple models: on validation, and on withheld rows."""
    models = result.simple_models
    if models and result.validation_score is not None:
        scores = ", ".join(f"{model.name} {score(model.validation)}" for model in models)
        kind = "Self-reported" if result.self_reported else "Hold-out"
        yield f"{kind} scores: result {score(result.validation_score)}; {scores}."
    if result.score is not None and any(model.hidden is not None for model in models):
        scores = ", ".join(f"{model.name} {score(model.hidden)}" for model in models)
        yield f"Scores on rows withheld from the run: result {score(result.score)}; {scores}."


def substitutes(baselines: int, constants: int) -> str:
    """Write how many runs submitted the engine's baseline, and how many a constant instead; 0 if none did."""
    counts = ((baselines, "baseline"), (constants, "constant"))
    return ", ".join(f"{count} {kind}" for count, kind in counts if count) or "0"


def origin(result: RunResult) -> str:
    """Name what was submitted if it is not the agent's own work; else empty."""
    return {"baseline": "the engine's baseline", "constant": "a constant", None: ""}[result.substitute]


def verdict(result: RunResult) -> str:
    """Sum up the run's outcome in one sentence, after one that names a constant."""
    constant = "A constant was submitted: all rows have the same prediction. "
    return (constant if result.substitute == "constant" else "") + _verdict(result)


def _verdict(result: RunResult) -> str:
    if result.is_ongoing and result.score is None:
        return _verdict_so_far(result)
    if result.live:
        return _live_verdict(result)
    if None in (result.chosen_node, result.prediction_source) and not result.submission_exists:
        return f"Nothing was submitted: {result.prediction_note or 'there is no submission'}."
    if result.own_data and result.valid_submission and result.score is None:
        own_score = score(result.validation_score)
        if result.self_reported:
            return f"The score is {own_score}, self-reported by scripts."
        return f"The hold-out score is {own_score}, measured on rows withheld from the scripts."
    if not result.valid_submission or result.score is None:
        return f"The submission is invalid and has no score: {result.message or 'no reason is given'}"
    if result.own_data:
        return f"Scored {score(result.score)} on rows withheld from the search and used only once, at the end."
    teams = plural(result.n_teams, "team")
    if result.n_teams < 2:
        return f"Scored {score(result.score)}. There is no comparison because the leaderboard has {teams}."
    field = f"strictly better than {percent(result.win_rate)} of {teams}"
    if reason := disbelief(result):
        return f"Scored {score(result.score)}, {field}. It does not count for a medal: {reason}."
    if result.medal is not None:
        return f"Scored {score(result.score)}: a {result.medal} medal, {field}."
    position = "above" if result.above_median else "not above"
    return f"Scored {score(result.score)}: {position} the median, no medal, {field}."


def _verdict_so_far(result: RunResult) -> str:
    if result.validation_score is None:
        return f"The run is in progress: {plural(result.nodes, 'script')} so far, none with a score."
    best = f"the best so far is node {result.chosen_node} with a validation score of {score(result.validation_score)}"
    return f"The run is in progress: {best}, after {plural(result.nodes, 'script')}. It will be graded at the end."


def _live_verdict(result: RunResult) -> str:
    if not result.submission_exists:
        return f"Nothing was submitted: {result.prediction_note or 'there is no submission'}."
    if result.score is None and result.rank is None:
        return f"No score yet: {result.message or 'the site has not shown one'}"
    teams = plural(result.n_teams, "team")
    rank = "No rank yet" if result.rank is None else f"Rank {integer(result.rank)} of {teams}"
    worth = f"a {result.medal} medal" if medal(result) is not None else "no medal"
    if result.medal is not None and (reason := disbelief(result)):
        worth = f"it does not count for a medal because {reason}"
    current = "" if result.score_kind == "private" else "current "
    return f"{rank} on the {current}{board(result)} leaderboard with a score of {score(result.score)}: {worth}."


def cutoff_note(cutoff: datetime | None, deadline: datetime) -> str | None:
    """Return a caution if the cutoff is after the deadline, else None."""
    if cutoff is None or cutoff <= deadline:
        return None
    return (
        f"The cutoff {moment(cutoff)} is after the deadline {moment(deadline)}: the run may have seen solutions published after "
        "the deadline, so its score cannot be compared with the leaderboard."
    )


def undated_notes(count: int, time_known: str) -> str:
    """Return `3 undated notes are treated as known from the start`; `time_known` is the end of the sentence."""
    return f"{plural(count, 'undated note')} {'is' if count == 1 else 'are'} treated as {time_known}"


def remarks(result: RunResult) -> Iterator[str]:
    """Yield what explains the figures without casting doubt on them."""
    if result.live and result.submission_exists and result.score_kind != "private":
        yield (
            "Private scores decide the result but are not known yet: all figures are from the public leaderboard. "
            "A shake-up may change the rank."
        )
    if result.stopped_by:
        yield f"The search stopped early: {result.stopped_by}."
    if result.notes is not None and result.notes.undated and not result.live:
        yield f"{undated_notes(result.notes.undated, 'known from the start')}."
    if (stream := result.stream) is not None and stream.reached < stream.cutoff:
        yield f"The simulated clock stopped at {moment(stream.reached)}, so the run saw no later posts."
    if result.note:
        yield result.note


def cautions(result: RunResult) -> Iterator[str]:
    """Yield what a reader must know before trusting the figures."""
    if result.self_reported:
        yield (
            "Validation scores are self-reported: scripts print them, and the bot cannot check them. "
            f"No labels could be withheld: {result.self_reported}"
        )
    if result.no_answer:
        yield f"The model gave no usable answer: {result.no_answer}. The result is the bot's own baseline."
    if result.misconfigured:
        yield "The model was misconfigured, so the run ended early and its result means little."
    if result.isolation == "none":
        yield "No isolation: scripts could read other files on the machine."
    if result.baseline_submitted and result.chosen_node == 1:
        better = "a better" if result.validation_score is not None else "a"
        yield f"The baseline was submitted: no later node had {better} validation score."
    if result.cutoff_note:
        yield result.cutoff_note
    if result.knowledge.younger:
        yield (
            f"Prompts contained knowledge base entries from after the simulated time ({result.knowledge.younger}), so the result "
            "cannot be compared with results from that time."
        )
    doubts = ((finding.node, finding.guard, finding.verdict, finding.sentence) for finding in result.doubts)
    for node, guards, verdict, sentence in grouped_findings(doubts):
        noun, verb, auxiliary = ("Guards", "warn", "were") if "," in guards else ("A guard", "warns", "was")
        predicate = f"{verb} about" if verdict == "suspicious" else f"{auxiliary} not run on"
        yield f"{noun} {predicate} {'the data' if node is None else f'node {node}'} ({guards}): {sentence}."
