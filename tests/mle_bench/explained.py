"""What of MLE-bench is not imported, and where the graders differ on purpose: each with its reason, in one sentence."""

from collections.abc import Mapping

NOT_HELD: Mapping[str, str] = {}
"""By competition."""

DIFFERENT: Mapping[tuple[str, str], str] = {}
"""By competition and submission."""
