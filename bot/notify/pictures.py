"""The process that draws: plots as JSON on stdin, pictures (PNG) on stdout, each after its length on a line."""

import io
import json
import sys

from bot.notify import Plot

_INCHES = (6.0, 2.4)
_DPI = 100


def main() -> None:
    """Draw what is asked."""
    for content in json.load(sys.stdin):
        picture = _drawn(Plot.from_json(content))
        sys.stdout.buffer.write(f"{len(picture)}\n".encode() + picture)


def _drawn(plot: Plot) -> bytes:
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
    from matplotlib.figure import Figure

    figure = Figure(figsize=_INCHES, dpi=_DPI, layout="constrained")
    axes = figure.add_subplot()
    axes.plot([date2num(time) for time in plot.times], plot.values, drawstyle="steps-post", marker=".")  # type: ignore[no-untyped-call]
    # A dollar sign in a name begins no formula.
    axes.set_title(plot.title.replace("$", r"\$"), fontsize=9)
    locator = AutoDateLocator()  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    axes.grid(alpha=0.3)
    out = io.BytesIO()
    figure.savefig(out, format="png")
    return out.getvalue()


if __name__ == "__main__":
    main()
