"""The audit that no prompt of a run held future information; its database queries share no code with the run's own."""
