"""0009: tasks that workers lease, and signs of life."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "task",
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("competition", sa.String(), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("due_at", sa.DateTime(), nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("owner", sa.String()),
        sa.Column("lease_until", sa.DateTime()),
        sa.Column("tried_at", sa.DateTime()),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("interruptions", sa.Integer(), nullable=False),
        sa.Column("ended_at", sa.DateTime()),
        sa.Column("error", sa.String()),
        sa.PrimaryKeyConstraint("key"),
    )
    op.create_index("ix_task_status", "task", ["status", "due_at"])
    op.create_table(
        "pulse",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("at", sa.DateTime(), nullable=False),
        sa.Column("text", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )


def downgrade() -> None:
    """Take them away."""
    op.drop_table("pulse")
    op.drop_table("task")
