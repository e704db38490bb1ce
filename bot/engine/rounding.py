"""Scores on validation rows as coders may see them."""


def rounded_score(value: float, noise: float | None) -> str:
    """Return a validation score as a coder may see it: rounded to two digits of its noise, which hides most labels."""
    return rounded(value, noise) if noise is not None and noise > 0 else f"{value:.4g}"


def rounded(value: float, noise: float, sign: str = "") -> str:
    """Return a number to two significant digits of its noise, also before the decimal point."""
    decimals = 1 - int(f"{noise:e}".partition("e")[2])
    return f"{round(value, decimals):{sign}.{max(0, decimals)}f}"


def with_error(text: str, std_error: float | None) -> str:
    """Return a figure with its standard error, if known."""
    return text if std_error is None else f"{text} ± {std_error:.2g}"
