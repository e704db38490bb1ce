"""The engine: a search by a policy's decisions, the tree of its nodes, and what a run's parts share."""
