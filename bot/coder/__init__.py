"""The coder: turns a draft into scripts, and nothing but scripts: in one script after the other, or in a lab."""
