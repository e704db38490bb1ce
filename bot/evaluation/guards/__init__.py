"""Guards: each looks for one possible fault behind a score that looks right, and reports it in a sentence."""
