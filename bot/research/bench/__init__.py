"""Running a plan's replays, in order and under one budget."""
