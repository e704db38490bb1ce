"""Alembic's entry: runs the migrations on the connection that the store hands in, inside its transaction."""

from alembic import context
from sqlmodel import SQLModel

from state import polled, pulses, steering, tables, tasks

# Naming the modules keeps the imports that fill the metadata.
if not SQLModel.metadata.tables:
    names = ", ".join(module.__name__ for module in (polled, pulses, steering, tables, tasks))
    raise RuntimeError(f"none of {names} defines a table")

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=SQLModel.metadata,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
