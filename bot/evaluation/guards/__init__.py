"""Guards: what may be wrong with a score that looks right, each looked for by itself and reported in a sentence."""
