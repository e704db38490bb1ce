"""Requests to strangers' servers: permitted addresses, bounded bodies, and files downloaded whole."""
