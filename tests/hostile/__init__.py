"""What hostile code tries in a sandbox, what must come of it, and what the host must look like afterwards."""
