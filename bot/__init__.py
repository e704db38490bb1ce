"""The engine and everything that a person starts."""
