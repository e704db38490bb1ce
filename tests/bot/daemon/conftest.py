"""The same store and clock as for tests of state."""

from tests.state.conftest import clock, run_id, store

__all__ = ["clock", "run_id", "store"]
