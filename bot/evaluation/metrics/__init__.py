"""The official metrics; to add one, write its formula in a file of its kind, and its entry in `registry.py`."""
