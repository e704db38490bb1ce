"""Matplotlib's drawings as inline SVG: text stays text, colours are the page's, ids are unique."""

import io
import re
from collections.abc import Callable
from html import escape
from typing import Any

import matplotlib
from markupsafe import Markup
from matplotlib.figure import Figure

COLOURS = {
    "ink": "#1b2430",
    "muted": "#5b6675",
    "line": "#d5dbe3",
    "paper": "#fdfefe",
    "bars": "#b9c7dd",
    "ours": "#c2410b",
    "good": "#2563eb",
    "bad": "#dc2627",
    "gold": "#b7860a",
    "silver": "#8a94a4",
    "bronze": "#a0562c",
}
"""The page's colours by name, with stand-ins for matplotlib to draw with."""

_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 11,
    "text.color": COLOURS["ink"],
    "axes.labelcolor": COLOURS["ink"],
    "axes.edgecolor": COLOURS["muted"],
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": COLOURS["line"],
    "grid.linewidth": 0.8,
    "xtick.color": COLOURS["muted"],
    "ytick.color": COLOURS["muted"],
    "figure.facecolor": "none",
    "axes.formatter.useoffset": False,
}


def draw(name: str, title: str, size: tuple[float, float], fill: Callable[[Figure], None]) -> Markup:
    """Draw a figure and return it as an inline SVG element.

    Args:
        name: letters and dashes; it prefixes every id, so that ids on a page do not clash.
        title: what the figure shows, for those who cannot see it.
        size: width and height in inches of 72 units.
        fill: draws into the figure.
    """
    target = io.StringIO()
    # The settings are matplotlib's globals, restored at the end.
    with matplotlib.rc_context({**_STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=size, layout="constrained")
        fill(figure)
        figure.savefig(target, format="svg", metadata={"Date": None})
    return Markup(_inline(target.getvalue(), name, title))  # noqa: S704 - matplotlib escapes the texts that it writes


def _inline(svg: str, name: str, title: str) -> str:
    body = svg[svg.index("<svg") :]
    # Its style sheet would apply to the whole page.
    body = re.sub(r"<(metadata|style)\b.*?</\1>", "", body, flags=re.DOTALL)
    # Only ids that are referred to (clip paths, markers, glyphs) are kept, with the figure's prefix.
    referred = set(re.findall(r'(?:url\(#|href="#)([^")]+)', body))
    body = re.sub(r' id="([^"]*)"', lambda m: f' id="{name}-{m[1]}"' if m[1] in referred else "", body)
    body = re.sub(r'(url\(#|href="#)', rf"\g<1>{name}-", body)
    for colour, stand_in in COLOURS.items():
        body = body.replace(stand_in, f"var(--{colour})")
    body = body.replace("'DejaVu Sans'", "var(--font)")
    view_box = re.search(r'viewBox="([^"]*)"', body)
    opening = f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="{view_box[1] if view_box else ""}"'
    label = f'role="img" aria-label="{escape(title)}"'
    return f"{opening} {label}><title>{escape(title)}</title>{body[body.index('>') + 1 :]}".strip()
