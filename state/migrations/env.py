"""Alembic's entry: runs the migrations on the connection that the store hands in, inside its transaction."""

from alembic import context
from sqlmodel import SQLModel

from state import polled, steering, tables

# Naming the modules keeps the imports that fill the metadata.
if not SQLModel.metadata.tables:
    raise RuntimeError(f"{tables.__name__}, {polled.__name__} and {steering.__name__} define no tables")

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=SQLModel.metadata,
    render_as_batch=True,
    compare_type=True,
)
with context.begin_transaction():
    context.run_migrations()
