"""Draws a notice's plots as PNG, in a process of its own: the bot's never imports matplotlib, and that one holds no secret.

Run as a program it reads plots as JSON from stdin, and writes pictures to stdout, each after its length on a line.
"""

import asyncio
import io
import os
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress

from pydantic import TypeAdapter

from bot.notify import Plot

__all__ = ["draw"]

_INCHES, _DPI = (6.0, 2.4), 100
_PLOTS = TypeAdapter(list[Plot])
_VARIABLES = ("PATH", "PYTHONPATH", "LANG", "TMPDIR", "SYSTEMROOT")


async def draw(plots: Sequence[Plot], seconds: float) -> list[bytes]:
    """Return a PNG of each plot; none at all where that fails or takes too long, as the text says the same."""
    environment = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    with tempfile.TemporaryDirectory(prefix="bot-plot-") as folder:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "bot.notify.drawing",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env={**environment, "MPLCONFIGDIR": folder},
        )
        try:
            async with asyncio.timeout(seconds):
                out, _ = await child.communicate(_PLOTS.dump_json(list(plots)))
        except TimeoutError:
            return []
        finally:
            if child.returncode is None:
                with suppress(ProcessLookupError):
                    child.kill()
                await child.wait()
    return _split(out) if child.returncode == 0 else []


def _split(out: bytes) -> list[bytes]:
    """Read pictures, each after its length on a line."""
    found = []
    while out:
        length, _, out = out.partition(b"\n")
        found.append(out[: int(length)])
        out = out[int(length) :]
    return found


def main() -> None:
    """Draw what is asked."""
    for plot in _PLOTS.validate_json(sys.stdin.buffer.read()):
        picture = _drawn(plot)
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
