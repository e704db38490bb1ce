"""0006: a community of a live competition's size: indices for what is asked of it, and which post repeats which."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

_TARGET = ("competition", "target", "target_id", "at")


def upgrade() -> None:
    """Find a topic's messages, the newest posts, a kernel's versions, and the latest reading of each field."""
    op.drop_index("ix_message_topic_id", "message")
    op.create_index("ix_message_topic", "message", ["competition", "topic_id", "posted_at", "edited_at", "deleted"])
    op.create_index("ix_message_posted", "message", ["competition", "posted_at", "id"])
    op.create_index("ix_message_edited", "message", ["competition", "edited_at", "id"])
    op.drop_index("ix_kernelversion_ref", "kernelversion")
    op.create_index("ix_kernelversion_ref", "kernelversion", ["competition", "ref", "created_at"])
    op.create_index("ix_kernelversion_created", "kernelversion", ["competition", "created_at"])
    op.drop_index("ix_observation_target", "observation")
    op.create_index("ix_observation_target", "observation", [*_TARGET, "votes"])
    for name, column in (("score", "public_score"), ("tier", "tier")):
        read = sa.text(f"{column} IS NOT NULL")
        op.create_index(f"ix_observation_{name}", "observation", [*_TARGET, column], sqlite_where=read)
    _create_likeness()


def _create_likeness() -> None:
    op.create_table(
        "keptsketch",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("competition", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("sha256", sa.String(), nullable=False),
        sa.Column("code", sa.LargeBinary()),
        sa.Column("prose", sa.LargeBinary()),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("ix_keptsketch_text", "keptsketch", ["competition", "kind", "sha256"], unique=True)
    op.create_table(
        "sketchband",
        sa.Column("digest", sa.Integer(), nullable=False),
        sa.Column("sketch", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("digest", "sketch"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "likeness",
        sa.Column("competition", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("post_id", sa.String(), nullable=False),
        sa.Column("sketch", sa.Integer(), nullable=False),
        sa.Column("known_at", sa.DateTime(), nullable=False),
        sa.Column("original", sa.String()),
        sa.Column("original_at", sa.DateTime()),
        sa.Column("similarity", sa.Float()),
        sa.PrimaryKeyConstraint("competition", "kind", "post_id"),
    )
    op.create_index("ix_likeness_sketch", "likeness", ["sketch", "known_at", "post_id"])


def downgrade() -> None:
    """Take them back."""
    for table in ("likeness", "sketchband", "keptsketch"):
        op.drop_table(table)
    op.drop_index("ix_observation_tier", "observation")
    op.drop_index("ix_observation_score", "observation")
    op.drop_index("ix_observation_target", "observation")
    op.create_index("ix_observation_target", "observation", [*_TARGET])
    op.drop_index("ix_kernelversion_created", "kernelversion")
    op.drop_index("ix_kernelversion_ref", "kernelversion")
    op.create_index("ix_kernelversion_ref", "kernelversion", ["ref"])
    op.drop_index("ix_message_edited", "message")
    op.drop_index("ix_message_posted", "message")
    op.drop_index("ix_message_topic", "message")
    op.create_index("ix_message_topic_id", "message", ["topic_id"])
