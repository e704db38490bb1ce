"""One live competition: its run, its search and its submissions."""
