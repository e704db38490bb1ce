"""Many replays as one piece of work, and their comparison."""
