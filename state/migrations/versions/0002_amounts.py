"""0002: amounts in the ledger, of what is neither tokens, money nor wall seconds."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column; earlier entries have none, as they need none."""
    op.add_column("ledgerentry", sa.Column("amount", sa.Float()))


def downgrade() -> None:
    """Drop it."""
    with op.batch_alter_table("ledgerentry") as table:
        table.drop_column("amount")
