"""Migrations: the history of the schema, oldest first, run by alembic when a store is opened."""
