"""0004: indices for what is looked up again and again in a long run."""

from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Find a step's calls, and a node's executions within its run, without reading all."""
    op.create_index("ix_modelcall_step", "modelcall", ["run_id", "step"])
    op.drop_index("ix_execution_node", "execution")
    op.create_index("ix_execution_node", "execution", ["run_id", "node"])


def downgrade() -> None:
    """Take them back."""
    op.drop_index("ix_execution_node", "execution")
    op.create_index("ix_execution_node", "execution", ["node"])
    op.drop_index("ix_modelcall_step", "modelcall")
