"""The engine: a search that asks a policy what to do next, the tree that it grows, and what a run's parts share."""
