"""The pool of ideas: how it changes, what speaks for each idea, and which of them a draft is to carry out."""
