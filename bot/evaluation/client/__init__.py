"""The client of the worker process: its functions, and the transport of calls and answers."""
