"""0008: notifications go out as letters, one queue for each service."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Add letters and what each holds; what was tried how often is theirs, no longer the notification's."""
    with op.batch_alter_table("notification") as table:
        table.add_column(sa.Column("markdown", sa.String(), nullable=False, server_default=""))
        table.add_column(sa.Column("urgent", sa.Boolean(), nullable=False, server_default=sa.false()))
        table.add_column(sa.Column("plots", sa.JSON(), nullable=False, server_default="[]"))
        for name in ("due_at", "attempts", "last_error"):
            table.drop_column(name)
    op.create_table(
        "letter",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("service", sa.String(), nullable=False),
        sa.Column("run_id", sa.String()),
        sa.Column("key", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("title", sa.String(), nullable=False),
        sa.Column("body", sa.String(), nullable=False),
        sa.Column("markdown", sa.String(), nullable=False),
        sa.Column("urgent", sa.Boolean(), nullable=False),
        sa.Column("plots", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(), nullable=False),
        sa.Column("due_at", sa.DateTime(), nullable=False),
        sa.Column("tried_at", sa.DateTime()),
        sa.Column("sent_at", sa.DateTime()),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("last_error", sa.String()),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_letter_key", "letter", ["service", "key"], unique=True)
    op.create_index("ix_letter_tried_at", "letter", ["tried_at"])
    op.create_index("ix_letter_sent_at", "letter", ["sent_at"])
    op.create_table(
        "letterpart",
        sa.Column("notification_id", sa.Integer(), nullable=False),
        sa.Column("service", sa.String(), nullable=False),
        sa.Column("letter_id", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("notification_id", "service"),
    )
    op.create_index("ix_letterpart_letter_id", "letterpart", ["letter_id"])


def downgrade() -> None:
    """Take them away; what is not sent is due at once."""
    op.drop_table("letterpart")
    op.drop_table("letter")
    with op.batch_alter_table("notification") as table:
        for name in ("markdown", "urgent", "plots"):
            table.drop_column(name)
        table.add_column(
            sa.Column("due_at", sa.DateTime(), nullable=False, server_default="2000-01-01 00:00:00.000000")
        )
        table.add_column(sa.Column("attempts", sa.Integer(), nullable=False, server_default="0"))
        table.add_column(sa.Column("last_error", sa.String()))
