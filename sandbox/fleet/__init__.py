"""Executions on the nodes of a Ray cluster: an engine's scripts run on other machines, in the same back ends and limits."""
