"""0003: what is sent to the outside: how a submission stands at the site, and notifications."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the columns of a submission's way, and the table of notifications."""
    for name in ("ref", "file_sha", "message"):
        op.add_column("submission", sa.Column(name, sa.String()))
    op.create_index("ix_submission_tag", "submission", ["tag"], unique=True)
    op.create_table(
        "notification",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String()),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("due_at", sa.DateTime(), nullable=False),
        sa.Column("sent_at", sa.DateTime()),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("last_error", sa.String()),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_notification_key", "notification", ["key"], unique=True)
    op.create_index("ix_notification_sent_at", "notification", ["sent_at"])


def downgrade() -> None:
    """Take them away."""
    op.drop_table("notification")
    op.drop_index("ix_submission_tag", "submission")
    for name in ("message", "file_sha", "ref"):
        op.drop_column("submission", name)
