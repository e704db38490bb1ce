"""The client of the worker process: what may be asked of it, and how calls and answers travel."""
