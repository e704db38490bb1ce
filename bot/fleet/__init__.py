"""The fleet: executions and labs on the nodes of a Ray cluster, in the same back ends and limits; the bot runs without it."""
