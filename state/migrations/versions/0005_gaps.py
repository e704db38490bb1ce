"""0005: the times in which nobody worked on a run."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the column; a run that was never resumed has no gaps."""
    op.add_column("run", sa.Column("gaps", sa.JSON(), nullable=False, server_default="[]"))


def downgrade() -> None:
    """Drop it."""
    op.drop_column("run", "gaps")
