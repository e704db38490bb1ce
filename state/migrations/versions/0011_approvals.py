"""0011: submissions are held for approval, a person may wish for one, and they tell when they were sent."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Add approvals and wishes; what was sent before counts as sent when it was intended."""
    with op.batch_alter_table("submission") as table:
        table.add_column(sa.Column("sent_at", sa.DateTime()))
    op.execute(
        "UPDATE submission SET sent_at = at WHERE status IN ('sending', 'doubtful', 'confirmed') OR ref IS NOT NULL"
    )
    op.create_table(
        "approval",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("submission", sa.String(), nullable=False),
        sa.Column("asked_at", sa.DateTime(), nullable=False),
        sa.Column("expires_at", sa.DateTime(), nullable=False),
        sa.Column("why", sa.String(), nullable=False),
        sa.Column("decision", sa.String()),
        sa.Column("decided_at", sa.DateTime()),
        sa.Column("by", sa.String()),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_approval_submission", "approval", ["run_id", "submission"], unique=True)
    op.create_table(
        "wish",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("run_id", sa.String(), nullable=False),
        sa.Column("node", sa.Integer(), nullable=False),
        sa.Column("wished_at", sa.DateTime(), nullable=False),
        sa.Column("by", sa.String(), nullable=False),
        sa.Column("seen_at", sa.DateTime()),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("why", sa.String(), nullable=False),
        sa.Column("submission", sa.String()),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_wish_run_id", "wish", ["run_id"])


def downgrade() -> None:
    """Take them away."""
    op.drop_table("wish")
    op.drop_table("approval")
    with op.batch_alter_table("submission") as table:
        table.drop_column("sent_at")
